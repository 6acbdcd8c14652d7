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
_NO_WORDS = "Internal error"
_KINDS = ("errorKind", "errorName", "error_kind", "error_type", "type", "code")
"""Where agents name what went wrong, in the data of an error."""
_STATUS = re.compile(
    r"\b(?:HTTP|status(?: code)?:?|API error:?|\w+ \()?\s*([45]\d\d)\b", re.IGNORECASE
)
_STATUS_ASIDE = re.compile(r"\(status ([45]\d\d)\b")
_UNREACHABLE = re.compile(
    r"connection (error|refused)|ECONNREFUSED|unable to connect|fetch failed"
    r"|error sending request",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][\w.-]*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNKNOWN = re.compile(
    r"not found|no such|unknown session|does not exist|doesn't exist|ENOENT", re.IGNORECASE
)


class Notices:
    """What is told beside messages and tools; what is told again and has not changed is not."""

    def __init__(self) -> None:
        self._plan: bytes | None = None
        self._commands: bytes | None = None
        self._refused: set[str] = set()
        self._count = 0

    def plan(self, entries: Any) -> Iterator[Step]:
        """What is to be done."""
        told = msgspec.json.encode(entries)
        if told == self._plan:
            return
        self._plan = told
        listed = entries if isinstance(entries, list) else []
        todos = [each for each in listed if isinstance(each, dict)]
        done = sum(each.get("status") == "completed" for each in todos)
        yield from self.status("plan", f"{done} of {len(todos)} done", {"todos": todos})

    def commands(self, commands: Any) -> Iterator[Step]:
        """The slash commands that there are."""
        listed = [
            {name: value for name, value in each.items() if name != "_meta"}
            for each in (commands if isinstance(commands, list) else ())
            if isinstance(each, dict)
        ]
        told = msgspec.json.encode(listed)
        if told == self._commands:
            return
        self._commands = told
        names = ", ".join(f"/{each.get('name')}" for each in listed)
        yield from self.status("commands", names or None, {"commands": listed})

    def extension(self, message: native.Envelope) -> Iterator[Step]:
        """Something of the agent's own that is not known here: it is kept."""
        params = msgspec.json.decode(bytes(message.params))
        yield from self.status(message.method.lstrip("_"), None, params)

    def refused(self, method: str) -> Iterator[Step]:
        """Asked for what we do not offer. Some ask for it again with each file that they write, and
        go on without it (OpenCode 1.18.33)."""
        if method not in self._refused:
            self._refused.add(method)
            yield from self.status("refused", method, status="failed")

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
        self._refused.clear()


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
    message = reply.message.removeprefix(_NO_WORDS).removeprefix(": ")
    if not inner or inner in message:
        return message or inner or reply.message or "the agent did not say why"
    return f"{message}: {inner}" if message else inner


def failure(reply: Reply, code: str | None = None) -> Report:
    """A request of ours failed."""
    if not isinstance(reply, RpcError):
        return Report(message=error_message(reply), code=code or "deadline")
    return Report(
        message=error_message(reply),
        code=code or _http_code(reply) or _kind(reply.data) or _code(reply),
        details={"code": reply.code, "message": reply.message, "data": reply.data},
    )


def _http_code(reply: RpcError) -> str | None:
    """The status with which the model's API has refused, where the agent tells it: by a name, as
    the code, or in words."""
    data = reply.data if isinstance(reply.data, dict) else {}
    named = (data.get(name) for name in ("http_status", "httpStatus", "statusCode", "status"))
    for status in (*named, reply.code):
        if type(status) is int and 400 <= status < 600:
            return f"http_{status}"
    message = error_message(reply)
    found = _STATUS.match(message) or _STATUS_ASIDE.search(message)
    return None if found is None else f"http_{found[1]}"


def _kind(data: Any) -> str | None:
    if not isinstance(data, dict):
        return None
    words = (data.get(name) for name in _KINDS)
    word = next((each for each in words if isinstance(each, str) and _WORD.fullmatch(each)), None)
    return None if word is None else _HUMP.sub("_", word).lower()


def _code(reply: RpcError) -> str:
    if _UNREACHABLE.search(error_message(reply)):
        return "connection_failed"
    return _CODES.get(reply.code, str(reply.code))


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
