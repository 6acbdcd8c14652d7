"""What Codex remarks: retries, warnings, plans, hooks, servers that come up."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.agents.codex import native
from dragoman.agents.codex.subagents import Owner
from dragoman.agents.codex.usage import Limits
from dragoman.schema.items import ContentPart, ItemStatus, Json, Status
from dragoman.steps import CompleteItem, Report, StartItem, Step, whole
from dragoman.wire.decode import decode

_MARKS = {"completed": "x", "inProgress": ">"}
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UNAUTHORIZED = (401, 403)


class _Error(Struct):
    message: str
    type: str | None = None


class _Answer(Struct):
    error: _Error


_answer = msgspec.json.Decoder(_Answer)


class Notices:
    """Makes the items, and keys for them."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._limits = Limits()
        self._goals: dict[str, native.Goal] = {}
        self._diff = ""
        self._retried: str | None = None
        """What was wrong when the turn last tried again."""

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

    def told(self, told: native.Told | native.Remark, owner: Owner) -> Iterator[Step]:
        """What is about the work, and is no item of Codex's."""
        match told:
            case native.PlanUpdated():
                yield from self._plan(told, owner)
            case native.DiffUpdated():
                yield from self._changed(told, owner)
            case native.ServerStatus():
                yield from self._server(told, owner)
            case native.HookStarted(run=run):
                yield from self._hook(run, owner, over=False)
            case native.HookCompleted(run=run):
                yield from self._hook(run, owner, over=True)
            case native.Interaction(item_id=item_id, stdin=stdin):
                yield from self.status(_under(owner, item_id), "stdin", stdin)
            case native.Progress(item_id=item_id, message=text):
                yield from self.status(_under(owner, item_id), "progress", text)
            case native.Warned():
                text = ": ".join(filter(None, (told.message or told.summary, told.details)))
                yield from self.status(owner, "warning", text)
            case native.Rerouted():
                yield from self.status(
                    owner, "model.rerouted", f"{told.from_model} → {told.to_model}"
                )
            case native.RateLimits(rate_limits=limits):
                yield from self._limits.hear(limits)
            case native.Remark(method=method, params=params):
                yield from self.status(owner, method, None, Json(json=params))
            case native.GoalUpdated(goal=goal):
                yield from self._aim(goal, owner)
            case _:
                return

    def _aim(self, goal: native.Goal, owner: Owner) -> Iterator[Step]:
        """A goal; it is told again with every token that is spent on it."""
        if self._goals.get(owner.thread) != goal:
            self._goals[owner.thread] = goal
            yield from self.status(owner, f"goal.{goal.status}", goal.objective)

    def _plan(self, told: native.PlanUpdated, owner: Owner) -> Iterator[Step]:
        """The list of what is to do."""
        lines = [f"[{_MARKS.get(step.status, ' ')}] {step.step}" for step in told.plan]
        steps = [{"step": step.step, "status": step.status} for step in told.plan]
        about = {"explanation": told.explanation, "plan": steps}
        yield from self.status(owner, "plan", "\n".join(lines), Json(json=about), opens=True)

    def _changed(self, told: native.DiffUpdated, owner: Owner) -> Iterator[Step]:
        """All that the turn has changed; it is told again with every step of a patch."""
        if told.diff == self._diff:
            return
        self._diff = told.diff
        yield from self.status(owner, "turn.diff", None, Json(json={"diff": told.diff}))

    def retry(self, error: native.TurnError, owner: Owner) -> Iterator[Step]:
        """Something went wrong that is tried again."""
        if owner.subagent is None:
            self._retried = _code(error.codex_error_info)
        detail = ": ".join(filter(None, (error.message, error.additional_details)))
        about = Json(json=msgspec.to_builtins(error))
        yield from self.status(owner, "retrying", detail, about, opens=True)

    def _server(self, told: native.ServerStatus, owner: Owner) -> Iterator[Step]:
        """How an MCP server comes up, each time by itself: a turn may be over before it has."""
        detail = ": ".join(filter(None, (told.name, told.error)))
        failed = told.status in ("failed", "cancelled")
        status: ItemStatus = "failed" if failed else "completed"
        yield from self.status(owner, f"mcp.{told.status}", detail, status=status)

    def _hook(self, run: native.HookRun, owner: Owner, *, over: bool) -> Iterator[Step]:
        """A hook's item is open while it runs."""
        key = f"{owner.thread}:hook:{run.id}"
        detail = " ".join(filter(None, (run.event_name, run.status, run.status_message)))
        parts = (Status(label="hook", detail=detail), Json(json=msgspec.to_builtins(run)))
        if not over:
            yield owner.item(key=key, kind="status", role="system", content=parts)
            return
        failed = run.status in ("failed", "blocked", "stopped")
        yield CompleteItem(key=key, content=parts, status="failed" if failed else "completed")

    def turn_over(self) -> None:
        """The next turn has changed nothing yet, and tried nothing again."""
        self._diff, self._retried = "", None

    def failure(self, error: native.TurnError) -> Report:
        """An error that ends the turn; where Codex has no name for it, what it was before."""
        info, answer = error.codex_error_info, _answer_in(error.message)
        code = _code(info)
        if code in (None, "other"):
            code = (answer and answer.type) or self._retried or code
        more = info if isinstance(info, dict) else None
        details = {"additional": error.additional_details, "info": more}
        told = {name: value for name, value in details.items() if value is not None}
        message = answer.message if answer else error.message
        return Report(message=message, code=code, details=told or None)

    def _item(self, owner: Owner, *parts: ContentPart) -> StartItem:
        key = f"note:{next(self._numbers)}"
        return owner.item(key=key, kind="status", role="system", content=parts)


def _code(info: Any) -> str | None:
    """Codex's name of an error, in our spelling: `usage_limit_exceeded`, `unauthorized`."""
    name, about = next(iter(info.items()), (None, {})) if isinstance(info, dict) else (info, {})
    if isinstance(about, dict) and about.get("httpStatusCode") in _UNAUTHORIZED:
        return "unauthorized"
    return _HUMP.sub("_", name).lower() if isinstance(name, str) else None


def _answer_in(message: str) -> _Error | None:
    """The error that an API answered with, where Codex passes it on as it came."""
    try:
        return decode(message.encode(), _answer).error
    except msgspec.DecodeError:
        return None


def _under(owner: Owner, item_id: str) -> Owner:
    """Beneath a call of this owner's."""
    return Owner(thread=owner.thread, subagent=owner.subagent, parent=owner.key(item_id))
