"""Subagents and commands in the background: who they are, and whether they outlive the turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from dragoman.agents.claude.system import Task
from dragoman.schema.items import Json, Status
from dragoman.steps import CompleteItem, StartItem, Step, whole


class Owner(Struct, frozen=True):
    """Whose an item is: the main agent's, or a subagent's that may run on after the turn."""

    subagent: str | None = None
    detached: bool = False


MAIN = Owner()


class _Running(Struct):
    task_id: str
    subagent: bool
    detached: bool


class Tasks:
    """What runs beside the conversation, by the tool call that started it."""

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._count = 0

    def owner(self, call_id: str | None, agent_id: str | None) -> Owner:
        """Who speaks under this tool call."""
        if call_id is None and agent_id is None:
            return MAIN
        task = self._running.get(call_id or "") or self._by_id(agent_id)
        known = task.task_id if task is not None else call_id
        return Owner(agent_id or known, task is not None and task.detached)

    def detached_calls(self) -> set[str]:
        """The calls whose subagents run on when the turn is over."""
        return {call for call, task in self._running.items() if task.subagent and task.detached}

    def _by_id(self, task_id: str | None) -> _Running | None:
        return next((task for task in self._running.values() if task.task_id == task_id), None)

    def started(self, task: Task) -> Iterator[Step]:
        """A task begins: a subagent's status item is open while it runs."""
        subagent = task.subagent_type is not None
        running = _Running(task.task_id, subagent, bool(task.is_backgrounded))
        self._running[task.tool_use_id or task.task_id] = running
        item = self._status(task, "subagent" if subagent else "task.started", task.description)
        yield from (item,) if subagent else whole(item)

    def progressed(self, task: Task) -> Iterator[Step]:
        """A task is at work."""
        yield from whole(self._status(task, "task.progress", task.description, task.usage))

    def updated(self, task: Task) -> Iterator[Step]:
        """Something about a task changed; it may have gone to the background."""
        running = self._by_id(task.task_id)
        if running is not None and isinstance(task.patch, dict):
            running.detached = running.detached or task.patch.get("is_backgrounded") is True
        state = task.patch.get("status") if isinstance(task.patch, dict) else None
        detail = state if isinstance(state, str) else None
        yield from whole(self._status(task, "task.updated", detail, task.patch))

    def ended(self, task: Task) -> Iterator[Step]:
        """A task is done, or was stopped."""
        running = self._by_id(task.task_id)
        failed = task.status not in ("completed", None)
        if running is not None and running.subagent:
            yield CompleteItem(
                key=_key(task.task_id),
                content=(Status(label="subagent", detail=task.summary), *_json(task.usage)),
                status="failed" if failed else "completed",
                fields={"reason": str(task.status)} if failed else {},
            )
        else:
            label = f"task.{task.status or 'completed'}"
            item = self._status(task, label, task.summary)
            yield from whole(item, "failed" if failed else "completed")

    def forget(self, task_id: str) -> None:
        """Nothing more will come of it."""
        self._running = {c: t for c, t in self._running.items() if t.task_id != task_id}

    def call_of(self, task_id: str) -> str | None:
        """The tool call that started a task."""
        return next((c for c, t in self._running.items() if t.task_id == task_id), None)

    def turn_over(self) -> None:
        """What does not run on is gone."""
        self._running = {call: task for call, task in self._running.items() if task.detached}

    def _status(self, task: Task, label: str, detail: str | None, about: Any = None) -> StartItem:
        running = self._by_id(task.task_id)
        subagent = running is not None and running.subagent
        opening = label == "subagent"
        self._count += 1
        return StartItem(
            key=_key(task.task_id) if opening else f"task:{task.task_id}:{self._count}",
            kind="status",
            role="system",
            native_id=task.task_id,
            parent=task.tool_use_id or self.call_of(task.task_id),
            content=(Status(label=label, detail=detail), *_json(about)),
            subagent=task.task_id if subagent else None,
            detached=running is not None and running.detached,
        )


def _json(about: Any) -> tuple[Json, ...]:
    return () if about is None else (Json(json=about),)


def _key(task_id: str) -> str:
    return f"task:{task_id}"
