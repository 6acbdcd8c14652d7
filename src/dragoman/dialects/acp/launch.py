"""The requests that greet an agent, open a session and begin a turn."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from dragoman.adapter import Spec
from dragoman.dialects.acp import native
from dragoman.dialects.acp.profile import Profile
from dragoman.schema.commands import Attachment, Prompt
from dragoman.steps import Request
from dragoman.wire.mcp_config import mcp_server

START_DEADLINE_S = 120.0
"""Agents on Node take up to 17 s on a busy machine, and a session may start MCP servers."""
SWITCH_DEADLINE_S = 30.0
MENTION = "Attached file: "


def initialize_params(profile: Profile) -> dict[str, Any]:
    """Who we are, and what we offer."""
    return {
        "protocolVersion": native.PROTOCOL_VERSION,
        "clientInfo": {"name": "dragoman", "title": "Dragoman", "version": "1"},
        "clientCapabilities": {
            "fs": {"readTextFile": profile.reads_files, "writeTextFile": profile.reads_files},
            "terminal": profile.uses_terminals,
            "elicitation": {"form": {}, "url": {}},
        },
    }


def initialize(profile: Profile) -> Request:
    """Greet the agent."""
    return Request(
        method="initialize",
        params=initialize_params(profile),
        tag="initialize",
        deadline_s=START_DEADLINE_S,
    )


def authenticate(method_id: str) -> Request:
    """Log in, by a way that needs no person."""
    params = {"methodId": method_id}
    return Request(
        method="authenticate", params=params, tag="authenticate", deadline_s=START_DEADLINE_S
    )


def open_session(
    method: str, spec: Spec, profile: Profile, session_id: str | None, servers: list[Any]
) -> Request:
    """Begin a session, or go on with one."""
    params: dict[str, Any] = {"cwd": spec.directory, "mcpServers": servers}
    if session_id is not None:
        params["sessionId"] = session_id
    meta = profile.session_meta(spec)
    if meta:
        params["_meta"] = meta
    return Request(method=method, params=params, tag="open", deadline_s=START_DEADLINE_S)


def list_sessions(spec: Spec, cursor: str | None) -> Request:
    """Ask for the sessions of this directory."""
    params = {"cwd": spec.directory, **({} if cursor is None else {"cursor": cursor})}
    return Request(method="session/list", params=params, tag="list", deadline_s=SWITCH_DEADLINE_S)


def mcp_servers(
    spec: Spec, takes: native.McpCapabilities
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The session's MCP servers in ACP's words, and why some cannot be had."""
    servers: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for name, config in spec.mcp.items():
        if config.get("enabled") is False:
            continue
        if config["type"] in ("local", "stdio"):
            words = mcp_server(config)
            servers.append({"name": name, **words, "env": _pairs(words["env"])})
            continue
        kind = "sse" if config.get("transport") == "sse" else "http"
        headers, unset = _headers(config, spec.env)
        if not (takes.sse if kind == "sse" else takes.http):
            refused[name] = f"the agent connects to no MCP servers over {kind.upper()}"
        elif unset:
            refused[name] = f"the session's env has no {', '.join(unset)}"
        else:
            address = {"url": config["url"], "headers": _pairs(headers)}
            servers.append({"type": kind, "name": name, **address})
    return servers, refused


def _headers(config: dict[str, Any], env: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """The headers of a server, and the variables that they need and are not there.

    ACP knows no variables: the agent gets the values.
    """
    headers = dict(config.get("headers") or {})
    named = dict(config.get("envHeaders") or {})
    for name, variable in named.items():
        headers[name] = env.get(variable, "")
    if token := config.get("bearerTokenEnvVar"):
        named["Authorization"] = token
        headers["Authorization"] = f"Bearer {env.get(token, '')}"
    return headers, sorted(set(named.values()) - env.keys())


def _pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


# --- Messages ---


def prompt_blocks(prompt: Prompt, takes: native.PromptCapabilities) -> list[dict[str, Any]]:
    """A person's text, images as they are, and other files as links.

    Their paths are told in words, too: Qwen Code (0.24.4) drops links that lead out of its
    directory, or to a name with a space in it.
    """
    blocks: list[dict[str, Any]] = []
    if prompt.text:
        blocks.append({"type": "text", "text": prompt.text})
    for file in prompt.attachments:
        image = prompt.images.get(file.path) if takes.image else None
        blocks += (_mention(file), _link(file)) if image is None else (_image(file, image),)
    return blocks


def _mention(file: Attachment) -> dict[str, Any]:
    name = file.filename
    is_renamed = name is not None and name != file.path.rpartition("/")[2]
    text = f"{MENTION}{file.path}" + (f" ({name})" if is_renamed else "")
    return {"type": "text", "text": text}


def _image(file: Attachment, data: bytes) -> dict[str, Any]:
    return {
        "type": "image",
        "data": base64.b64encode(data).decode(),
        "mimeType": file.mime or "image/png",
        "uri": f"file://{quote(file.path)}",
    }


def _link(file: Attachment) -> dict[str, Any]:
    name = file.filename or file.path.rpartition("/")[2]
    link = {"type": "resource_link", "uri": f"file://{quote(file.path)}", "name": name}
    return {**link, "mimeType": file.mime} if file.mime else link
