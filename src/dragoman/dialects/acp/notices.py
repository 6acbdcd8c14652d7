"""Status items and errors: plans, commands, extensions, and what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.dialects.acp import native
from dragoman.schema.items import ItemStatus, Json, Status
from dragoman.steps import Report, StartItem, Step, whole
from dragoman.wire.jsonrpc import Reply, RpcError

_CODES = {
    native.AUTH_REQUIRED: "auth_required",
    native.NOT_FOUND: "not_found",
    -32600: "invalid_request",
    -32601: "method_not_found",
    -32602: "invalid_params",
    -32603: "internal_error",
}
_UNKNOWN = re.compile(
    r"not found|no such|unknown session|does not exist|doesn't exist|ENOENT", re.IGNORECASE
)


class Notices:
    """What is told beside messages and tools; what is told again and has not changed is not."""

    def __init__(self) -> None:
        self._plan: bytes | None = None
        self._commands: bytes | None = None
        self._count = 0

    def plan(self, entries: Any) -> Iterator[Step]:
        """What is to be done."""
        told = msgspec.json.encode(entries)
        if told == self._plan:
            return
        self._plan = told
        todos = [each for each in entries if isinstance(each, dict)] if entries else []
        done = sum(each.get("status") == "completed" for each in todos)
        yield from self.status("plan", f"{done} of {len(todos)} done", {"todos": todos})

    def commands(self, commands: Any) -> Iterator[Step]:
        """The slash commands that there are."""
        told = msgspec.json.encode(commands)
        if told == self._commands:
            return
        self._commands = told
        listed = [each for each in commands if isinstance(each, dict)] if commands else []
        names = ", ".join(f"/{each.get('name')}" for each in listed)
        yield from self.status("commands", names or None, {"commands": listed})

    def extension(self, message: native.Envelope) -> Iterator[Step]:
        """Something of the agent's own that is not known here: it is kept."""
        params = msgspec.json.decode(bytes(message.params))
        yield from self.status(message.method.lstrip("_"), None, params)

    def status(
        self, label: str, detail: str | None, about: Any = None, status: ItemStatus = "completed"
    ) -> Iterator[Step]:
        """A status item that is complete at once."""
        self._count += 1
        more = () if about is None else (Json(json=about),)
        item = StartItem(
            key=f"notice:{self._count}",
            kind="status",
            role="system",
            content=(Status(label=label, detail=detail), *more),
        )
        yield from whole(item, status)

    def reset(self) -> None:
        """The process is gone: the next one tells everything anew."""
        self._plan = self._commands = None


# --- Errors ---


def is_unknown_session(reply: Reply) -> bool:
    """Whether the agent says that it has no such session; each has its own words for that."""
    if not isinstance(reply, RpcError):
        return False
    return reply.code == native.NOT_FOUND or bool(_UNKNOWN.search(error_message(reply)))


def is_login_wanted(reply: Reply) -> bool:
    """Whether the agent wants to be logged in."""
    return isinstance(reply, RpcError) and reply.code == native.AUTH_REQUIRED


def error_message(reply: Reply) -> str:
    """What went wrong, as far as it is told."""
    if not isinstance(reply, RpcError):
        return "the agent did not answer in time"
    data = reply.data
    inner = data if isinstance(data, str) else None
    if isinstance(data, dict):
        found = (data.get(name) for name in ("message", "details", "error", "reason"))
        inner = next((each for each in found if isinstance(each, str) and each), None)
    if not inner or inner in reply.message:
        return reply.message or inner or "the agent did not say why"
    return inner if reply.message in ("", "Internal error") else f"{reply.message}: {inner}"


def failure(reply: Reply, code: str | None = None) -> Report:
    """A request of ours failed."""
    if not isinstance(reply, RpcError):
        return Report(message=error_message(reply), code=code or "deadline")
    return Report(
        message=error_message(reply),
        code=code or _http_code(reply.data) or _CODES.get(reply.code, str(reply.code)),
        details={"code": reply.code, "message": reply.message, "data": reply.data},
    )


def _http_code(data: Any) -> str | None:
    """The status with which the model's API has refused, where the agent tells it."""
    status = data.get("http_status") if isinstance(data, dict) else None
    return f"http_{status}" if type(status) is int else None


def login_wanted(agent: str, methods: tuple[native.AuthMethod, ...], reply: Reply) -> Report:
    """Nobody is logged in, and we cannot do it: say what a person can do."""
    ways = "; ".join(_way(each) for each in methods)
    message = f"{agent} wants to be logged in: {error_message(reply)}"
    return Report(
        message=f"{message}. Ways to log in: {ways}" if ways else message,
        code="auth_required",
        details={"auth_methods": [msgspec.to_builtins(each) for each in methods]},
    )


def _way(method: native.AuthMethod) -> str:
    name = method.name or method.id
    return f"{name} ({method.description})" if method.description else name
