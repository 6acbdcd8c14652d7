"""How an app server is started and greeted, and the requests that open threads and begin turns."""

from __future__ import annotations

import base64
from typing import Any

from dragoman.adapter import Spec
from dragoman.facts import Launch
from dragoman.schema.commands import Attachment, Prompt
from dragoman.steps import Notify, Request

HANDSHAKE = (
    Request(
        method="initialize",
        params={
            "clientInfo": {"name": "dragoman", "title": "Dragoman", "version": "1"},
            "capabilities": {"experimentalApi": True},
        },
    ),
    Notify(method="initialized"),
)
"""What an app server is sent first, once."""


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """One app server for each environment; a session's own settings go to its thread."""
    return Launch(
        argv=(*command, "app-server"),
        env=spec.env,
        cwd="/",
        wire="jsonrpc-bare",
        lifetime="shared",
    )


def delete_request(thread: str, for_good: bool) -> Request:
    """Let the server unload the thread; if it is for good, remove it from its lists, too."""
    method = "thread/archive" if for_good else "thread/unsubscribe"
    return Request(method=method, params={"threadId": thread})


def open_request(spec: Spec, resume_id: str | None) -> tuple[str, dict[str, Any]]:
    """The method that starts, resumes or forks a thread, and its params without settings."""
    params = _thread_params(spec)
    if resume_id is not None:
        page = {"limit": 1, "itemsView": "summary"}
        thread = {"threadId": resume_id, "excludeTurns": True, "initialTurnsPage": page}
        return "thread/resume", {**thread, **params}
    if spec.fork:
        origin = {"threadId": spec.native_session_id, "excludeTurns": True}
        return "thread/fork", {**origin, **params}
    return "thread/start", {**params, **_skill_roots(spec)}


def _thread_params(spec: Spec) -> dict[str, Any]:
    servers = {
        name: _mcp_server(config, spec.marks)
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
    """The session's skills, for its thread alone; a resumed thread still has them."""
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


def _mcp_server(config: dict[str, Any], marks: dict[str, str]) -> dict[str, Any]:
    """An MCP server in the words of Codex's configuration."""
    if config["type"] in ("remote", "http"):
        settings = {
            "url": config["url"],
            "http_headers": config.get("headers"),
            "env_http_headers": config.get("envHeaders"),
            "bearer_token_env_var": config.get("bearerTokenEnvVar"),
        }
    else:
        command = config["command"]
        words = [command] if isinstance(command, str) else list(command)
        settings = {
            "command": words[0],
            "args": [*words[1:], *(config.get("args") or ())],
            "env": {**(config.get("environment") or {}), **(config.get("env") or {}), **marks},
            "cwd": config.get("cwd"),
        }
    timeout = config.get("timeoutMs") or config.get("timeout")
    if timeout is not None:
        settings["startup_timeout_sec"] = settings["tool_timeout_sec"] = timeout / 1000
    return {name: value for name, value in settings.items() if value not in (None, {})}


def turn_request(prompt: Prompt) -> tuple[str, dict[str, Any]]:
    """The request that begins a turn; two of Codex's own commands have methods of their own."""
    command, _, rest = prompt.text.strip().partition(" ")
    if command == "/compact" and not rest:
        return "thread/compact/start", {}
    if command == "/review":
        lines = (rest.strip(), *map(_file_line, prompt.attachments))
        instructions = "\n\n".join(filter(None, lines))
        custom = {"type": "custom", "instructions": instructions}
        target = custom if instructions else {"type": "uncommittedChanges"}
        return "review/start", {"target": target}
    return "turn/start", {
        "input": turn_input(prompt),
        "clientUserMessageId": prompt.message_id,
    }


def turn_input(prompt: Prompt) -> list[dict[str, Any]]:
    """A person's text and images; other files are named in the text, for the model to read."""
    parts: list[dict[str, Any]] = []
    lines = [prompt.text] if prompt.text else []
    for file in prompt.attachments:
        image = prompt.images.get(file.path)
        if image is None:
            lines.append(_file_line(file))
        else:
            data = base64.b64encode(image).decode()
            parts.append({"type": "image", "url": f"data:{file.mime};base64,{data}"})
    text = "\n\n".join(lines)
    return [*([{"type": "text", "text": text}] if text else ()), *parts]


def input_text(prompt: Prompt) -> str:
    """The text of a message, as Codex repeats it."""
    return "".join(part["text"] for part in turn_input(prompt) if part["type"] == "text")


def _file_line(file: Attachment) -> str:
    has_name = file.filename and file.filename != file.path.rpartition("/")[2]
    return f"Attached file: {file.path}" + (f" ({file.filename})" if has_name else "")
