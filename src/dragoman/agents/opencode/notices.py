"""Retries, compaction, plans and errors: what OpenCode says about its work."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from dragoman.agents.opencode import native
from dragoman.agents.opencode.subagents import Owner
from dragoman.schema.items import Json, Status
from dragoman.steps import CompleteItem, Report, Step, whole
from dragoman.wire.jsonrpc import Reply, RpcError

MOST_RETRIES = 4
"""OpenCode (1.18.33) tries for ever; each try waits longer, and this many take a quarter minute."""
_CODES = {
    "MessageOutputLengthError": "max_output_tokens",
    "ProviderAuthError": "unauthorized",
    "ContextOverflowError": "context_overflow",
    "ContentFilterError": "content_filter",
}
_STATUSES = {400: "invalid_request", 401: "unauthorized", 403: "forbidden", 404: "not_found",
             413: "too_large", 429: "rate_limited", 500: "server_error"}  # fmt: skip


class Notices:
    """What is told of the running turn beside its items."""

    def __init__(self) -> None:
        self._retries: set[str] = set()
        """The sessions that try again; a status item is open for each."""
        self._plan: bytes | None = None

    # --- Retries ---

    def retry(self, status: native.StatusInfo, owner: Owner) -> Iterator[Step]:
        """The model did not answer, and is asked again: one item, however often."""
        if owner.session not in self._retries:
            self._retries.add(owner.session)
            yield owner.item(
                key=_retry_key(owner),
                kind="status",
                role="system",
                content=(Status(label="retrying", detail=status.message),),
            )

    def work_on(self, owner: Owner) -> Iterator[Step]:
        """The model answers again."""
        if owner.session in self._retries:
            self._retries.discard(owner.session)
            yield CompleteItem(key=_retry_key(owner))

    def end_turn(self) -> None:
        """The turn is over."""
        self._retries.clear()

    # --- Others ---

    def todos(self, event: native.TodoUpdated, owner: Owner) -> Iterator[Step]:
        """The list of what is to be done, where it changed."""
        plan = msgspec.json.encode(event.todos)
        if plan == self._plan:
            return
        self._plan = plan
        todos = [msgspec.to_builtins(todo) for todo in event.todos]
        done = sum(todo.status == "completed" for todo in event.todos)
        status = Status(label="plan", detail=f"{done} of {len(todos)} done")
        yield from whole(
            owner.item(
                key=f"{owner.session}:plan",
                kind="status",
                role="system",
                content=(status, Json(json={"todos": todos})),
            )
        )

    def part(self, part: native.Part, owner: Owner) -> Iterator[Step]:
        """What a part says about the work, if it does."""
        if isinstance(part, native.CompactionPart):
            yield from self.note("compacting", None, owner, part.id)
        elif isinstance(part, native.SubtaskPart):
            yield from self.note("subtask", part.description, owner, part.id)

    def removed(self, removed: native.Removed, owner: Owner) -> Iterator[Step]:
        """A message, or a part of one, was taken out of the session."""
        what = removed.part_id or removed.message_id
        kind = "part" if removed.part_id else "message"
        yield from self.note("removed", f"{kind} {what}", owner, what)

    def note(self, label: str, detail: str | None, owner: Owner, key: str) -> Iterator[Step]:
        """A status item that is complete at once."""
        status = Status(label=label, detail=detail)
        yield from whole(
            owner.item(key=f"{key}:{label}", kind="status", role="system", content=(status,))
        )


def _retry_key(owner: Owner) -> str:
    return f"{owner.session}:retry"


def report(error: native.ErrorInfo) -> Report:
    """An error, with a code by which one can tell it from others."""
    message = error.data.get("message")
    status = error.data.get("statusCode")
    code = _CODES.get(error.name) or _STATUSES.get(status if type(status) is int else 0)
    if code is None and error.name == "APIError":
        code = "server_error" if type(status) is int and status >= 500 else "api_error"
    return Report(
        message=str(message) if message else error.name,
        code=code or _snake(error.name.removesuffix("Error")),
        details={"name": error.name, **error.data},
    )


def is_stack_trace(error: native.ErrorInfo) -> bool:
    """Whether it is for OpenCode's developers; people were told before (1.18.33)."""
    return "\n    at " in str(error.data.get("message"))


def gave_up(status: native.StatusInfo) -> Report:
    """The model does not answer, however often it is asked."""
    text = status.message.lower()
    no_connection = any(word in text for word in ("connect", "fetch failed", "socket"))
    code = "connection_failed" if no_connection else "retries_exhausted"
    message = f"the model was asked {status.attempt} times in vain: {status.message}"
    return Report(message=message, code=code, details={"attempts": status.attempt})


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() or "unknown"


def call_failed(what: str, reply: Reply) -> Report:
    """A call of ours was refused, or not answered."""
    if isinstance(reply, RpcError):
        details = {"status": reply.code, "body": reply.data}
        return Report(message=f"{what}: {reply.message}", code="call_failed", details=details)
    return Report(message=f"{what} in time", code="deadline")


def not_taken(reply: Reply) -> Report:
    """A message of a person's did not arrive."""
    return call_failed("OpenCode did not take the message", reply)
