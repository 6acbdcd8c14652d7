"""How Codex is started, and how what was asked for becomes a thread and its input."""

from __future__ import annotations

import base64
from typing import Any

from dragoman.adapter import Spec
from dragoman.facts import Launch
from dragoman.schema.commands import Attachment, Prompt
from dragoman.steps import Request


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """One app server for each environment; what one session wants goes to its thread."""
    return Launch(
        argv=(*command, "app-server"),
        env=spec.env,
        cwd="/",
        wire="jsonrpc-bare",
        lifetime="shared",
    )


def delete_request(thread: str, for_good: bool) -> Request:
    """The server need not keep the thread in mind; nor, if it is for good, in its lists."""
    method = "thread/archive" if for_good else "thread/unsubscribe"
    return Request(method=method, params={"threadId": thread})


def opening(spec: Spec, kept: str | None) -> tuple[str, dict[str, Any]]:
    """How a thread is started, resumed or forked, and with what, beside how it works."""
    params = _thread_params(spec)
    if kept is not None:
        page = {"limit": 1, "itemsView": "summary"}
        about = {"threadId": kept, "excludeTurns": True, "initialTurnsPage": page}
        return "thread/resume", {**about, **params}
    if spec.fork:
        origin = {"threadId": spec.native_session_id, "excludeTurns": True}
        return "thread/fork", {**origin, **params}
    return "thread/start", {**params, **_skill_roots(spec)}


def _thread_params(spec: Spec) -> dict[str, Any]:
    servers = {
        name: _server(config, spec.marks)
        for name, config in spec.mcp.items()
        if config.get("enabled") is not False
    }
    config: dict[str, Any] = {}
    if servers:
        config["mcp_servers"] = servers
    if spec.marks:
        config["shell_environment_policy"] = {"set": spec.marks}
    return {"cwd": spec.directory, **({"config": config} if config else {})}


def _skill_roots(spec: Spec) -> dict[str, Any]:
    """The session's skills: for its thread alone, which remembers them."""
    if not spec.skills:
        return {}
    roots = [
        {
            "id": f"dragoman-{number}",
            "location": {"type": "environment", "environmentId": "local", "path": folder},
        }
        for number, folder in enumerate(spec.skills, start=1)
    ]
    return {"selectedCapabilityRoots": roots}


def _server(config: dict[str, Any], marks: dict[str, str]) -> dict[str, Any]:
    """An MCP server as Codex writes it down."""
    if config["type"] in ("remote", "http"):
        told = {
            "url": config["url"],
            "http_headers": config.get("headers"),
            "env_http_headers": config.get("envHeaders"),
            "bearer_token_env_var": config.get("bearerTokenEnvVar"),
        }
    else:
        command = config["command"]
        words = [command] if isinstance(command, str) else list(command)
        told = {
            "command": words[0],
            "args": [*words[1:], *(config.get("args") or ())],
            "env": {**(config.get("environment") or {}), **(config.get("env") or {}), **marks},
            "cwd": config.get("cwd"),
        }
    timeout = config.get("timeoutMs") or config.get("timeout")
    if timeout is not None:
        told["startup_timeout_sec"] = told["tool_timeout_sec"] = timeout / 1000
    return {name: value for name, value in told.items() if value not in (None, {})}


def turn_of(prompt: Prompt) -> tuple[str, dict[str, Any]]:
    """The request that begins a turn; two of Codex's own commands have their own."""
    command, _, rest = prompt.text.strip().partition(" ")
    if command == "/compact" and not rest:
        return "thread/compact/start", {}
    if command == "/review":
        words = "\n\n".join(filter(None, (rest.strip(), *map(_named, prompt.attachments))))
        custom = {"type": "custom", "instructions": words}
        return "review/start", {"target": custom if words else {"type": "uncommittedChanges"}}
    return "turn/start", {
        "input": input_of(prompt),
        "clientUserMessageId": prompt.message_id,
    }


def input_of(prompt: Prompt) -> list[dict[str, Any]]:
    """A person's words, with images as such and other files named so that they are read."""
    parts: list[dict[str, Any]] = []
    words = [prompt.text] if prompt.text else []
    for file in prompt.attachments:
        image = prompt.images.get(file.path)
        if image is None:
            words.append(_named(file))
        else:
            data = base64.b64encode(image).decode()
            parts.append({"type": "image", "url": f"data:{file.mime};base64,{data}"})
    return [*_text("\n\n".join(words)), *parts]


def words_of(prompt: Prompt) -> str:
    """The words of a message, as Codex repeats them."""
    return "".join(part["text"] for part in input_of(prompt) if part["type"] == "text")


def _text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}] if words else []


def _named(file: Attachment) -> str:
    named = file.filename and file.filename != file.path.rpartition("/")[2]
    return f"Attached file: {file.path}" + (f" ({file.filename})" if named else "")
