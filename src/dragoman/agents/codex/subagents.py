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

    def item(self, **fields: Any) -> StartItem:
        """An item of this owner's."""
        detached = self.subagent is not None
        return StartItem(parent=self.parent, subagent=self.subagent, detached=detached, **fields)


class Threads:
    """Which thread belongs to whom, and which subagents work."""

    def __init__(self) -> None:
        self.main: str | None = None
        """The session's own thread; None: it was never opened."""
        self._children: dict[str, Owner] = {}
        self._running_turns: dict[str, str] = {}
        """The turn of each subagent that works, by its thread."""
        self._interrupted_threads: set[str] = set()

    def owner(self, thread: str | None) -> Owner:
        """Whose a message is; one without a thread is about the session."""
        main = Owner(thread=self.main or "")
        return main if thread in (None, self.main) else self._children.get(thread or "", main)

    def adopt(self, item: native_items.AnyItem, owner: Owner) -> Iterator[Step]:
        """Claim the threads of subagents that an item names."""
        threads: tuple[str, ...] = ()
        if isinstance(item, native_items.CollabAgentToolCall):
            threads = item.receiver_thread_ids
        elif isinstance(item, native_items.SubAgentActivity):
            threads = (item.agent_thread_id,)
        for thread in threads:
            if thread and thread != self.main and thread not in self._children:
                parent = owner.key(item.id)
                self._children[thread] = Owner(thread=thread, subagent=thread, parent=parent)
                yield Claim(thread)

    def start_turn(self, notification: native.TurnStarted, owner: Owner) -> Iterator[Step]:
        """A subagent works: a status item is open as long as it does."""
        self._running_turns[owner.thread] = notification.turn.id
        self._interrupted_threads.discard(owner.thread)
        yield owner.item(
            key=owner.key("turn"),
            kind="status",
            role="system",
            native_id=notification.turn.id,
            content=(Status(label="subagent"),),
        )

    def end_turn(self, notification: native.TurnCompleted, owner: Owner) -> Iterator[Step]:
        """A subagent has stopped working; it may get another turn."""
        self._running_turns.pop(owner.thread, None)
        turn = notification.turn
        is_done = turn.status == "completed"
        status: ItemStatus = "completed" if is_done else "failed"
        detail = turn.error.message if turn.error else turn.status
        yield CompleteItem(
            key=owner.key("turn"),
            content=(Status(label="subagent", detail=detail),),
            status=status,
            fields={} if is_done else {"reason": turn.status},
        )

    def request(self, method: str, tag: str, **params: Any) -> Request:
        """A request about the session's own thread."""
        return Request(method=method, params={"threadId": self.main, **params}, tag=tag)

    def interrupt(self) -> Iterator[Request]:
        """Interrupt the turns of all subagents."""
        self._interrupted_threads |= self._running_turns.keys()
        for thread, turn in self._running_turns.items():
            params = {"threadId": thread, "turnId": turn}
            yield Request(method="turn/interrupt", params=params, tag="interrupt")

    def is_interrupted(self, owner: Owner) -> bool:
        """Whether a subagent was interrupted, and has not begun another turn."""
        return owner.thread in self._interrupted_threads

    def reset(self) -> None:
        """Forget the subagents: they ended with the process."""
        self._children.clear()
        self._running_turns.clear()
        self._interrupted_threads.clear()
