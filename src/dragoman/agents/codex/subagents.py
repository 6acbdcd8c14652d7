"""The threads of a session: its own, and those of its subagents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from dragoman.agents.codex import native, native_items
from dragoman.schema.items import ItemStatus, Status
from dragoman.steps import Claim, CompleteItem, Request, StartItem, Step


class Owner(Struct, frozen=True, kw_only=True):
    """Whose work it is: the session's own, or a subagent's, under the call that started it."""

    thread: str
    subagent: str | None = None
    parent: str | None = None

    def key(self, item_id: str) -> str:
        """An item's key. Ids come from the model's server, so two threads may share one."""
        return f"{self.thread}:{item_id}"

    def item(self, **about: Any) -> StartItem:
        """An item of this owner's."""
        detached = self.subagent is not None
        return StartItem(parent=self.parent, subagent=self.subagent, detached=detached, **about)


class Threads:
    """Who works for the session."""

    def __init__(self) -> None:
        self.main: str | None = None
        self._children: dict[str, Owner] = {}
        self._working: dict[str, str] = {}
        self._stopped: set[str] = set()

    def owner(self, thread: str | None) -> Owner:
        """Whose a message is; one without a thread is about the session."""
        main = Owner(thread=self.main or "")
        return main if thread in (None, self.main) else self._children.get(thread or "", main)

    def adopt(self, item: native_items.AnyItem, owner: Owner) -> Iterator[Step]:
        """A call that starts subagents, or a remark about one: what they say is for us."""
        found: tuple[str, ...] = ()
        if isinstance(item, native_items.CollabAgentToolCall):
            found = item.receiver_thread_ids
        elif isinstance(item, native_items.SubAgentActivity):
            found = (item.agent_thread_id,)
        for thread in found:
            if thread and thread != self.main and thread not in self._children:
                parent = owner.key(item.id)
                self._children[thread] = Owner(thread=thread, subagent=thread, parent=parent)
                yield Claim(thread)

    def began(self, told: native.TurnStarted, owner: Owner) -> Iterator[Step]:
        """A subagent works: a status item that is open as long as it does."""
        self._working[owner.thread] = told.turn.id
        self._stopped.discard(owner.thread)
        yield owner.item(
            key=owner.key("turn"),
            kind="status",
            role="system",
            native_id=told.turn.id,
            content=(Status(label="subagent"),),
        )

    def ended(self, told: native.TurnCompleted, owner: Owner) -> Iterator[Step]:
        """A subagent is done, for now."""
        self._working.pop(owner.thread, None)
        turn = told.turn
        done = turn.status == "completed"
        status: ItemStatus = "completed" if done else "failed"
        detail = turn.error.message if turn.error else turn.status
        yield CompleteItem(
            key=owner.key("turn"),
            content=(Status(label="subagent", detail=detail),),
            status=status,
            fields={} if done else {"reason": turn.status},
        )

    def stop(self) -> Iterator[Request]:
        """The turns of subagents are to end now."""
        self._stopped |= self._working.keys()
        for thread, turn in self._working.items():
            params = {"threadId": thread, "turnId": turn}
            yield Request(method="turn/interrupt", params=params, tag="interrupt")

    def is_stopped(self, owner: Owner) -> bool:
        """Whether a subagent was told to end, and did not begin again."""
        return owner.thread in self._stopped

    def forget(self) -> None:
        """The process is gone, and subagents with it."""
        self._children.clear()
        self._working.clear()
        self._stopped.clear()
