"""The writer thread: takes all that waits and commits it at once."""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from dragoman.errors import DragomanError, InternalError, StorageFull, Unavailable
from dragoman.store.counters import Histogram
from dragoman.store.disk_reserve import Room
from dragoman.store.lock import FolderLock

log = logging.getLogger(__name__)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
LOOK_S = 1.0
"""So often it is seen, also if nobody writes, whether somebody could."""
FOUND_S = 0.05
"""So long a folder that was in place is taken to be: each look waits for the interpreter's lock."""


class Write(Protocol[T_co]):
    """Something to be written."""

    def write(self, db: sqlite3.Connection) -> T_co:
        """Write it, inside a transaction. Raise a DragomanError only before the first statement."""

    def finish(self, committed_at: float | None) -> None:
        """It was committed, by the monotonic clock, or failed; on the loop, before its future."""


class _FunctionWrite(Generic[T]):
    """A function that writes, with nothing to do afterwards."""

    __slots__ = ("write",)

    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self.write = work

    def finish(self, committed_at: float | None) -> None:
        """Nobody waits for it but the caller."""


class _Job:
    __slots__ = ("error", "future", "result", "submitted_at", "urgent", "write")

    def __init__(self, write: Write[Any], future: asyncio.Future[Any], urgent: bool) -> None:
        self.write = write
        self.future = future
        self.urgent = urgent
        self.submitted_at = time.monotonic()
        self.result: Any = None
        self.error: Exception | None = None


class Writer:
    """The only connection that writes. Nothing is told before it is committed."""

    def __init__(
        self,
        db: sqlite3.Connection,
        loop: asyncio.AbstractEventLoop,
        lock: FolderLock,
        room: Room,
        on_commit: Callable[[sqlite3.Connection], None],
        took: Histogram,
    ) -> None:
        self._db = db
        self._lock = lock
        self._room = room
        self._on_commit = on_commit
        self._loop = loop
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="dragoman-writer", daemon=True)
        self._closed = False
        self._took = took
        self.problem: str | None = None
        """Why nothing can be written, and what to do."""
        self._found_at = -math.inf
        """When the folder was last seen to be in place."""
        self._thread.start()

    def submit(self, write: Write[T], *, urgent: bool = False) -> asyncio.Future[T]:
        """Queue a write, in order. What is `urgent` makes room, and may use the reserve."""
        if self._closed:
            raise Unavailable("the daemon is stopping")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(write, future, urgent))
        return future

    def run(
        self, work: Callable[[sqlite3.Connection], T], *, urgent: bool = False
    ) -> asyncio.Future[T]:
        """The same for a function."""
        return self.submit(_FunctionWrite(work), urgent=urgent)

    @property
    def waiting(self) -> int:
        """How much waits to be written."""
        return self._jobs.qsize()

    async def close(self) -> None:
        """Write what is queued, then stop."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=LOOK_S)
            except Empty:
                self._look()
                continue
            group: list[_Job] = []
            while job is not None:
                group.append(job)
                if self._jobs.empty():
                    break
                job = self._jobs.get()
            if group:
                self._commit(group)
                self._loop.call_soon_threadsafe(self._tell, group, time.monotonic())
                self._on_commit(self._db)
                self._room.settle(self._db)
            if job is None:
                return

    def _commit(self, group: list[_Job]) -> None:
        """Write what can be written; the rest is refused before it touches the disk."""
        refusal = self._refusal(urgent=False)
        if refusal is not None:
            refused = [job for job in group if not job.urgent]
            group = [job for job in group if job.urgent]
            if group and self._refusal(urgent=True) is not None:
                refused, group = refused + group, []
            for job in refused:
                job.error = StorageFull(refusal)
        failure = self._write(group) if group else None
        if refusal or failure or any(job.error is None for job in group):
            self._note(refusal or failure)

    def _write(self, group: list[_Job]) -> str | None:
        """All at once; if that fails, each by itself, so that none pays for another.

        Why the last of them could not be written.
        """
        failure: str | None = None
        try:
            self._transact(partial(_carry_out, group))
        except Exception as reason:  # noqa: BLE001 - it is told to each by itself
            self._make_good(reason)
            for job in group:
                failure = self._write_alone(job)
        return failure

    def _write_alone(self, job: _Job) -> str | None:
        job.result = job.error = None
        # What failed may have left less room, and what is urgent may have more of it.
        failure = self._refusal(urgent=job.urgent)
        try:
            if failure is None:
                self._transact(partial(_carry_out, [job]))
        except sqlite3.Error as error:
            self._make_good(error)
            failure = f"the store cannot write: {error}"
        except Exception as error:  # a defect of ours costs this write, not the thread
            log.exception("a write failed")
            job.error = InternalError(f"a write failed: {error}")
        if failure is not None:
            job.error = StorageFull(failure)
        return failure

    def _look(self) -> None:
        """Nobody has anything to write: see whether it could be."""
        problem = self._refusal(urgent=False)
        if problem is None and self.problem is not None:
            try:
                self._transact(touch)
            except sqlite3.Error as error:
                self._make_good(error)
                problem = f"the store cannot write: {error}"
        self._note(problem)

    def _refusal(self, *, urgent: bool) -> str | None:
        return self._lost_files() or self._room.refusal(self._db, urgent=urgent)

    def _lost_files(self) -> str | None:
        now = time.monotonic()
        if now < self._found_at + FOUND_S:
            return None
        lost = self._lock.lost_files()
        if lost is None:
            self._found_at = now
        return lost

    def _make_good(self, failure: Exception) -> None:
        if isinstance(failure, sqlite3.OperationalError):
            self._room.reclaim(self._db)

    def _note(self, problem: str | None) -> None:
        if problem is not None and self.problem is None:
            log.error("nothing is written: %s", problem)
        elif problem is None and self.problem is not None:
            log.warning("the store can write again")
        self.problem = problem

    def _transact(self, work: Callable[[sqlite3.Connection], None]) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            work(db)
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")

    def _tell(self, group: list[_Job], committed_at: float) -> None:
        for job in group:
            self._took.observe(committed_at - job.submitted_at)
            job.write.finish(committed_at if job.error is None else None)
            if job.future.cancelled():
                continue
            if job.error is None:
                job.future.set_result(job.result)
            else:
                job.future.set_exception(job.error)


def touch(db: sqlite3.Connection) -> None:
    """Write something that changes nothing. Raise sqlite3.Error where nothing can be written."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    db.execute(f"PRAGMA user_version = {version}")


def _carry_out(group: Sequence[_Job], db: sqlite3.Connection) -> None:
    for job in group:
        try:
            job.result = job.write.write(db)
        except DragomanError as error:
            job.error = error
