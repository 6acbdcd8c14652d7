"""Repairs a damaged database: sets it aside and saves what can be read."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.core.fold import SessionState
from dragoman.errors import StartRefused
from dragoman.schema.events import decode
from dragoman.schema.http import CreateSession
from dragoman.store.chain import ORIGIN, next_link
from dragoman.store.fsync import is_full, workshop
from dragoman.store.global_log import MAX_POSITION
from dragoman.store.repair import wal
from dragoman.store.repair.rebuild import Rebuilt, is_readable
from dragoman.store.repair.swap import LOG, begin, finish, free_name
from dragoman.store.repair.wal import Break, is_orphaned
from dragoman.store.rows import StoredMessage, checksum
from dragoman.store.schema import CHAINED, MIGRATIONS, WEBHOOKS, connect, migrate

log = logging.getLogger(__name__)

CHECKED_AT_START_BYTES = 64 << 20
"""Larger files are checked by `dragoman doctor`, not at every start."""

_NOT_DAMAGE = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM,
}  # fmt: skip
_UNREADABLE = {
    sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS,
}  # fmt: skip
_WRITE_VERSION = 18
_spec = msgspec.json.Decoder(CreateSession)
_state = msgspec.json.Decoder(SessionState)
_message = msgspec.json.Decoder(StoredMessage)


def ensure_sound(path: Path) -> None:
    """Check a database before it is used; a damaged one is replaced by what can be saved.

    Raise StartRefused where there is no room for that; nothing is changed then.
    """
    broken: Break | None = None
    if is_lost := is_orphaned(path):
        problem: str | None = "its file is gone or empty, but its log is there"
    elif broken := wal.find_break(path):
        problem = f"frame {broken.frame} of its log, and {broken.commits} commits are behind it"
    elif path.exists():
        problem = damage(path, thorough=path.stat().st_size <= CHECKED_AT_START_BYTES)
    else:
        problem = None
    if problem is None:
        return
    aside = free_name(path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"))
    log.error("the database is damaged (%s); saving what is whole", problem)
    try:
        with workshop(path.parent) as folder:
            made = folder / "made"
            made.mkdir(mode=0o700)
            source = path
            if is_lost or broken:
                source = folder / "replayed"
                wal.replay(path, source, broken.frame if broken else -1)
            count = _save(source, made / path.name, is_copy=source != path)
            begin(made, path.parent, {path.name: aside.name, LOG: f"{aside.name}-wal"})
        finish(path.parent)
    except (sqlite3.Error, OSError) as error:
        if not is_full(error, path.parent):
            raise
        raise StartRefused(
            f"the database is damaged ({problem}), and there is no room to save what is whole: "
            f"free some {_room(path)} MB on the disk of {path.parent}, then start again; nothing "
            "was changed"
        ) from None
    log.error("%d events were saved; the damaged database is kept as %s", count, aside.name)


def _room(path: Path) -> int:
    sizes = [each.stat().st_size for each in (path, path.with_name(LOG)) if each.exists()]
    return 2 * sum(sizes) // 1_000_000 + 1


def _save(source: Path, target: Path, *, is_copy: bool) -> int:
    """Make a database of what is whole; how many events that are."""
    if is_copy and damage(source, thorough=True) is None and source.stat().st_size:
        source.rename(target)
    else:
        rescue(source, target)
    problem = damage(target, thorough=True)
    if problem is not None:
        raise StartRefused(
            f"what was saved of the database is damaged too ({problem}): the disk may be failing; "
            "nothing was changed"
        )
    with contextlib.closing(_open(target)) as db:
        (count,) = db.execute("SELECT count(*) FROM events").fetchone()
    return int(count)


def damage(path: Path, *, thorough: bool) -> str | None:
    """What is wrong with a database file, None if nothing is found."""
    try:
        db = _open(path)
        try:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and version <= 0:
                return "it has tables, but no version"
            if tables and _byte(path, _WRITE_VERSION) > 2:
                return "its header forbids writing"
            if thorough:
                (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
                if verdict != "ok":
                    return str(verdict)
                if 0 < version <= len(MIGRATIONS):
                    return _changed_event(db, version) or _changed_row(db)
        finally:
            db.close()
    except UnicodeDecodeError as error:
        return f"its schema cannot be read: {error}"
    except sqlite3.DatabaseError as error:
        # A lock or a full disk is not damage; the start itself will tell.
        return None if error.sqlite_errorcode & 0xFF in _NOT_DAMAGE else str(error)
    return None


def _byte(path: Path, at: int) -> int:
    with path.open("rb") as file:
        return file.read(at + 1)[at]


def _open(path: Path) -> sqlite3.Connection:
    # Whoever may write and is the last to close moves the log into the file: not into this one.
    mode = "ro" if path.with_name(f"{path.name}-wal").exists() else "rw"
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True)
    db.text_factory = lambda text: text.decode(errors="replace")
    return db


def _changed_event(db: sqlite3.Connection, version: int) -> str | None:
    chain = "chain" if version >= CHAINED else "NULL"
    current, previous = 0, ORIGIN
    for session, sequence, crc, line, raw, link, deleted in db.execute(
        f"SELECT session, sequence, crc, line, raw, {chain}, deleted FROM events "
        "LEFT JOIN sessions ON n = session ORDER BY session, sequence"
    ):
        if not _is_intact(line, raw, crc):
            return f"event {sequence} of session {session} was changed"
        if deleted or version < CHAINED:
            continue  # what is being removed has no beginning any more
        if session != current:
            current, previous = session, ORIGIN
        previous = next_link(previous, line)
        if link != previous:
            return f"event {sequence} of session {session} does not fit into its hash chain"
    return None


def _is_intact(line: object, raw: object, crc: object) -> bool:
    if not isinstance(line, bytes) or not isinstance(raw, bytes | None):
        return False
    return checksum(line, raw) == crc


def _changed_row(db: sqlite3.Connection) -> str | None:
    checks = (
        ("SELECT n, spec FROM sessions WHERE NOT deleted", _spec),
        ("SELECT n, state FROM sessions WHERE NOT deleted", _state),
        ("SELECT message_id, body FROM messages WHERE state = 'queued'", _message),
    )
    for query, decoder in checks:
        for name, value in db.execute(query):
            if not is_readable(decoder, value):
                return f"row {name!r} of {query.split()[4]} cannot be read"
    return None


def rescue(damaged: Path, target: Path) -> int:
    """Copy what can be read: each session with its events up to the first that is lost."""
    with (
        contextlib.closing(_open(damaged)) as source,
        contextlib.closing(connect(target, synchronous="normal")) as db,
    ):
        # A log would need as much room again, and to close says nothing when it could not be moved.
        db.execute("PRAGMA journal_mode = DELETE")
        migrate(db, target)
        db.execute("BEGIN")
        count = _rescue_sessions(source, db)
        for row in _readable(source, "messages", "position"):
            if is_readable(_message, row["body"]):
                _insert(db, "messages", row)
        for row in _readable(source, "requests", "request_id"):
            _insert(db, "requests", row)
        if _has_webhooks(source):
            for row in _readable(source, "webhooks", "n"):
                _insert(db, "webhooks", row)
        db.execute("COMMIT")
    return count


def _has_webhooks(source: sqlite3.Connection) -> bool:
    """Whether there was a table of them: older versions had none."""
    try:
        (version,) = source.execute("PRAGMA user_version").fetchone()
        return bool(version >= WEBHOOKS)
    except sqlite3.DatabaseError:
        return False


def _rescue_sessions(source: sqlite3.Connection, db: sqlite3.Connection) -> int:
    with contextlib.suppress(sqlite3.DatabaseError, UnicodeDecodeError):
        # A torn index or table must not hide the others.
        source.execute("PRAGMA writable_schema = ON")
    count = 0
    kept = {row["n"]: row for row in _readable(source, "sessions", "n")}
    lost = {row["session"] for row in _readable(source, "(SELECT DISTINCT session FROM events)")}
    for number in sorted(number for number in {*kept, *lost} if isinstance(number, int)):
        if number in kept and kept[number]["deleted"]:
            _insert(db, "sessions", kept[number])
            continue
        wanted = kept[number]["event_count"] if number in kept else None
        rebuilt = _rescue_events(source, db, number, wanted)
        if rebuilt is not None:
            count += rebuilt.last
            _insert(db, "sessions", rebuilt.row(number, kept.get(number)))
    return count


def _rescue_events(
    source: sqlite3.Connection, db: sqlite3.Connection, session: int, wanted: object
) -> Rebuilt | None:
    rebuilt: Rebuilt | None = None
    link = ORIGIN
    # The index may be torn where the table is not, and the other way round.
    for table in ("events", "events NOT INDEXED"):
        last = rebuilt.last if rebuilt else 0
        if last == wanted:
            break
        after = f"{table} WHERE session = {session} AND sequence > {last}"
        for row in _readable(source, after, "sequence"):
            if not _is_intact(row["line"], row["raw"], row["crc"]):
                break
            try:
                event = decode(row["line"])
                rebuilt = rebuilt or Rebuilt(event)
                rebuilt.see(event)
            except msgspec.MsgspecError as error:
                log.error("session %d goes on with what does not belong to it: %s", session, error)
                break
            # The line is whole, so its link can be made anew; whoever read on will be told.
            link = next_link(link, row["line"])
            place = {"session": session, "sequence": event.sequence, "chain": link}
            _keep_event(db, row | place)
    return rebuilt


def _keep_event(db: sqlite3.Connection, row: dict[str, Any]) -> None:
    """Keep an event at its place among all; where that cannot be, at the end."""
    if 0 < row["id"] < MAX_POSITION and _insert(db, "events", row):
        return
    _insert(db, "events", row | {"id": None})


def _readable(source: sqlite3.Connection, table: str, key: str = "1") -> Iterator[dict[str, Any]]:
    try:
        found = source.execute(f"SELECT * FROM {table} ORDER BY {key}")
        names = [column[0] for column in found.description]
        for values in found:
            yield dict(zip(names, values, strict=True))
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.DatabaseError) and not _is_of_the_file(error):
            raise
        log.error("the rest of %s cannot be read: %s", table, error)


def _is_of_the_file(error: sqlite3.DatabaseError) -> bool:
    """Whether an error tells of what is read, not of the machine that reads it."""
    code = error.sqlite_errorcode
    return code in _UNREADABLE or code & 0xFF not in _NOT_DAMAGE


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> bool:
    """Keep a row, unless it breaks what is kept already."""
    marks = ", ".join("?" * len(row))
    names = ", ".join(row)
    done = db.execute(
        f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", list(row.values())
    )
    return done.rowcount == 1
