"""Plans and todo lists of agents, as one kind of activity."""

from __future__ import annotations

from typing import Any

from dragoman.schema.items import Item, Json, Status

PLAN = "plan"
_WORDS = ("content", "step", "text", "title")
_STATUS = {"inProgress": "in_progress", "done": "completed"}


def is_plan(item: Item) -> bool:
    """Whether a status item is a plan."""
    return any(isinstance(part, Status) and part.label == PLAN for part in item.content)


def plan_content(item: Item) -> dict[str, Any]:
    """The steps of a plan in one shape, and the agent's own beside them."""
    native = [part.json for part in item.content if isinstance(part, Json)]
    entries = (
        [_entry(each) for each in _steps(native[0]) if isinstance(each, dict)] if native else []
    )
    content: dict[str, Any] = {"entries": entries}
    if native:
        content["native"] = native[0]
    details = (part.detail for part in item.content if isinstance(part, Status))
    if detail := next(filter(None, details), None):
        content["summary"] = detail
    return content


def _steps(native: Any) -> list[Any]:
    if isinstance(native, dict):
        return next((each for each in native.values() if isinstance(each, list)), [])
    return native if isinstance(native, list) else []


def _entry(step: dict[str, Any]) -> dict[str, str]:
    words = next((step[name] for name in _WORDS if isinstance(step.get(name), str)), "")
    status = step.get("status")
    known = _STATUS.get(status, status) if isinstance(status, str) else "pending"
    return {"content": words, "status": known}
