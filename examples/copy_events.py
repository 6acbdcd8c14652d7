"""Copy a session's events into a database of your own, each exactly once.

    python examples/copy_events.py SESSION DATABASE

It goes on until the session ends. Stop it, kill it, or kill the daemon, and start it again: it
continues after the last event that it has stored. Should the daemon's log be another one by then,
because an older copy of it was put back, it says so and stops.
"""

from __future__ import annotations

import sqlite3
import sys

from dragoman.client import Client, encode_event

TABLES = """
    CREATE TABLE IF NOT EXISTS events (
        session TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        type TEXT NOT NULL,
        event TEXT NOT NULL,
        PRIMARY KEY (session, sequence)
    );
    CREATE TABLE IF NOT EXISTS cursors (
        session TEXT PRIMARY KEY,
        sequence INTEGER NOT NULL,
        chain TEXT
    );
"""


def copy(session: str, db: sqlite3.Connection) -> None:
    """Copy from the cursor to the end of the session."""
    db.executescript(TABLES)
    known = "SELECT sequence, chain FROM cursors WHERE session = ?"
    after, chain = db.execute(known, (session,)).fetchone() or (0, None)
    links: dict[int, str] = {}
    with Client() as client:
        # `follow` takes a cut connection up again by itself, after the last event it gave us.
        for event in client.follow(session, after, after_chain=chain, on_link=links.__setitem__):
            # The event and the cursor in one transaction: that is what makes it exactly once.
            with db:
                db.execute(
                    "INSERT INTO events VALUES (?, ?, ?, ?)",
                    (session, event.sequence, event.type, encode_event(event).decode()),
                )
                db.execute(
                    "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?)",
                    (session, event.sequence, links.pop(event.sequence, None)),
                )


if __name__ == "__main__":
    database = sqlite3.connect(sys.argv[2])
    try:
        copy(sys.argv[1], database)
    finally:
        database.close()
