"""The live tail of a log: recent frames in memory, and waiting readers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator

from dragoman.store.protocol import Batch
from dragoman.store.reader import MAX_BATCH_BYTES
from dragoman.wire.sse import chain

MAX_TAIL_BYTES = 4 << 20
LINKED_EVENTS = 100
"""After so many pieces of a text at the latest, readers are shown a link."""


Sink = Callable[[bytes], bool]
"""Takes frames at once, or says no."""


class Waiter:
    """A reader that has seen everything. It keeps no queue: what it does not take, it re-reads."""

    __slots__ = ("_among", "_sink", "_woken", "position")

    def __init__(self, position: int, sink: Sink | None, among: set[Waiter]) -> None:
        self.position = position
        self._sink = sink
        self._among = among
        self._woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(self, first: int, batch: Batch, ended: bool) -> None:
        """Pass a batch on, if it is the next and the sink takes it; else the reader wakes."""
        is_next = self.position + 1 == first
        if is_next and self._sink is not None and self._sink(batch.frames):
            self.position = batch.last
            if not ended:
                return
        self.wake()

    def wake(self) -> None:
        """Let the reader look for itself."""
        if not self._woken.done():
            self._woken.set_result(None)

    async def woken(self) -> int:
        """Wait; the position that was reached meanwhile."""
        try:
            await self._woken
        finally:
            self._among.discard(self)
        return self.position


class Tail:
    """What is committed of a log, and the latest of it. Readers keep only their position."""

    def __init__(self, committed: int) -> None:
        self.committed = committed
        self.readers = 0
        self._waiting: set[Waiter] = set()
        self._tail: OrderedDict[int, Batch] = OrderedDict()
        """First position → batch, in order: whoever stands before it walks on from there."""
        self._tail_bytes = 0
        self._joined: tuple[int, Batch] | None = None

    def add(self, batch: Batch, *, ended: bool = False) -> None:
        """This is committed: keep it for who reads live, and ring."""
        first, self.committed = self.committed + 1, batch.last
        if self.readers:
            self._tail[first] = batch
            self._tail_bytes += len(batch.frames)
            while self._tail_bytes > MAX_TAIL_BYTES:
                self._tail_bytes -= len(self._tail.popitem(last=False)[1].frames)
        elif self._tail:
            self.forget()
        self._joined = None
        for waiter in list(self._waiting):
            waiter.take(first, batch, ended)

    def forget(self) -> None:
        """Keep nothing; whoever is behind reads from the store."""
        self._tail.clear()
        self._tail_bytes = 0
        self._joined = None

    def wait(self, position: int, sink: Sink | None) -> Waiter:
        """Stand at the end of the log; `sink` may be given what comes without being woken."""
        waiter = Waiter(position, sink, self._waiting)
        self._waiting.add(waiter)
        return waiter

    def notify(self) -> None:
        """Wake all readers; they look for themselves."""
        for waiter in list(self._waiting):
            waiter.wake()

    def each_after(self, position: int) -> Iterator[Batch]:
        """The batches that follow a position, as they were added; none where they are gone."""
        while (batch := self._tail.get(position + 1)) is not None:
            yield batch
            position = batch.last

    def after(self, position: int) -> Batch | None:
        """What follows a position, if it is still in memory; readers there share one object."""
        if self._joined is not None and self._joined[0] == position:
            return self._joined[1]
        parts: list[bytes] = []
        size, last = 0, position
        for batch in self.each_after(position):
            size += len(batch.frames)
            if parts and size > MAX_BATCH_BYTES:
                break
            parts.append(batch.frames)
            last = batch.last
        if not parts:
            return None
        joined = Batch(b"".join(parts), last)
        self._joined = (position, joined)
        return joined


class LiveTail(Tail):
    """A session's end of the log, and where its next event goes."""

    def __init__(
        self,
        session_id: str,
        session: int,
        committed: int,
        ended: bool,
        total: int,
        agent: str,
        link: bytes,
    ) -> None:
        super().__init__(committed)
        self.session_id = session_id
        self.session = session
        self.agent = agent
        self.committed_total = total
        self.committed_link = link
        """Of the last committed event: a link is made when its event is written."""
        self.assigned = committed
        self.assigned_total = total
        self.outstanding = 0
        self.ended = ended
        self.end = b""
        """The frame of `session.ended`, if it came while we were here."""
        self.deleted = False
        self._unlinked = 0
        """So many events were shown since the last link."""

    @property
    def mark(self) -> bytes:
        """Where the log ends, and with which link, as a comment."""
        return chain(self.committed, self.committed_link)

    def publish(
        self,
        frames: list[bytes],
        last: int,
        total: int,
        link: bytes,
        *,
        notable: bool,
        ended: bool,
    ) -> None:
        """These events are committed; `notable`: they are more than pieces of a text."""
        self.committed_total, self.committed_link = total, link
        if ended:
            self.ended, self.end = True, frames[-1]
        self._unlinked += len(frames)
        if frames and (notable or self._unlinked >= LINKED_EVENTS):
            frames = [*frames, chain(last, link)]
            self._unlinked = 0
        self.add(Batch(b"".join(frames), last), ended=ended)
