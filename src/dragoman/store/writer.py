"""One thread writes. It takes all that waits, commits it at once, then tells the loop."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from dragoman.errors import DragomanError, InternalError, StorageFull, Unavailable
from dragoman.store.tally import Histogram

log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], Any]
"""Runs inside a transaction. Raises a DragomanError only before its first write."""


class _Job:
    __slots__ = ("asked_at", "error", "future", "published", "result", "work")

    def __init__(
        self, work: Work, future: asyncio.Future[Any], published: Callable[[bool], None] | None
    ) -> None:
        self.work = work
        self.future = future
        self.published = published
        self.asked_at = time.monotonic()
        self.result: Any = None
        self.error: Exception | None = None


class Writer:
    """The only connection that writes. Nothing is told before it is committed."""

    def __init__(
        self,
        db: sqlite3.Connection,
        loop: asyncio.AbstractEventLoop,
        on_commit: Callable[[sqlite3.Connection], None],
        took: Histogram,
    ) -> None:
        self._db = db
        self._on_commit = on_commit
        self._loop = loop
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="dragoman-writer", daemon=True)
        self._closed = False
        self._took = took
        self.committed_at = 0.0
        """When what is being told now was committed."""
        self.failing = False
        """The last write failed."""
        self._thread.start()

    def submit(
        self,
        work: Callable[[sqlite3.Connection], T],
        published: Callable[[bool], None] | None = None,
    ) -> asyncio.Future[T]:
        """Queue work, in order; `published` is called on the loop, before the future is set."""
        if self._closed:
            raise Unavailable("the daemon is stopping")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(work, future, published))
        return future

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
        stop = False
        while not stop:
            group: list[_Job] = []
            job = self._jobs.get()
            while job is not None:
                group.append(job)
                if self._jobs.empty():
                    break
                job = self._jobs.get()
            stop = job is None
            if group:
                self._commit(group)
                self._loop.call_soon_threadsafe(self._tell, group, time.monotonic())
                self._on_commit(self._db)

    def _commit(self, group: list[_Job]) -> None:
        """All at once; if that fails, each by itself, so that none pays for another."""
        try:
            self._transact(group)
        except Exception:  # noqa: BLE001 - it is told to each by itself
            for job in group:
                job.result = job.error = None
                try:
                    self._transact([job])
                except sqlite3.Error as error:
                    job.error = StorageFull(f"the store cannot write: {error}")
                except Exception as error:  # a defect of ours costs this write, not the thread
                    log.exception("a write failed")
                    job.error = InternalError(f"a write failed: {error}")

    def _transact(self, group: list[_Job]) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            for job in group:
                try:
                    job.result = job.work(db)
                except DragomanError as error:
                    job.error = error
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")

    def _tell(self, group: list[_Job], committed_at: float) -> None:
        self.committed_at = committed_at
        for job in group:
            self.failing = isinstance(job.error, StorageFull)
            self._took.observe(committed_at - job.asked_at)
            if job.published is not None:
                job.published(job.error is None)
            if job.future.cancelled():
                continue
            if job.error is None:
                job.future.set_result(job.result)
            else:
                job.future.set_exception(job.error)
