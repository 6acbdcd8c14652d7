"""How Claude Code is started, and how what was asked for becomes its flags and its words."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.facts import Launch, is_since
from dragoman.schema.commands import Attachment, PermissionMode, Prompt

FLAGS = (
    "-p",
    "--input-format", "stream-json",
    "--output-format", "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--replay-user-messages",
    "--permission-prompt-tool", "stdio",
)  # fmt: skip
LATER_FLAGS = {
    "--include-hook-events": "2.1.88",
    "--forward-subagent-text": "2.1.211",
}
"""Flags that older versions refuse, and go without: the first version that has each."""
MCP_TIMEOUT_MS = 30_000
"""How long Claude Code waits for an MCP server to come up, unless it is told otherwise."""

_MODES: dict[PermissionMode, str] = {
    "default": "default",
    "plan": "plan",
    "bypass": "bypassPermissions",
    "acceptEdits": "acceptEdits",
}
_OURS = {theirs: ours for ours, theirs in _MODES.items()}


def native_mode(agent_mode: str | None, permission_mode: PermissionMode | None) -> str | None:
    """Claude Code's one mode for our two: to plan is one of its permission modes."""
    if agent_mode == "plan" or permission_mode == "plan":
        return "plan"
    if permission_mode is not None:
        return _MODES[permission_mode]
    return None if agent_mode is None else "default"


def our_mode(native: str) -> str:
    """Our word for a mode; one that we do not have keeps its name."""
    return _OURS.get(native, native)


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """Start a process for this session, or resume where one stopped."""
    argv = [*command, *FLAGS]
    argv += [flag for flag, first in LATER_FLAGS.items() if is_since(spec.agent_version, first)]
    # An empty CLAUDECODE: a daemon started from within Claude Code is no nested session.
    env = {"DISABLE_AUTOUPDATER": "1", "CLAUDECODE": "", **spec.env}
    mode = native_mode(spec.agent_mode, spec.permission_mode) or "default"
    if mode == "bypassPermissions":
        argv.append("--dangerously-skip-permissions")
        # Root may bypass only where the machine is a sandbox, and whoever asks for it says so.
        env.setdefault("IS_SANDBOX", "1")
    else:
        argv += ["--permission-mode", mode]
    if spec.native_session_id:
        argv += ["--resume", spec.native_session_id]
        argv += ["--fork-session"] if spec.fork else []
    else:
        argv += ["--session-id", spec.fresh_id]
    argv += ["--model", spec.model] if spec.model else []
    argv += ["--effort", spec.variant] if spec.variant else []
    used = {name: each for name, each in spec.mcp.items() if each.get("enabled") is not False}
    servers = {name: _server(name, config, env) for name, config in used.items()}
    if servers:
        env = {**_patience(used.values()), **env}
        config = msgspec.json.encode({"mcpServers": servers}).decode()
        argv += ["--mcp-config", config]
    for folder in spec.skills:
        argv += ["--plugin-dir", folder]
    return Launch(argv=tuple(argv), env=env, cwd=spec.directory)


def _patience(servers: Iterable[dict[str, Any]]) -> dict[str, str]:
    """How long servers may take to come up: there is one time for all, so the longest."""
    named = [server.get("timeoutMs") or server.get("timeout") for server in servers]
    if not any(named):
        return {}
    return {"MCP_TIMEOUT": str(max(timeout or MCP_TIMEOUT_MS for timeout in named))}


def _server(name: str, config: dict[str, Any], env: dict[str, str]) -> dict[str, Any]:
    """An MCP server as Claude Code writes it down. Secrets go by environment, not by flag."""
    if config["type"] in ("remote", "http"):
        headers = {
            header: _hidden(f"{name}_{header}", value, env)
            for header, value in (config.get("headers") or {}).items()
        }
        for header, variable in (config.get("envHeaders") or {}).items():
            headers[header] = f"${{{variable}}}"
        if config.get("bearerTokenEnvVar"):
            headers["Authorization"] = f"Bearer ${{{config['bearerTokenEnvVar']}}}"
        url = _hidden(f"{name}_url", config["url"], env)
        return {"type": config.get("transport") or "http", "url": url, "headers": headers}
    command = config["command"]
    words = [command] if isinstance(command, str) else list(command)
    given = {**(config.get("environment") or {}), **(config.get("env") or {})}
    return {
        "type": "stdio",
        "command": words[0],
        "args": [*words[1:], *(config.get("args") or ())],
        "env": {key: _hidden(f"{name}_{key}", value, env) for key, value in given.items()},
    }


def _hidden(name: str, value: str, env: dict[str, str]) -> str:
    """A variable that holds the value; numbered, since two names may be the same but for signs."""
    word = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).upper()
    variable = f"MCP_{len(env)}_{word}"
    env[variable] = value
    return f"${{{variable}}}"


def attached(prompt: Prompt) -> str | list[dict[str, Any]]:
    """A person's words, with images as such and other files named so that they are read."""
    if not prompt.attachments:
        return prompt.text
    blocks: list[dict[str, Any]] = []
    words = [prompt.text] if prompt.text else []
    for file in prompt.attachments:
        if file.path in prompt.images:
            data = base64.b64encode(prompt.images[file.path]).decode()
            source = {"type": "base64", "media_type": file.mime, "data": data}
            blocks.append({"type": "image", "source": source})
        else:
            words.append(_mention(file))
    # Claude Code reads what is mentioned in the last block, and nowhere else.
    return [*blocks, {"type": "text", "text": "\n\n".join(words)}] if words else blocks


def _mention(file: Attachment) -> str:
    """What makes Claude Code read a file, or list a folder, before it asks the model."""
    plain = file.path.isprintable() and '"' not in file.path
    mention = f'@"{file.path}"' if plain else f"Attached file: {file.path}"
    named = file.filename and file.filename != file.path.rpartition("/")[2]
    return f"{mention} ({file.filename})" if named else mention
