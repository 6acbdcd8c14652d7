"""One write to a session's log: stamped at once, written by the writer's thread, then published."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from dragoman.schema.events import Draft, ItemDelta, SessionEnded
from dragoman.store import rows
from dragoman.store.counters import Counters
from dragoman.store.global_log import LogEntry, SqliteGlobalLog
from dragoman.store.ids import now_ms
from dragoman.store.live_tail import LiveTail
from dragoman.store.protocol import Append, SessionRow
from dragoman.store.stamp import stamp
from dragoman.wire.sse import frame


class AppendWrite:
    """An `Append` on its way. Made on the loop, so that numbers are given in order."""

    def __init__(
        self, append: Append, tail: LiveTail, global_log: SqliteGlobalLog, counters: Counters
    ) -> None:
        self._append = append
        self._tail = tail
        self._global_log = global_log
        self._counters = counters
        self._now = now_ms()
        self._expected = tail.assigned
        """The event before these; if that one is not committed, these are not either."""
        stamped = stamp(
            append.session_id, tail.session, tail.assigned, tail.assigned_total, append.drafts
        )
        self._snapshot = None if append.state is None else rows.snapshot_of(append.state)
        self._notable = [d.body for d in append.drafts if type(d.body) is not ItemDelta]
        notable = bool(self._notable)
        self._entry = LogEntry(append.session_id, tail.agent, stamped, notable=notable)
        tail.assigned += len(stamped)
        tail.assigned_total = stamped[-1][2] if stamped else tail.assigned_total
        tail.outstanding += 1

    def write(self, db: sqlite3.Connection) -> int:
        """Write all of it; the last sequence. Runs in the writer's thread."""
        session, cancelled = self._tail.session, self._append.cancelled
        last = self._expected + len(self._entry.rows)
        if cancelled is not None:
            rows.ensure_queued(db, session, cancelled)
        rows.advance_session(db, session, self._expected, last, self._now, self._snapshot)
        self._global_log.write(db, self._entry)
        rows.note_requests(db, session, self._notable)
        rows.mark(db, "delivered", self._append.delivered)
        if cancelled is not None:
            rows.mark(db, "cancelled", (cancelled,))
        return last

    def finish(self, committed_at: float | None) -> None:
        """Show it to readers, or give its numbers back. Runs on the loop."""
        tail = self._tail
        tail.outstanding -= 1
        if committed_at is not None:
            self._publish()
            if tail.readers or self._global_log.readers:
                self._counters.fanout.observe(time.monotonic() - committed_at)
        elif not tail.outstanding:
            # What was numbered after the failed write failed too: its numbers are free again.
            tail.assigned, tail.assigned_total = tail.committed, tail.committed_total

    def _publish(self) -> None:
        tail, stamped = self._tail, self._entry.rows
        self._counters.count(len(stamped), self._notable)
        if not stamped:
            return
        ended = any(isinstance(body, SessionEnded) for body in self._notable)
        frames = [frame(row[1], row[4]) for row in stamped] if tail.readers or ended else []
        _, last, total, *_ = stamped[-1]
        notable = self._entry.notable
        tail.publish(frames, last, total, self._entry.link, notable=notable, ended=ended)
        self._global_log.publish(self._entry)


class CreateWrite:
    """A new session, and its first events."""

    def __init__(
        self,
        row: SessionRow,
        drafts: Sequence[Draft],
        most: int,
        global_log: SqliteGlobalLog,
        counters: Counters,
    ) -> None:
        self._row = row
        self._drafts = drafts
        self._most = most
        self._global_log = global_log
        self._counters = counters
        self._entry = LogEntry(row.session_id, row.create.agent, [])

    def write(self, db: sqlite3.Connection) -> None:
        """Raise SessionExists where the id was ever used."""
        row, entry = self._row, self._entry
        number = rows.insert_session(db, row, self._most)
        entry.rows = stamp(row.session_id, number, 0, 0, self._drafts)
        rows.advance_session(db, number, 0, len(entry.rows), row.created_at, None)
        self._global_log.write(db, entry)

    def finish(self, committed_at: float | None) -> None:
        """Show its events to those who read all sessions."""
        if committed_at is not None:
            self._counters.count(len(self._entry.rows), ())
            self._global_log.publish(self._entry)
