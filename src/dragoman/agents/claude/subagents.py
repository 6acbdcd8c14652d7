"""Subagents and background commands: whose an item is, and what may outlive the turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from dragoman.agents.claude.native import Task
from dragoman.schema.items import Json, Status
from dragoman.steps import CompleteItem, StartItem, Step, whole


class Owner(Struct, frozen=True):
    """Whose an item is: the main agent's, or a subagent's that may run on after the turn."""

    subagent: str | None = None
    detached: bool = False


MAIN = Owner()


class _RunningTask(Struct):
    task_id: str
    is_subagent: bool
    detached: bool
    """It runs in the background, and goes on when the turn is over."""


class Tasks:
    """What runs beside the conversation, by the tool call that started it."""

    def __init__(self) -> None:
        self._running: dict[str, _RunningTask] = {}
        self._count = 0

    def owner(self, call_id: str | None, agent_id: str | None) -> Owner:
        """Who speaks under this tool call."""
        if call_id is None and agent_id is None:
            return MAIN
        task = self._running.get(call_id or "") or self._by_id(agent_id)
        task_id = task.task_id if task is not None else call_id
        return Owner(agent_id or task_id, task is not None and task.detached)

    def detached_calls(self) -> set[str]:
        """The calls whose subagents run on when the turn is over."""
        running = self._running.items()
        return {call_id for call_id, task in running if task.is_subagent and task.detached}

    def _by_id(self, task_id: str | None) -> _RunningTask | None:
        return next((task for task in self._running.values() if task.task_id == task_id), None)

    def start(self, task: Task) -> Iterator[Step]:
        """A task starts; the status item of a subagent is open while it runs."""
        is_subagent = task.subagent_type is not None
        running = _RunningTask(task.task_id, is_subagent, bool(task.is_backgrounded))
        self._running[task.tool_use_id or task.task_id] = running
        item = self._status(task, "subagent" if is_subagent else "task.started", task.description)
        yield from (item,) if is_subagent else whole(item)

    def progress(self, task: Task) -> Iterator[Step]:
        """A task is at work."""
        yield from whole(self._status(task, "task.progress", task.description, task.usage))

    def update(self, task: Task) -> Iterator[Step]:
        """A task changed; it may have moved to the background."""
        running = self._by_id(task.task_id)
        if running is not None and isinstance(task.patch, dict):
            running.detached = running.detached or task.patch.get("is_backgrounded") is True
        state = task.patch.get("status") if isinstance(task.patch, dict) else None
        detail = state if isinstance(state, str) else None
        yield from whole(self._status(task, "task.updated", detail, task.patch))

    def end(self, task: Task) -> Iterator[Step]:
        """A task is done, or was stopped."""
        running = self._by_id(task.task_id)
        failed = task.status not in ("completed", None)
        if running is not None and running.is_subagent:
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
        """Drop a task that has ended."""
        self._running = {c: t for c, t in self._running.items() if t.task_id != task_id}

    def call_of(self, task_id: str) -> str | None:
        """The tool call that started a task."""
        return next((c for c, t in self._running.items() if t.task_id == task_id), None)

    def end_turn(self) -> None:
        """Drop all tasks but those in the background."""
        self._running = {call: task for call, task in self._running.items() if task.detached}

    def _status(self, task: Task, label: str, detail: str | None, data: Any = None) -> StartItem:
        running = self._by_id(task.task_id)
        is_subagent = running is not None and running.is_subagent
        stays_open = label == "subagent"
        self._count += 1
        return StartItem(
            key=_key(task.task_id) if stays_open else f"task:{task.task_id}:{self._count}",
            kind="status",
            role="system",
            native_id=task.task_id,
            parent=task.tool_use_id or self.call_of(task.task_id),
            content=(Status(label=label, detail=detail), *_json(data)),
            subagent=task.task_id if is_subagent else None,
            detached=running is not None and running.detached,
        )


def _json(data: Any) -> tuple[Json, ...]:
    return () if data is None else (Json(json=data),)


def _key(task_id: str) -> str:
    return f"task:{task_id}"
