"""Probes: tools, commands, file changes, images, MCP, subagents."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from msgspec import UNSET

from dragoman.schema.http import McpServer
from dragoman.schema.items import FileRef, Image, Text, ToolCall, ToolResult
from dragoman.testing.conform import query
from dragoman.testing.conform.context import ProbeContext
from dragoman.testing.conform.image import PNG
from dragoman.testing.conform.probe import expect

FOUND = "I found seven of them."
SERVER, TOOL = "tiny", "shout"
MCP_TRIES = 3
"""An agent may begin before a slow server is up: Codex 0.166 waits for a second and a half, and
Grok 1.0.41 not at all."""


def tool_call(context: ProbeContext) -> None:
    """A call of a tool is an item, with its arguments streamed."""
    command = "echo heron"
    turn = context.open(permission_mode="bypass").turn(context.do("run", command))
    calls = query.parts(query.items(turn, "tool_call"), ToolCall)
    expect(calls, "a tool_call item", "none")
    given = [json.loads(call.arguments) for call in calls]
    # It may be run by a shell that is named, too.
    wanted = (
        any(command in str(each) for each in given[0].values()) if context.model else all(given)
    )
    expect(wanted, f"a call with the argument {command!r}", given)
    expect(query.deltas(turn, "arguments"), "arguments that stream", "no delta of them")


def tool_result(context: ProbeContext) -> None:
    """What a tool gave back is an item of its own, which names its call."""
    turn = context.open(permission_mode="bypass").turn(context.do("run", "echo heron"))
    output = query.printed(turn)
    wanted = "heron" in output if context.model else bool(output)
    expect(wanted, "a tool_result item with 'heron'", repr(output) if output else "none")
    calls = {call.call_id for call in query.parts(query.items(turn), ToolCall)}
    results = {result.call_id for result in query.parts(query.items(turn), ToolResult)}
    expect(results <= calls, f"results of the calls {sorted(calls)}", sorted(results))


def command(context: ProbeContext) -> None:
    """A command shows what is run, and the exit code where it fails."""
    line = "echo heron; exit 3"
    turn = context.open(permission_mode="bypass").turn(context.do("run", line))
    commands = [item.command for item in query.items(turn) if item.command is not UNSET]
    wanted = line in commands[0] if commands and context.model else bool(commands)
    expect(wanted, f"a call with the command {line!r}", commands or "none")
    codes = [item.exit_code for item in query.items(turn, "tool_result")]
    wanted = codes == [3] if context.model else any(code not in (0, UNSET) for code in codes)
    expect(wanted, "a result with the exit code 3", codes or "none")


def file_change(context: ProbeContext) -> None:
    """A file that is written is named, with a diff."""
    path = context.workspace / "heron.txt"
    turn = context.open(permission_mode="bypass").turn(context.do("write", str(path), "grey\n"))
    files = [ref for ref in query.parts(query.items(turn), FileRef) if ref.action != "read"]
    expect(files, "a file_ref that writes or patches", "none")
    if context.model is not None:
        expect(files[0].path == str(path), f"the path {path}", files[0].path)
        expect(path.exists() and path.read_text() == "grey\n", f"{path} on disk", "not there")
    expect("\n+" in (files[0].diff or ""), "a diff", repr(files[0].diff))


def image(context: ProbeContext) -> None:
    """An image that the agent gives is a part, stored as a file."""
    path = context.workspace / "picture.png"
    path.write_bytes(PNG)
    turn = context.open(permission_mode="bypass").turn(context.do("look", str(path)))
    images = query.parts(query.items(turn, "tool_result"), Image)
    expect(images, "an image part in a tool_result", "none")
    expect(Path(images[0].path).is_file(), "the image as a file", f"no file {images[0].path}")


def mcp(context: ProbeContext) -> None:
    """The tool of an MCP server is called, and its call names the server."""
    # It runs with the agent's environment, which may not be ours.
    paths = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    program = (sys.executable, "-P", "-m", "dragoman.testing.conform.mcp_server")
    server = McpServer(type="stdio", command=program, env=paths or None)
    talk = context.open(permission_mode="bypass", mcp={SERVER: server})
    for _ in range(MCP_TRIES):
        turn = talk.turn(context.do("mcp", SERVER, TOOL, {"text": "heron"}))
        calls, output = query.items(turn, "tool_call"), query.printed(turn)
        if calls and ("HERON" in output or not context.model):
            break
    servers = [item.server for item in query.items(turn, "tool_call")]
    wanted = servers == [SERVER] if context.model else any(name is not UNSET for name in servers)
    expect(wanted, f"a call of the server {SERVER!r}", servers or "no call")
    expect("HERON" in output or not context.model, "the server's answer 'HERON'", repr(output))


def subagent(context: ProbeContext) -> None:
    """What a subagent says is marked as its own."""
    inner = {"when": {"subagent": True}, "text": FOUND}
    prompt = context.do("delegate", "Count the herons.", between=(inner,))
    turn = context.open(permission_mode="bypass").turn(prompt)
    own = [item for item in query.items(turn) if item.subagent_id is not UNSET]
    texts = [part.text for part in query.parts(own, Text)]
    wanted = FOUND in texts if context.model else bool(texts)
    expect(wanted, f"an item with a subagent_id that says {FOUND!r}", texts or "none")
