"""The messages of a session that are not delivered yet."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.runtime.session.spec import queue_of
from dragoman.schema.events import QueueUpdated
from dragoman.store import MessageRow, Store


class MessageQueue:
    """What people have said and the agent has not accepted, in order."""

    def __init__(self, store: Store, session_id: str, shown: Sequence[str] = ()) -> None:
        self.stale = True
        """The store may hold more than is known here."""
        self._unread: dict[str, int] = {}
        """What was accepted since the store was read, and its size."""
        self._store = store
        self._session_id = session_id
        self._waiting: list[MessageRow] = []
        self._on_way: dict[str, bool] = {}
        """What was sent, and whether it was sent into a running turn."""
        self._announced = tuple(shown)

    @property
    def on_way(self) -> bool:
        """Something was sent that the agent has not accepted."""
        return bool(self._on_way)

    async def refresh(self) -> None:
        """Read what waits. What was delivered must be committed, or it would come back."""
        self.stale = False
        known = frozenset(self._unread)
        self._waiting = await self._store.queued(self._session_id)
        self._unread = {each: size for each, size in self._unread.items() if each not in known}

    def accepted(self, message_id: str, size_bytes: int) -> None:
        """The store has one more, perhaps."""
        self.stale = True
        self._unread.setdefault(message_id, size_bytes)

    @property
    def sizes(self) -> dict[str, int]:
        """How large each is, those included that were not read yet."""
        return {**self._unread, **{row.message_id: size_of(row) for row in self._waiting}}

    @property
    def empty(self) -> bool:
        """Nothing waits, and nothing is on its way."""
        return not self._waiting and not self.stale

    def next(self, *, steer: bool = False) -> MessageRow | None:
        """The first that was not sent; of those that may join a running turn, where asked."""
        for row in self._waiting:
            if row.message_id not in self._on_way and (row.steer or not steer):
                return row
        return None

    def mark_sent(self, message_id: str, *, in_turn: bool) -> None:
        """It is on its way."""
        self._on_way[message_id] = in_turn

    def delivered(self, message_id: str) -> None:
        """The agent has it."""
        self._on_way.pop(message_id, None)
        self._unread.pop(message_id, None)
        self._waiting = [row for row in self._waiting if row.message_id != message_id]

    def is_on_way(self, message_id: str) -> bool:
        """It was sent, and cannot be taken back."""
        return message_id in self._on_way

    def requeue(self) -> list[str]:
        """The process is gone: what was on its way; it waits again."""
        lost = [row.message_id for row in self._waiting if row.message_id in self._on_way]
        self._on_way.clear()
        return lost

    def clear(self) -> None:
        """Nothing will be delivered any more."""
        self._waiting, self._on_way = [], {}

    def news(self) -> QueueUpdated | None:
        """What people should see waiting, where it is not what they saw last."""
        # What is sent while nothing runs is as good as delivered; in a turn it may wait for long.
        shown = [row for row in self._waiting if self._on_way.get(row.message_id, True)]
        ids = tuple(row.message_id for row in shown)
        if ids == self._announced:
            return None
        self._announced = ids
        return queue_of(shown)

    def without(self, message_id: str) -> QueueUpdated:
        """The queue as it is once this message was taken back."""
        return queue_of((r for r in self._waiting if r.message_id != message_id), message_id)

    def cancelled(self, message_id: str) -> None:
        """It was taken back, and people know."""
        self._waiting = [row for row in self._waiting if row.message_id != message_id]
        self._announced = tuple(row.message_id for row in self._waiting)


def size_of(row: MessageRow) -> int:
    """How many bytes people have said."""
    attached = (word for each in row.attachments for word in (each.path, each.mime, each.filename))
    return sum(len(word.encode()) for word in (row.text, *attached) if word)
