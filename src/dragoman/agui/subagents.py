"""Subagents: who they are, under whom they work, and in which run they were shown."""

from __future__ import annotations

from msgspec import UNSET, Struct

from dragoman.agui.run import OpenRun, Owner
from dragoman.schema.items import Item, Status


class _Subagent(Struct, frozen=True):
    run_id: str
    """One invocation has one id, over all runs in which it is shown."""
    name: str
    parent: str | None
    call_id: str | None
    is_running: bool


def subagent_key(item: Item) -> str | None:
    """The subagent that an item is of; None: the agent itself."""
    return None if item.subagent_id is UNSET else item.subagent_id


class SubagentDirectory:
    """The subagents of a session."""

    def __init__(self) -> None:
        self._subagents: dict[str, _Subagent] = {}
        self._calls: dict[str, tuple[str, str | None]] = {}
        """Calls by their items: their ids, and the subagents that made them."""

    @property
    def are_running(self) -> bool:
        """Whether any is at work."""
        return any(each.is_running for each in self._subagents.values())

    def note_call(self, item: Item, call_id: str) -> None:
        """A call, which may start a subagent."""
        self._calls[item.item_id] = (call_id, subagent_key(item))

    def start(self, run: OpenRun, item: Item) -> None:
        """A subagent begins."""
        call_id, parent = self._calls.get(item.parent_id or "", (None, None))
        key = _key_of(item)
        parent = None if parent == key else parent
        name = _detail(item) or "subagent"
        self._subagents[key] = _Subagent(item.item_id, name, parent, call_id, True)
        self.show(run, key)

    def end(self, run: OpenRun, item: Item) -> None:
        """A subagent is done."""
        key = _key_of(item)
        found = self._subagents.get(key)
        if found is None or found.run_id != item.item_id:
            return  # another invocation of it has begun meanwhile
        self.show(run, key)
        del self._subagents[key]
        failure = (item.reason or _detail(item) or "failed") if item.status == "failed" else None
        run.end_subagent(item.item_id, failure)

    def show(self, run: OpenRun, key: str | None, below: tuple[str, ...] = ()) -> Owner:
        """The run of a subagent, which begins in this run with the first that is said of it."""
        if key is None or key in below:
            return None
        # One that is not known as such is known by its name alone.
        found = self._subagents.setdefault(key, _Subagent(key, key, None, None, False))
        if not run.has_subagent(found.run_id):
            parent = self.show(run, found.parent, (*below, key))
            run.subagent(found.run_id, found.name, parent, parent_tool_call_id=found.call_id)
        return found.run_id


def _key_of(item: Item) -> str:
    return subagent_key(item) or item.native_item_id or item.item_id


def _detail(item: Item) -> str | None:
    return next((part.detail for part in item.content if isinstance(part, Status)), None)
