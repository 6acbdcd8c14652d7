"""Status items for retries, warnings, plans, hooks, MCP servers and limits; errors of turns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.agents.codex import native
from dragoman.agents.codex.subagents import Owner
from dragoman.schema.events import SessionUpdated
from dragoman.schema.items import ContentPart, ItemStatus, Json, Status
from dragoman.steps import CompleteItem, Report, StartItem, Step, Update, whole
from dragoman.wire.decode import decode

_CHECKMARKS = {"completed": "x", "inProgress": ">"}
_WORD_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UNAUTHORIZED = (401, 403)


class _ApiError(Struct):
    message: str
    type: str | None = None


class _ApiResponse(Struct):
    error: _ApiError


_api_response = msgspec.json.Decoder(_ApiResponse)


class Notices:
    """Makes status items and reports, and remembers what must not be shown twice."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._limits = AccountLimits()
        self._goals: dict[str, native.Goal] = {}
        self._diff = ""
        self._retry_code: str | None = None
        """The code of the error for which the turn last tried again."""

    def status(
        self,
        owner: Owner,
        label: str,
        detail: str | None = None,
        *more: ContentPart,
        status: ItemStatus = "completed",
        opens: bool | None = None,
    ) -> Iterator[Step]:
        """A status item, complete at once."""
        item = self._item(owner, Status(label=label, detail=detail), *more)
        yield from whole(msgspec.structs.replace(item, opens=opens), status)

    def show(
        self, notification: native.Notification | native.OtherNotification, owner: Owner
    ) -> Iterator[Step]:
        """What becomes of a notification that is about no item and no turn."""
        match notification:
            case native.PlanUpdated():
                yield from self._plan(notification, owner)
            case native.DiffUpdated(diff=diff):
                yield from self._turn_diff(diff, owner)
            case native.McpServerStatus():
                yield from self._mcp_server(notification, owner)
            case native.HookStarted(run=run):
                yield from self._hook(run, owner, is_over=False)
            case native.HookCompleted(run=run):
                yield from self._hook(run, owner, is_over=True)
            case native.TerminalInteraction(item_id=item_id, stdin=stdin):
                yield from self.status(_under(owner, item_id), "stdin", stdin)
            case native.ToolProgress(item_id=item_id, message=text):
                yield from self.status(_under(owner, item_id), "progress", text)
            case native.WarningNotification():
                title = notification.message or notification.summary
                text = ": ".join(filter(None, (title, notification.details)))
                yield from self.status(owner, "warning", text)
            case native.ModelRerouted(from_model=from_model, to_model=to_model):
                yield from self.status(owner, "model.rerouted", f"{from_model} → {to_model}")
            case native.RateLimitsUpdated(rate_limits=limits):
                yield from self._limits.update(limits)
            case native.OtherNotification(method=method, params=params):
                yield from self.status(owner, method, None, Json(json=params))
            case native.GoalUpdated(goal=goal):
                yield from self._goal(goal, owner)
            case _:
                return

    def _goal(self, goal: native.Goal, owner: Owner) -> Iterator[Step]:
        """A goal; Codex sends it again with every token that is spent on it."""
        if self._goals.get(owner.thread) != goal:
            self._goals[owner.thread] = goal
            yield from self.status(owner, f"goal.{goal.status}", goal.objective)

    def _plan(self, update: native.PlanUpdated, owner: Owner) -> Iterator[Step]:
        """The model's to-do list."""
        lines = [f"[{_CHECKMARKS.get(step.status, ' ')}] {step.step}" for step in update.plan]
        steps = [{"step": step.step, "status": step.status} for step in update.plan]
        plan = {"explanation": update.explanation, "plan": steps}
        yield from self.status(owner, "plan", "\n".join(lines), Json(json=plan), opens=True)

    def _turn_diff(self, diff: str, owner: Owner) -> Iterator[Step]:
        """All that the turn has changed; Codex sends it again with every step of a patch."""
        if diff == self._diff:
            return
        self._diff = diff
        yield from self.status(owner, "turn.diff", None, Json(json={"diff": diff}))

    def retry(self, error: native.TurnError, owner: Owner) -> Iterator[Step]:
        """An error after which Codex tries again."""
        if owner.subagent is None:
            self._retry_code = _error_code(error.codex_error_info)
        detail = ": ".join(filter(None, (error.message, error.additional_details)))
        native_error = Json(json=msgspec.to_builtins(error))
        yield from self.status(owner, "retrying", detail, native_error, opens=True)

    def _mcp_server(self, server: native.McpServerStatus, owner: Owner) -> Iterator[Step]:
        """Each state of an MCP server has its own item: the turn may end before it is ready."""
        detail = ": ".join(filter(None, (server.name, server.error)))
        has_failed = server.status in ("failed", "cancelled")
        status: ItemStatus = "failed" if has_failed else "completed"
        yield from self.status(owner, f"mcp.{server.status}", detail, status=status)

    def _hook(self, run: native.HookRun, owner: Owner, *, is_over: bool) -> Iterator[Step]:
        """A hook's item is open while it runs."""
        key = f"{owner.thread}:hook:{run.id}"
        detail = " ".join(filter(None, (run.event_name, run.status, run.status_message)))
        parts = (Status(label="hook", detail=detail), Json(json=msgspec.to_builtins(run)))
        if not is_over:
            yield owner.item(key=key, kind="status", role="system", content=parts)
            return
        has_failed = run.status in ("failed", "blocked", "stopped")
        yield CompleteItem(key=key, content=parts, status="failed" if has_failed else "completed")

    def end_turn(self) -> None:
        """Begin the next turn without a diff and without retries."""
        self._diff, self._retry_code = "", None

    def failure(self, error: native.TurnError) -> Report:
        """An error that ends the turn; where Codex has no code for it, that of the last retry."""
        info, api_error = error.codex_error_info, _api_error(error.message)
        code = _error_code(info)
        if code in (None, "other"):
            code = (api_error and api_error.type) or self._retry_code or code
        more = info if isinstance(info, dict) else None
        details = {"additional": error.additional_details, "info": more}
        details = {name: value for name, value in details.items() if value is not None}
        message = api_error.message if api_error else error.message
        return Report(message=message, code=code, details=details or None)

    def _item(self, owner: Owner, *parts: ContentPart) -> StartItem:
        key = f"note:{next(self._numbers)}"
        return owner.item(key=key, kind="status", role="system", content=parts)


