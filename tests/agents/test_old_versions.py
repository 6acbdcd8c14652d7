"""Agents of other versions than the proven one: driven with what they know, or refused early.

The executables are stand-ins that tell a version and, like the real ones, refuse flags that it
does not have.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Terminal
from tests.daemon import Daemon, Reply
from tests.installable_agent import executable

CLAUDE = """#!{python}
import json, sys

version, flags = {version!r}, {flags!r}
if sys.argv[1:] == ["--version"]:
    print(version, "(Claude Code)")
    raise SystemExit
for word in sys.argv[1:]:
    if word.startswith("--") and word not in flags:
        raise SystemExit(f"error: unknown option '{{word}}'")

def say(**line):
    print(json.dumps(line), flush=True)

for line in sys.stdin:
    heard = json.loads(line)
    if heard["type"] != "user":
        continue
    session = sys.argv[sys.argv.index("--session-id") + 1]
    say(type="system", subtype="init", session_id=session, user_message_uuids=[heard["uuid"]])
    say(**heard, isReplay=True)
    block = {{"type": "text", "text": "Good day."}}
    message = {{"id": "m", "role": "assistant", "content": [block], "model": "x"}}
    say(type="assistant", session_id=session, uuid="u", message=message)
    say(type="result", subtype="success", is_error=False, session_id=session, result="Good day.")
"""
KNOWN = (
    "--input-format", "--output-format", "--verbose", "--include-partial-messages",
    "--replay-user-messages", "--permission-prompt-tool", "--permission-mode", "--session-id",
)  # fmt: skip
HOOKS, SUBAGENTS = "--include-hook-events", "--forward-subagent-text"


class Machine:
    """A daemon that finds only what is put on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.environ = {
            "PATH": f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "DRAGOMAN_AGENTS_DIR": str(folder / "agents"),
            "HOME": str(folder),
        }
        self.daemon = Daemon(folder / "data", env=self.environ)

    def claude(self, version: str, *more: str) -> Path:
        """Put a Claude Code there that knows the flags of every version, and these."""
        text = CLAUDE.format(python=sys.executable, version=version, flags=(*KNOWN, *more))
        return executable(self.bin / "claude", text)

    def codex(self, version: str) -> Path:
        """Put a Codex there that tells its version."""
        return executable(self.bin / "codex", f"#!/bin/sh\necho codex-cli {version}\n")

    def pi(self, version: str) -> Path:
        """Put a Pi there that tells its version."""
        return executable(self.bin / "pi", f"#!/bin/sh\necho {version}\n")

    def create(self, session_id: str, agent: str, **more: Any) -> Reply:
        return self.daemon.request("POST", f"/sessions/{session_id}", {"agent": agent, **more})

    def listed(self, agent: str) -> dict[str, Any]:
        """The agent, as the daemon lists it."""
        found: list[dict[str, Any]] = self.daemon.get("/agents")["agents"]
        return next(each for each in found if each["id"] == agent)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """No agent is on it."""
    machine = Machine(tmp_path)
    machine.daemon.start()
    yield machine
    machine.daemon.stop()


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ("2.1.113", (HOOKS,)),
        ("2.1.200", (HOOKS,)),
        ("2.1.211", (HOOKS, SUBAGENTS)),
        ("9.0.0", (HOOKS, SUBAGENTS)),
    ],
)
def test_claude_is_given_only_flags_that_its_version_has(
    machine: Machine, version: str, flags: tuple[str, ...]
) -> None:
    """Before, 2.1.200 ended each session with "unknown option '--forward-subagent-text'"."""
    machine.claude(version, *flags)
    machine.daemon.create("s", agent="claude")
    events = machine.daemon.turn("s", "Hello")
    (ended,) = (event["data"] for event in events if event["type"] == "turn.ended")
    assert ended["outcome"] == "completed"
    assert "problem" not in machine.listed("claude")


@pytest.mark.parametrize(
    ("agent", "version", "sentence"),
    [
        (
            "claude",
            "2.1.19",
            "Claude Code 2.1.19 at {path} is too old: 2.1.113 or newer is needed; to have it: "
            "dragoman agents install claude",
        ),
        (
            "codex",
            "0.99.0",
            "Codex 0.99.0 at {path} is too old: 0.101.0 or newer is needed; to have it: "
            "dragoman agents install codex",
        ),
    ],
)
def test_what_is_too_old_is_refused_at_create_with_what_mends_it(
    machine: Machine, tmp_path: Path, agent: str, version: str, sentence: str
) -> None:
    """Before, the session was made, and its first message failed with the agent's stderr."""
    path = machine.claude(version) if agent == "claude" else machine.codex(version)
    reply = machine.create("s", agent)
    assert reply.status == 404
    assert reply.json["type"] == "urn:dragoman:error:agent_not_installed"
    assert (reply.json["detail"], reply.json["agent"]) == (sentence.format(path=path), agent)
    assert machine.daemon.request("GET", "/sessions/s").status == 404
    shown = machine.listed(agent)
    assert (shown["version"], shown["problem"]) == (version, sentence.format(path=path))

    terminal = Terminal(tmp_path, None)
    terminal.environ |= {**machine.environ, "DRAGOMAN_TOKEN": machine.daemon.token}
    terminal.environ["DRAGOMAN_URL"] = f"http://127.0.0.1:{machine.daemon.port}"
    told = json.loads(terminal.run("doctor", "--json", code=1).stdout)
    (check,) = (each for each in told["checks"] if each["name"] == f"agent {agent}")
    assert (check["state"], check["advice"]) == ("broken", sentence.format(path=path))


def test_a_version_that_is_too_old_is_not_even_installed(machine: Machine) -> None:
    reply = machine.create("s", "claude", agentVersion="2.1.19")
    assert reply.status == 400
    assert reply.json["details"] == {"field": "agentVersion"}
    assert "2.1.113 or newer is needed" in reply.json["detail"]


def test_the_oldest_codex_that_works_is_taken(machine: Machine) -> None:
    machine.codex("0.101.0")
    assert machine.create("s", "codex").status == 200


@pytest.mark.parametrize(("version", "has"), [("0.73.1", False), ("1.5.0", True)])
def test_an_agent_is_listed_with_what_its_version_has(
    machine: Machine, version: str, has: bool
) -> None:
    """Before, the list told of MCP servers and of messages that join, which 0.73.1 lacks."""
    machine.pi(version)
    told = machine.listed("pi")["capabilities"]
    assert (told["mcpTools"], told["steer"]) == (has, has)
    assert told["features"]["steer"] == {"native": has, "shown": has}
    assert told["questions"] is True
