"""SQL statements: how records become rows."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.core.fold import SessionState
from dragoman.errors import (
    Conflict,
    KeyReused,
    NotFound,
    RequestError,
    SessionEndedError,
    SessionExists,
    StorageFull,
    TooManyRequests,
)
from dragoman.schema.commands import Attachment
from dragoman.schema.events import (
    Body,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    decode_body,
)
from dragoman.schema.http import CreateSession
from dragoman.store.chain import ORIGIN, next_link
from dragoman.store.protocol import (
    MessageRow,
    MessageState,
    ProcessRow,
    Receipt,
    RequestRow,
    SessionFilter,
    SessionRow,
)
from dragoman.store.stamp import EventRow

Snapshot = tuple[bytes, str, str | None, bool]
"""state, status, title, unfinished."""

_spec = msgspec.json.Decoder(CreateSession)
_state = msgspec.json.Decoder(SessionState)
encode = msgspec.json.Encoder().encode


class StoredMessage(Struct, frozen=True, kw_only=True):
    """What a message's row holds as JSON."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    created_at: int
    steer: bool = False


def snapshot_of(state: SessionState) -> Snapshot:
    """A session's state as it is now. It is found by the name that is shown."""
    return encode(state), state.status, state.title or state.preview, state.open_since is not None


# --- Events ---

_SIZES = (256, 32, 4, 1)
_INSERTS = {
    size: "INSERT INTO events (id, crc, chain, session, sequence, total, raw_at, line, raw, "
    "raw_cut, raw_from, raw_size) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
    + ",(NULL,?,?,?,?,?,?,?,?,?,?,?)"
    * (size - 1)
    for size in _SIZES
}


def checksum(line: bytes, raw: bytes | None) -> int:
    """What tells an event that was changed; of large ones without the interpreter's lock."""
    return zlib.crc32(raw or b"", zlib.crc32(line))


def insert_events(
    db: sqlite3.Connection, rows: Sequence[EventRow], first: int, previous: bytes
) -> bytes:
    """Insert events, many in one statement: SQLite works on without the interpreter's lock.

    The first stands at the position `first`, beyond all that are there, and each later one at the
    next: SQLite counts on by itself. `previous` is the link before them; the last one's is given.
    """
    at = 0
    for size in _SIZES:
        while len(rows) - at >= size:
            flat: list[Any] = [first + at]
            for row in rows[at : at + size]:
                previous = next_link(previous, row[4])
                flat += (checksum(row[4], row[5]), previous)
                flat += row
            db.execute(_INSERTS[size], flat)
            at += size
    return previous


def link_at(db: sqlite3.Connection, session: int, sequence: int) -> bytes | None:
    """The link of an event, None if there is no such event; of 0, what the first one follows."""
    if not sequence:
        return ORIGIN
    found = db.execute(
        "SELECT chain FROM events WHERE session = ? AND sequence = ?", (session, sequence)
    ).fetchone()
    return None if found is None else found[0]


def advance_session(
    db: sqlite3.Connection,
    session: int,
    expected: int,
    count: int,
    now: int,
    snapshot: Snapshot | None,
) -> None:
    """Move a session on. Raise where the events before these are not committed."""
    if snapshot is None:
        done = db.execute(
            "UPDATE sessions SET event_count = ?, updated_at = max(updated_at, ?) "
            "WHERE n = ? AND event_count = ? AND NOT deleted",
            (count, now, session, expected),
        )
    else:
        done = db.execute(
            "UPDATE sessions SET event_count = ?, updated_at = max(updated_at, ?), state = ?, "
            "status = ?, title = ?, unfinished = ? "
            "WHERE n = ? AND event_count = ? AND NOT deleted",
            (count, now, *snapshot, session, expected),
        )
    if done.rowcount != 1:
        raise StorageFull("an earlier write of this session failed")
    if snapshot is not None and snapshot[1] == "ended":
        db.execute(
            "UPDATE messages SET state = 'cancelled' WHERE session = ? AND state = 'queued'",
            (session,),
        )


def note_requests(db: sqlite3.Connection, session: int, bodies: Sequence[Body]) -> None:
    """Keep permissions and questions beside the events that they came with."""
    for body in bodies:
        match body:
            case PermissionRequested() | PermissionResolved():
                request_id = body.permission_id
            case QuestionRequested() | QuestionResolved():
                request_id = body.question_id
            case _:
                continue
        db.execute(
            "INSERT INTO requests (request_id, session, type, body) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (request_id) DO UPDATE SET type = excluded.type, body = excluded.body",
            (request_id, session, body.type, encode(body)),
        )


