"""The store on SQLite."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncGenerator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import cast
from weakref import WeakValueDictionary

from dragoman.errors import RequestError, SessionNotFound
from dragoman.schema.events import Body, Draft
from dragoman.store import disk_usage, rows
from dragoman.store.append import AppendWrite, CreateWrite
from dragoman.store.checkpoint import Checkpointer
from dragoman.store.counters import Counters
from dragoman.store.disk_reserve import Room
from dragoman.store.global_log import SqliteGlobalLog
from dragoman.store.live_tail import LiveTail, Sink
from dragoman.store.lock import FolderLock
from dragoman.store.open import open_database
from dragoman.store.page_cache import Recent
from dragoman.store.protocol import (
    Append,
    Batch,
    LogEnd,
    MessageRow,
    Page,
    ProcessRow,
    Receipt,
    RequestRow,
    SessionFilter,
    SessionRow,
    StoreStats,
)
from dragoman.store.reader import (
    MAX_BATCH_BYTES,
    MAX_PAGE_BYTES,
    Readers,
    batch,
    bodies,
    is_full,
    locate,
    page,
    search,
)
from dragoman.store.stats import stats
from dragoman.store.webhooks import SqliteWebhooks
from dragoman.store.writer import Writer, touch

DATABASE = "dragoman.db"
MAX_RECENT_BYTES = 16 << 20


def open_store(data_dir: Path, *, synchronous: str = "normal") -> SqliteStore:
    """Open, or make, the store in this folder; call it inside the running loop."""
    path = data_dir / DATABASE
    with contextlib.ExitStack() as undo:
        lock = FolderLock(data_dir)
        undo.callback(lock.release)
        db = open_database(path, synchronous=synchronous)
        undo.pop_all()
    return SqliteStore(lock, db, path)


class SqliteStore:
    """Sessions, events, messages and requests in one database; see `base.Store`."""

    def __init__(self, lock: FolderLock, db: sqlite3.Connection, path: Path) -> None:
        loop = asyncio.get_running_loop()
        self._lock = lock
        self._db = db
        self._path = path
        self.counters = Counters()
        self._room = Room(path)
        self._readers = Readers(path, loop)
        self.global_log = SqliteGlobalLog(db, self._readers)
        lock.watch(path)
        lock.watch(path.with_name(f"{path.name}-wal"))
        self._checkpointer = Checkpointer(path)
        written = self._checkpointer.written
        self._writer = Writer(db, loop, lock, self._room, written, self.counters.commit)
        self.webhooks = SqliteWebhooks(self._writer, self._readers)
        self._urgent: set[str] = set()
        self._feeds: WeakValueDictionary[str, LiveTail] = WeakValueDictionary()
        self._watched: dict[str, LiveTail] = {}
        self._pages: Recent[Page] = Recent(MAX_RECENT_BYTES)
        self._batches: Recent[asyncio.Future[Batch]] = Recent(MAX_RECENT_BYTES)
        self._closing = False

    # --- Sessions ---

    async def create(self, row: SessionRow, drafts: Sequence[Draft], *, most: int = 0) -> None:
        """Keep a new session. Raise SessionExists where the id was ever used."""
        await self._writer.submit(CreateWrite(row, drafts, most, self.global_log, self.counters))

    async def session(self, session_id: str) -> SessionRow | None:
        """One session, None if there is none."""
        return await self._readers.run(partial(rows.session, session_id=session_id))

    async def sessions(self, which: SessionFilter) -> list[SessionRow]:
        """Sessions, newest first."""
        return await self._readers.run(partial(rows.sessions, which=which))

    async def unfinished(self) -> list[str]:
        """Sessions in which something is open, or a message waits."""
        return await self._readers.run(rows.unfinished)

    async def holder(self, agent: str, native_session_id: str) -> str | None:
        """The session that has not ended and goes on under this id of the agent."""
        return await self._readers.run(
            partial(rows.holder, agent=agent, native_session_id=native_session_id)
        )

    async def delete(self, session_id: str) -> None:
        """Forget a session, but not its id; its readers are let go."""
        feed = await self._feed(session_id)
        work = partial(disk_usage.mark_deleted, session=feed.session)
        await self._writer.run(work, urgent=True)
        feed.deleted = True
        feed.notify()
        self.global_log.forget()
        self._watched.pop(session_id, None)
        self._feeds.pop(session_id, None)
        await self.purge()

    async def purge(self) -> None:
        """Remove what deleted sessions left, a little at a time: others write in between."""
        for work in (disk_usage.purge, disk_usage.shrink):
            while await self._writer.run(partial(work, step=self._step()), urgent=True):
                pass

    def _step(self) -> disk_usage.VacuumStep:
        return disk_usage.SMALL_STEP if self._room.is_tight else disk_usage.STEP

    @contextlib.contextmanager
    def urgent(self, session_id: str) -> Iterator[None]:
        """What is written to this session meanwhile may use what is kept back for deletes."""
        self._urgent.add(session_id)
        try:
            yield
        finally:
            self._urgent.discard(session_id)

    async def ensure_deletable(self) -> None:
        """Raise StorageFull where not even a session could be deleted."""
        await self._writer.run(touch, urgent=True)

    async def space(self) -> disk_usage.Space:
        """How large the database is."""
        return await self._readers.run(disk_usage.space)

    async def stats(self) -> StoreStats:
        """How the store does."""
        readers = sum(feed.readers for feed in self._feeds.values())
        look = partial(stats, path=self._path, writer=self._writer, readers=readers)
        return await self._readers.run(partial(look, global_log=self.global_log))

    def lost_files(self) -> str | None:
        """What of it was removed or replaced since it was opened, and what to do."""
        return self._lock.lost_files()

    async def touched_at(self) -> int | None:
        """When something last happened in any session; None: there is none."""
        return await self._readers.run(disk_usage.touched_at)

    async def quiet(self, before_ms: int, limit: int) -> list[str]:
        """Sessions in which nothing has happened since then, and nothing is open."""
        return await self._readers.run(partial(disk_usage.quiet, before_ms=before_ms, limit=limit))

    # --- The log ---

    async def watch(self, session_id: str) -> None:
        """Make a session ready for `append`."""
        self._watched[session_id] = await self._feed(session_id)

    def unwatch(self, session_id: str) -> None:
        """The session takes no more events for now."""
        self._watched.pop(session_id, None)

    def sequence(self, session_id: str) -> int:
        """The last sequence given out in a session that is being watched."""
        return self._watched[session_id].assigned

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store events, and what changes with them; resolves to the last sequence."""
        tail = self._watched[append.session_id]
        write = AppendWrite(append, tail, self.global_log, self.counters)
        return self._writer.submit(write, urgent=append.session_id in self._urgent)

    async def read(
        self,
        session_id: str,
        after: int,
        limit: int,
        *,
        raw: bool,
        compact: bool = False,
        max_bytes: int = MAX_PAGE_BYTES,
    ) -> Page:
        """A page of events; shorter than `limit` where they are large, at least one event."""
        feed = await self._feed(session_id)
        key = (feed.session, after, limit, raw, compact, max_bytes)
        found = self._pages.get(key)
        if found is None:
            work = partial(
                page,
                session=feed.session,
                after=after,
                limit=limit,
                committed=feed.committed,
                raw=raw,
                compact=compact,
                max_bytes=max_bytes,
            )
            found = await self._readers.run(work)
            if found.has_more:
                self._pages.keep(key, found, len(found.events))
        return found

    async def position(self, session_id: str) -> tuple[int, bool]:
        """The last committed sequence, and whether the session has ended."""
        feed = await self._feed(session_id)
        return feed.committed, feed.ended

    async def link(self, session_id: str, sequence: int) -> bytes | None:
        """The link of an event in the hash chain, None beyond the end; 0 is before the first."""
        feed = await self._feed(session_id)
        if sequence >= feed.committed:
            return feed.committed_link if sequence == feed.committed else None
        look = partial(rows.link_at, session=feed.session, sequence=sequence)
        return await self._readers.run(look)

    async def hold(self, session_id: str) -> LiveTail:
        """A session to follow, also if it is deleted before that begins."""
        return await self._feed(session_id)

    async def follow(
        self, session: str | LogEnd, after: int, *, raw: bool = False, sink: Sink | None = None
    ) -> AsyncGenerator[Batch]:
        """Everything after a sequence, then whatever comes, until the session has ended."""
        feed = await self._feed(session) if isinstance(session, str) else cast(LiveTail, session)
        feed.readers += 1
        try:
            while True:
                found = None if raw else feed.after(after)
                stored = found is None and after < feed.committed and not feed.deleted
                if stored:
                    found = await self._batch(feed, after, raw=raw)
                    if feed.deleted:
                        return  # some of it may have been removed before it was read
                if found is not None and found.frames:
                    after = found.last
                    yield found
                elif feed.ended or feed.deleted or self._closing:
                    return
                else:
                    after = await feed.wait(after, None if raw else sink).woken()
                    if after >= feed.committed:
                        yield Batch(feed.mark, after)
        finally:
            feed.readers -= 1

    async def _batch(self, feed: LiveTail, after: int, *, raw: bool) -> Batch:
        """Read on from the store; readers at one position share one read, and what it gave."""
        key = (feed.session, after, raw)
        reading = self._batches.get(key)
        if reading is None:
            committed = feed.committed
            reading = self._readers.run(
                partial(batch, session=feed.session, after=after, committed=committed, raw=raw)
            )
            if is_full(after, committed):
                self._batches.keep(key, reading, MAX_BATCH_BYTES)
        try:
            return await asyncio.shield(reading)
        except sqlite3.Error:
            self._batches.drop(key)  # the next reader tries again
            raise

    def end_followers(self) -> None:
        """Let go of every reader that has seen all there is."""
        self._closing = True
        self.notify_all()
        self.global_log.close()

    def notify_all(self) -> None:
        """Wake every reader, so that silent streams can show that they live."""
        for feed in list(self._feeds.values()):
            if feed.readers:
                feed.notify()
        self.global_log.notify()

    async def bodies(self, session_id: str, after: int) -> list[Body]:
        """The bodies of all events after a sequence, in order."""
        feed = await self._feed(session_id)
        return await self._readers.run(partial(bodies, session=feed.session, after=after))

    async def search(self, session_id: str, text: str, after: int, until: int) -> list[Body]:
        """The bodies of the events of a range in whose line a text stands, in order."""
        feed = await self._feed(session_id)
        return await self._readers.run(
            partial(search, session=feed.session, text=text, after=after, until=until)
        )

    async def _feed(self, session_id: str) -> LiveTail:
        feed = self._feeds.get(session_id)
        if feed is not None:
            return feed
        found = await self._readers.run(partial(locate, session_id=session_id))
        if found is None:
            raise SessionNotFound(session_id)
        # Somebody may have been faster; there is one feed for one session.
        feed = self._feeds.get(session_id)
        if feed is None:
            feed = self._feeds[session_id] = LiveTail(session_id, *found)
        return feed

    # --- Messages and requests ---

    async def accept(
        self, session_id: str, message: MessageRow, *, refuse: RequestError | None = None
    ) -> Receipt:
        """Keep a message, once for its key. Raise KeyReused, SessionEnded."""
        feed = await self._feed(session_id)
        work = partial(rows.accept, session=feed.session, message=message, refuse=refuse)
        return await self._writer.run(work)

    async def queued(self, session_id: str) -> list[MessageRow]:
        """The messages that wait, in order."""
        return await self._readers.run(partial(rows.queued, session_id=session_id))

    async def request(self, session_id: str, request_id: str) -> RequestRow | None:
        """A permission or question of this session."""
        return await self._readers.run(
            partial(rows.request, session_id=session_id, request_id=request_id)
        )

    # --- Processes ---

    async def process_started(self, row: ProcessRow) -> None:
        """Remember a process, so that the next daemon can end what this one could not."""
        await self._writer.run(partial(rows.insert_process, row=row))

    async def processes_gone(self, mark: str) -> None:
        """Forget the processes of a mark; of all that begin so, where it ends in `:`; "" is all."""
        await self._writer.run(partial(rows.forget_processes, mark=mark))

    async def processes(self) -> list[ProcessRow]:
        """The processes that nobody has seen end."""
        return await self._readers.run(rows.processes)

    async def close(self) -> None:
        """Finish what is being written, and let go."""
        await self._writer.close()
        await asyncio.to_thread(self._checkpointer.close)
        if self._lock.lost_files() is None:
            await self._readers.close()
            self._db.close()
        else:
            # Who may write and is the last to close removes the log by name: it may be another one.
            self._db.close()
            await self._readers.close()
        self._lock.release()
