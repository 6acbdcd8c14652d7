"""How a server is started and met, and the calls that open sessions and begin turns."""

from __future__ import annotations

import base64
import re
from typing import Any
from urllib.parse import quote

import msgspec

from dragoman.adapter import Spec
from dragoman.errors import InvalidRequest
from dragoman.facts import HttpServer, Launch
from dragoman.schema.commands import Prompt
from dragoman.steps import Request

_ADDRESS = re.compile(rb"listening on (http://[0-9a-zA-Z.:\[\]]+)")
_CONTENT = "OPENCODE_CONFIG_CONTENT"
_SERVE = ("serve", "--hostname", "127.0.0.1", "--port", "0")
HARMLESS = ("list", "glob", "grep", "todowrite", "todoread", "question", "skill", "lsp", "task",
            "codesearch", "plan_enter", "plan_exit")  # fmt: skip
"""What OpenCode may do without asking."""
_PERMISSION = {"*": "ask"} | dict.fromkeys(HARMLESS, "allow") | {
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"}
}  # fmt: skip
"""Of a whole server: a session's own rules are not those of its subagents (1.18.33), which would
otherwise ask for nothing."""
OWN_KEY = "dragomanMessageID"
"""Under this key of its metadata a person's words carry the id of their message."""


def address(line: bytes) -> str | None:
    """Where the server listens, if this line of its stdout says so."""
    found = _ADDRESS.search(line)
    return None if found is None else found[1].decode()


SERVER = HttpServer(
    address=address,
    events="/global/event",
    user="opencode",
    password="OPENCODE_SERVER_PASSWORD",
)
HANDSHAKE = (Request(method="GET /global/health"),)
"""What a server is asked first, once."""


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """One server for each environment; a session names its directory with each call.

    MCP servers and skills are of a whole server, so whoever is given some has one of its own.
    """
    config: dict[str, Any] = {}
    servers = {
        name: _mcp_server(given, spec.marks)
        for name, given in spec.mcp.items()
        if given.get("enabled") is not False
    }
    if servers:
        config["mcp"] = servers
    if spec.skills:
        config["skills"] = {"paths": [f"{folder}/skills" for folder in spec.skills]}
    env = {"OPENCODE_PERMISSION": msgspec.json.encode(_PERMISSION).decode(), **spec.env}
    if config:
        env[_CONTENT] = msgspec.json.encode({**_own_config(env), **config}).decode()
    return Launch(argv=(*command, *_SERVE), env=env, cwd="/", wire="http", lifetime="shared")


def _own_config(env: dict[str, str]) -> dict[str, Any]:
    """The configuration that the person has put into the environment."""
    try:
        return msgspec.json.decode(env.get(_CONTENT) or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        raise InvalidRequest(
            f"{_CONTENT} is no JSON object, so MCP servers and skills cannot be added to it; mend "
            "it, or leave out `mcp` and `skills`",
            field="env",
        ) from None


def _mcp_server(config: dict[str, Any], marks: dict[str, str]) -> dict[str, Any]:
    """An MCP server in the words of OpenCode's configuration."""
    if config["type"] in ("remote", "http"):
        headers = dict(config.get("headers") or {})
        for name, variable in (config.get("envHeaders") or {}).items():
            headers[name] = f"{{env:{variable}}}"
        if variable := config.get("bearerTokenEnvVar"):
            headers["Authorization"] = f"Bearer {{env:{variable}}}"
        settings = {"type": "remote", "url": config["url"], "headers": headers}
    else:
        command = config["command"]
        words = [command] if isinstance(command, str) else list(command)
        environment = {**(config.get("environment") or {}), **(config.get("env") or {}), **marks}
        settings = {
            "type": "local",
            "command": [*words, *(config.get("args") or ())],
            "environment": environment,
        }
    timeout = config.get("timeoutMs") or config.get("timeout")
    if timeout is not None:
        settings["timeout"] = timeout
    return {name: value for name, value in settings.items() if value not in (None, {})}


def delete_request(session_id: str, for_good: bool) -> Request | None:
    """Delete a session for good; of one that only leaves, a server need not know."""
    return Request(method=f"DELETE /session/{session_id}") if for_good else None


class Calls:
    """Calls for one session, in its directory."""

    def __init__(self, directory: str) -> None:
        self._query = f"directory={quote(directory)}"

    def get(self, path: str, tag: str, **query: int) -> Request:
        """Ask for something."""
        more = "".join(f"&{name}={value}" for name, value in query.items())
        return Request(method=f"GET {path}?{self._query}{more}", tag=tag)

    def post(self, path: str, tag: str, body: Any = None) -> Request:
        """Do something."""
        return Request(method=f"POST {path}?{self._query}", params=body, tag=tag)

    def patch(self, path: str, tag: str, body: Any) -> Request:
        """Change something."""
        return Request(method=f"PATCH {path}?{self._query}", params=body, tag=tag)


def prompt_parts(prompt: Prompt) -> list[dict[str, Any]]:
    """A person's words and images; other files are named in the text, for the model to read."""
    images: list[dict[str, Any]] = []
    lines = [prompt.text] if prompt.text else []
    for file in prompt.attachments:
        image = prompt.images.get(file.path)
        name = file.filename or file.path.rpartition("/")[2]
        if image is None:
            has_name = file.filename and file.filename != file.path.rpartition("/")[2]
            lines.append(f"Attached file: {file.path}" + (f" ({name})" if has_name else ""))
        else:
            data = base64.b64encode(image).decode()
            url = f"data:{file.mime};base64,{data}"
            images.append({"type": "file", "mime": file.mime, "filename": name, "url": url})
    # Also where there is nothing but images: the part tells whose message it is.
    text = {
        "type": "text",
        "text": "\n\n".join(lines),
        "metadata": {OWN_KEY: prompt.message_id},
    }
    return [text, *images]