def request(db: sqlite3.Connection, session_id: str, request_id: str) -> RequestRow | None:
    """A permission or question of this session."""
    found = db.execute(
        "SELECT r.type, r.body FROM requests r JOIN sessions s ON s.n = r.session "
        "WHERE r.request_id = ? AND s.session_id = ?",
        (request_id, session_id),
    ).fetchone()
    if found is None:
        return None
    kind = "permission" if found[0].startswith("permission.") else "question"
    body: Body = decode_body(found[0], found[1])
    return RequestRow(request_id=request_id, kind=kind, body=body)  # type: ignore[arg-type]


# --- Sessions ---

_COLUMNS = (
    "s.session_id, s.spec, s.directory, s.state, s.event_count, s.created_at, s.updated_at, s.n, "
    "(SELECT count(*) FROM messages m WHERE m.session = s.n AND m.state = 'queued'), "
    "(SELECT chain FROM events e WHERE e.session = s.n AND e.sequence = s.event_count)"
)


def insert_session(db: sqlite3.Connection, row: SessionRow, most: int = 0) -> int:
    """Keep a new session; its number. Raise SessionExists, TooManyRequests, Conflict."""
    taken = db.execute("SELECT 1 FROM sessions WHERE session_id = ?", (row.session_id,)).fetchone()
    if taken is not None:
        raise SessionExists(row.session_id)
    if most:
        _ensure_room(db, most)
    _ensure_free(db, row)
    done = db.execute(
        "INSERT INTO sessions (session_id, agent, spec, directory, state, status, title, "
        "event_count, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)",
        (row.session_id, row.create.agent, encode(row.create), row.directory, encode(row.state),
         row.state.status, row.state.title, row.created_at, row.updated_at),
    )  # fmt: skip
    return int(done.lastrowid or 0)


def _ensure_room(db: sqlite3.Connection, most: int) -> None:
    (there,) = db.execute(
        "SELECT count(*) FROM sessions WHERE NOT deleted AND status <> 'ended'"
    ).fetchone()
    if there >= most:
        raise TooManyRequests(
            f"{there} sessions have not ended, and max_sessions is {most}; end one first",
            limit="max_sessions",
            most=most,
        )


def _ensure_free(db: sqlite3.Connection, row: SessionRow) -> None:
    """Two processes on one conversation would each forget what the other heard."""
    resume, native = row.create.resume, row.state.native_session_id
    if resume is None or resume.fork or native is None:
        return
    if (other := holder(db, row.create.agent, native)) is not None:
        raise Conflict(
            f"session {other!r} goes on with this conversation; end it first, or fork it",
            holder=other,
        )


def session(db: sqlite3.Connection, session_id: str) -> SessionRow | None:
    """One session."""
    found = db.execute(
        f"SELECT {_COLUMNS} FROM sessions s WHERE s.session_id = ? AND NOT s.deleted",
        (session_id,),
    ).fetchone()
    return None if found is None else _session_row(found)


def sessions(db: sqlite3.Connection, which: SessionFilter) -> list[SessionRow]:
    """Sessions, newest first."""
    where, values = ["NOT s.deleted"], list[Any]()
    if which.agent is not None:
        where.append("s.agent = ?")
        values.append(which.agent)
    if which.status is not None:
        where.append("s.status = ?")
        values.append("idle" if which.status == "starting" else which.status)
    if which.status in ("idle", "starting"):
        places = ", ".join("?" * len(which.starting))
        where.append(f"s.session_id {'' if which.status == 'starting' else 'NOT '}IN ({places})")
        values += which.starting
    if which.text is not None:
        # SQLite's own `lower` knows no letters but those of English.
        db.create_function("fold", 1, str.casefold, deterministic=True)
        where.append("(instr(fold(s.session_id), ?) OR instr(fold(coalesce(s.title, '')), ?))")
        values += [which.text.casefold()] * 2
    if which.before is not None:
        where.append("s.n < ?")
        values.append(which.before)
    values.append(-1 if which.limit is None else which.limit)
    sql = f"SELECT {_COLUMNS} FROM sessions s WHERE {' AND '.join(where)} "
    return [_session_row(found) for found in db.execute(f"{sql} ORDER BY s.n DESC LIMIT ?", values)]


def holder(db: sqlite3.Connection, agent: str, native_session_id: str) -> str | None:
    """The session that has not ended and goes on under this id of the agent."""
    found = db.execute(
        "SELECT session_id FROM sessions WHERE agent = ? AND status <> 'ended' AND NOT deleted "
        "AND CAST(state AS TEXT) ->> 'native_session_id' = ? "
        # A fork has an id of its own once it began.
        "AND (CAST(state AS TEXT) ->> 'confirmed' "
        "OR NOT coalesce(CAST(spec AS TEXT) ->> '$.resume.fork', 0))",
        (agent, native_session_id),
    ).fetchone()
    return None if found is None else str(found[0])