class AccountLimits:
    """The account's rate limits. Codex sends parts of them, and mostly what it sent before."""

    def __init__(self) -> None:
        self._limits: dict[str | None, dict[str, Any]] = {}

    def update(self, limits: dict[str, Any]) -> Iterator[Update]:
        """All that is known of a limit, if it changed."""
        limit_id = limits.get("limitId")
        name = limit_id if isinstance(limit_id, str) else None
        before = self._limits.get(name, {"limitId": name})
        now = {**before, **{key: value for key, value in limits.items() if value is not None}}
        self._limits[name] = now
        if now != before:
            yield Update(body=SessionUpdated(rate_limits=now))


def _error_code(info: Any) -> str | None:
    """Codex's name of an error, in our spelling: `usage_limit_exceeded`, `unauthorized`."""
    name, fields = next(iter(info.items()), (None, {})) if isinstance(info, dict) else (info, {})
    if isinstance(fields, dict) and fields.get("httpStatusCode") in _UNAUTHORIZED:
        return "unauthorized"
    return _WORD_BOUNDARY.sub("_", name).lower() if isinstance(name, str) else None


def _api_error(message: str) -> _ApiError | None:
    """The error that an API answered with, where Codex passes its response on as it is."""
    try:
        return decode(message.encode(), _api_response).error
    except msgspec.DecodeError:
        return None


def _under(owner: Owner, item_id: str) -> Owner:
    """Beneath a call of this owner's."""
    return Owner(thread=owner.thread, subagent=owner.subagent, parent=owner.key(item_id))
