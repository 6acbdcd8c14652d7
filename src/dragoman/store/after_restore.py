"""Writes into every session that a backup was restored."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from dragoman.core.daemon_events import draft
from dragoman.schema.events import SessionUpdated
from dragoman.store import rows
from dragoman.store.global_log import next_position
from dragoman.store.ids import now_ms
from dragoman.store.reader import locate
from dragoman.store.stamp import stamp

log = logging.getLogger(__name__)

_MARK = 0x72737464
"""Stands in the header of a database, as its application id, from a restore to the next start.

The header is part of a transaction, and is there in databases of every version.
"""


def mark(database: Path) -> None:
    """Let whoever next starts on this database announce that it was restored."""
    with closing(sqlite3.connect(database)) as db:
        _set_mark(db, _MARK)


def announce(db: sqlite3.Connection) -> None:
    """Tell it in each session, where the database is marked: all of them, once."""
    (found,) = db.execute("PRAGMA application_id").fetchone()
    if found != _MARK:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        names = db.execute("SELECT session_id FROM sessions WHERE NOT deleted ORDER BY n")
        sessions = [session_id for (session_id,) in names]
        for session_id in sessions:
            _announce(db, session_id)
        _set_mark(db, 0)
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    log.warning("a backup was restored; %d sessions say so", len(sessions))


def _announce(db: sqlite3.Connection, session_id: str) -> None:
    row, located = rows.session(db, session_id), locate(db, session_id)
    assert row is not None
    assert located is not None
    number, last, ended, total, _, link = located
    body = SessionUpdated(
        continuity="restored",
        message=f"The store was restored from a backup, which ends here with event {last}. What "
        "came later is not in it; files, and what the agent itself remembers, are as they are now.",
    )
    row.state.apply(body)
    if ended:  # nothing follows `session.ended`
        db.execute("UPDATE sessions SET state = ? WHERE n = ?", (rows.encode(row.state), number))
        return
    drafts = [draft(body, row.state.native_session_id)]
    events = stamp(session_id, number, last, total, drafts)
    rows.advance_session(db, number, last, last + 1, now_ms(), rows.snapshot_of(row.state))
    rows.insert_events(db, events, next_position(db), link)


def _set_mark(db: sqlite3.Connection, value: int) -> None:
    db.execute(f"PRAGMA application_id = {value}")
