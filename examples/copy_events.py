"""Copy a session's events into a database of your own, each exactly once.

    python examples/copy_events.py SESSION DATABASE

It goes on until the session ends. Stop it, kill it, or kill the daemon, and start it again: it
continues after the last event that it has stored.
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
        sequence INTEGER NOT NULL
    );
"""


def copy(session: str, db: sqlite3.Connection) -> None:
    """Copy from the cursor to the end of the session."""
    db.executescript(TABLES)
    found = db.execute("SELECT sequence FROM cursors WHERE session = ?", (session,)).fetchone()
    after = found[0] if found else 0
    with Client() as client:
        # `follow` takes a cut connection up again by itself, after the last event it gave us.
        for event in client.follow(session, after):
            # The event and the cursor in one transaction: that is what makes it exactly once.
            with db:
                db.execute(
                    "INSERT INTO events VALUES (?, ?, ?, ?)",
                    (session, event.sequence, event.type, encode_event(event).decode()),
                )
                db.execute(
                    "INSERT OR REPLACE INTO cursors VALUES (?, ?)", (session, event.sequence)
                )


if __name__ == "__main__":
    database = sqlite3.connect(sys.argv[2])
    try:
        copy(sys.argv[1], database)
    finally:
        database.close()