def unfinished(db: sqlite3.Connection) -> list[str]:
    """Sessions in which something is open, or a message waits."""
    found = db.execute(
        "SELECT session_id FROM sessions WHERE unfinished AND NOT deleted UNION "
        "SELECT s.session_id FROM messages m JOIN sessions s ON s.n = m.session "
        "WHERE m.state = 'queued' AND NOT s.deleted AND s.status <> 'ended'"
    )
    return [session_id for (session_id,) in found]


def _session_row(found: tuple[Any, ...]) -> SessionRow:
    return SessionRow(
        session_id=found[0],
        create=_spec.decode(found[1]),
        directory=found[2],
        state=_state.decode(found[3]),
        event_count=found[4],
        created_at=found[5],
        updated_at=found[6],
        position=found[7],
        queued=found[8],
        link=found[9] or ORIGIN,
    )


# --- Messages ---


def accept(
    db: sqlite3.Connection, session: int, message: MessageRow, refuse: RequestError | None = None
) -> Receipt:
    """Keep a message once for its key. Raise KeyReused, SessionEnded; `refuse` if it is new."""
    digest = hashlib.sha256(encode((message.text, message.attachments))).digest()
    if message.key is not None:
        known = db.execute(
            "SELECT message_id, digest FROM messages WHERE session = ? AND key = ?",
            (session, message.key),
        ).fetchone()
        if known is not None and known[1] != digest:
            raise KeyReused("this Idempotency-Key came with another message before; use a new key")
        if known is not None:
            return Receipt(message_id=known[0], fresh=False)
    (status, session_id) = db.execute(
        "SELECT status, session_id FROM sessions WHERE n = ?", (session,)
    ).fetchone()
    if status == "ended":
        raise SessionEndedError(session_id)
    if refuse is not None:
        raise refuse
    body = StoredMessage(
        text=message.text,
        attachments=message.attachments,
        created_at=message.created_at,
        steer=message.steer,
    )
    db.execute(
        "INSERT INTO messages (message_id, session, state, key, digest, body) "
        "VALUES (?, ?, 'queued', ?, ?, ?)",
        (message.message_id, session, message.key, digest, encode(body)),
    )
    return Receipt(message_id=message.message_id, fresh=True)


def mark(db: sqlite3.Connection, state: MessageState, message_ids: Sequence[str]) -> None:
    """These messages wait no more."""
    for message_id in message_ids:
        db.execute("UPDATE messages SET state = ? WHERE message_id = ?", (state, message_id))


def ensure_queued(db: sqlite3.Connection, session: int, message_id: str) -> None:
    """Raise NotFound or Conflict unless the message still waits."""
    found = db.execute(
        "SELECT state FROM messages WHERE message_id = ? AND session = ?", (message_id, session)
    ).fetchone()
    if found is None:
        raise NotFound(f"there is no message {message_id!r} in this session")
    if found[0] != "queued":
        raise Conflict(f"message {message_id} was {found[0]} already", state=found[0])


def queued(db: sqlite3.Connection, session_id: str) -> list[MessageRow]:
    """The messages that wait, in order."""
    found = db.execute(
        "SELECT m.message_id, m.body, m.key FROM messages m JOIN sessions s ON s.n = m.session "
        "WHERE s.session_id = ? AND m.state = 'queued' ORDER BY m.position",
        (session_id,),
    )
    return [_message_row(*row) for row in found]


def _message_row(message_id: str, body: bytes, key: str | None) -> MessageRow:
    stored = msgspec.json.decode(body, type=StoredMessage)
    return MessageRow(
        message_id=message_id,
        text=stored.text,
        attachments=stored.attachments,
        created_at=stored.created_at,
        key=key,
        steer=stored.steer,
    )


# --- Processes ---


def insert_process(db: sqlite3.Connection, row: ProcessRow) -> None:
    """Remember a process."""
    db.execute(
        "INSERT OR REPLACE INTO processes (mark, pid, started, boot) VALUES (?, ?, ?, ?)",
        (row.mark, row.pid, row.started, row.boot),
    )


def forget_processes(db: sqlite3.Connection, mark: str) -> None:
    """Forget the processes of a mark; of all that begin so, where it ends in `:`; "" is all."""
    if not mark or mark.endswith(":"):
        db.execute("DELETE FROM processes WHERE substr(mark, 1, ?) = ?", (len(mark), mark))
    else:
        db.execute("DELETE FROM processes WHERE mark = ?", (mark,))


def processes(db: sqlite3.Connection) -> list[ProcessRow]:
    """The processes that nobody has seen end."""
    found = db.execute("SELECT mark, pid, started, boot FROM processes")
    return [ProcessRow(mark=m, pid=p, started=s, boot=b) for m, p, s, b in found]
