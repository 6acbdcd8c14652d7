"""Disk usage: the size of the store, old sessions, incremental vacuum."""

from __future__ import annotations

import sqlite3

from msgspec import Struct


class VacuumStep(Struct, frozen=True, kw_only=True):
    """How much is given back at a time; others write in between."""

    events: int
    pages: int
    spare_pages: int
    """So much stays in the file, to be written to again."""
    secure_delete: str
    """Whether what is removed is written over: SQLite's own word."""


STEP = VacuumStep(events=5000, pages=500, spare_pages=256, secure_delete="ON")
SMALL_STEP = VacuumStep(events=50, pages=25, spare_pages=0, secure_delete="FAST")
"""To remove something is to write, first, and this fits into what is kept back for it. Pages are
not written over, but leave the file at once."""


class Space(Struct, frozen=True, kw_only=True):
    """How much room the database takes."""

    used_bytes: int
    free_bytes: int
    """Inside the file."""


def mark_deleted(db: sqlite3.Connection, session: int) -> None:
    """Forget a session; its id stays taken, its content is purged later."""
    db.execute(
        "UPDATE sessions SET deleted = 1, unfinished = 0, spec = x'', state = x'', title = NULL "
        "WHERE n = ?",
        (session,),
    )


def purge(db: sqlite3.Connection, step: VacuumStep = STEP) -> bool:
    """Remove some of what deleted sessions left; whether there may be more."""
    found = db.execute("SELECT n FROM sessions WHERE deleted = 1 ORDER BY n LIMIT 1").fetchone()
    if found is None:
        return False
    db.execute(f"PRAGMA secure_delete = {step.secure_delete}")
    done = db.execute(
        "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE session = ? "
        "AND id < (SELECT max(id) FROM events) LIMIT ?)",
        (found[0], step.events),
    )
    if done.rowcount < step.events:
        # The newest event of all keeps its place, empty: positions never go back.
        db.execute(
            "UPDATE events SET line = x'', crc = 0, chain = NULL, raw = NULL, raw_cut = NULL "
            "WHERE session = ?",
            found,
        )
        db.execute("DELETE FROM messages WHERE session = ?", found)
        db.execute("DELETE FROM requests WHERE session = ?", found)
        db.execute("UPDATE sessions SET deleted = 2 WHERE n = ?", found)  # nothing is left of it
    return True


def space(db: sqlite3.Connection) -> Space:
    """How large the database is."""
    (page,) = db.execute("PRAGMA page_size").fetchone()
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    return Space(used_bytes=(pages - free) * page, free_bytes=free * page)


def shrink(db: sqlite3.Connection, step: VacuumStep = STEP) -> bool:
    """Give some of the free room back to the disk; whether there is more."""
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    (mode,) = db.execute("PRAGMA auto_vacuum").fetchone()
    surplus = free - step.spare_pages
    if surplus <= 0 or not mode:
        return False
    for _ in range(min(surplus, step.pages)):
        db.execute("PRAGMA incremental_vacuum(1)")  # Python takes one step only, which is one page
    return bool(surplus > step.pages)


def quiet(db: sqlite3.Connection, before_ms: int, limit: int) -> list[str]:
    """Sessions in which nothing has happened since then: ended ones first, then the oldest."""
    found = db.execute(
        "SELECT session_id FROM sessions WHERE NOT deleted AND status IN ('ended', 'idle') "
        "AND NOT unfinished AND updated_at < ? ORDER BY status, updated_at LIMIT ?",
        (before_ms, limit),
    )
    return [session_id for (session_id,) in found]


def touched_at(db: sqlite3.Connection) -> int | None:
    """When something last happened in any session."""
    (found,) = db.execute("SELECT max(updated_at) FROM sessions WHERE NOT deleted").fetchone()
    return None if found is None else int(found)
