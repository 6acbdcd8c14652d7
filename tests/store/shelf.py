"""A real store for a test, and sessions and drafts to put into it."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from dragoman.core.fold import SessionState
from dragoman.schema.events import Draft, SessionEnded, SessionStarted, SessionUpdated
from dragoman.schema.http import CreateSession
from dragoman.store import Batch, MessageRow, SessionRow, open_store
from dragoman.store.schema import MIGRATIONS, connect, migrate
from dragoman.store.sqlite import DATABASE, SqliteStore

T = TypeVar("T")
ENDED = Draft(SessionEnded(reason="terminated", terminated_by="daemon"))


def using(data_dir: Path, work: Callable[[SqliteStore], Awaitable[T]]) -> T:
    """Open the store, do the work, close it; a new process could do no more."""

    async def run() -> T:
        store = open_store(data_dir)
        try:
            async with asyncio.timeout(30):
                return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def row(session_id: str, *, agent: str = "mock", **state: object) -> SessionRow:
    """A session as it is made."""
    return SessionRow(
        session_id=session_id,
        create=CreateSession(agent=agent),
        directory="/",
        state=msgspec.convert({"agent_mode": "build", **state}, SessionState),
        event_count=1,
        created_at=1000,
        updated_at=1000,
    )


async def create(store: SqliteStore, session_id: str, *, agent: str = "mock") -> None:
    """A session with its first event, ready for more."""
    metadata = {"agent": agent, "agentMode": "build", "directory": "/"}
    await store.create(row(session_id, agent=agent), [Draft(SessionStarted(metadata=metadata))])
    await store.watch(session_id)


def said(text: str, raw: bytes | None = None) -> Draft:
    """An event that carries a text."""
    return Draft(SessionUpdated(title=text), "agent", "native", raw)


def message(message_id: str, text: str = "hi", key: str | None = None) -> MessageRow:
    """A person's message."""
    return MessageRow(message_id=message_id, text=text, created_at=1, key=key)


def lines(frames: bytes) -> list[tuple[int, bytes]]:
    """Sequence and data of each SSE frame; the framing is checked, not parsed leniently."""
    found = []
    *blocks, rest = frames.split(b"\n\n")
    assert rest == b""
    for block in blocks:
        if block.startswith(b":"):
            continue
        first, second = block.split(b"\n")
        assert first.startswith(b"id: ")
        assert second.startswith(b"data: ")
        found.append((int(first.removeprefix(b"id: ")), second.removeprefix(b"data: ")))
    return found


def links(frames: bytes) -> list[tuple[int, bytes]]:
    """Sequence and link of each comment about the hash chain."""
    found = []
    for block in frames.split(b"\n\n"):
        if block.startswith(b":"):
            word, sequence, link = block.removeprefix(b": ").split(b" ")
            assert word == b"chain"
            found.append((int(sequence), bytes.fromhex(link.decode())))
    return found


def recomputed(stored: Sequence[bytes]) -> list[bytes]:
    """The links of these lines, from the first on, as anybody can compute them."""
    found, link = [], bytes(16)
    for line in stored:
        link = hashlib.blake2b(link + line, digest_size=16).digest()
        found.append(link)
    return found


def titles(events: bytes) -> list[str]:
    """The texts of a page of events."""
    decoded = msgspec.json.decode(b"[" + events + b"]")
    return [event["data"].get("title", event["type"]) for event in decoded]


async def everything(store: SqliteStore, session_id: str, *, raw: bool = False) -> bytes:
    """All events that are stored, joined by commas."""
    pages, after = [], 0
    while True:
        page = await store.read(session_id, after, 10_000, raw=raw)
        if page.events:
            pages.append(page.events)
        after = page.last
        if not page.has_more:
            return b",".join(pages)


async def gather_until(batches: AsyncGenerator[Batch], last: int) -> bytes:
    """What a follower sees up to a sequence."""
    seen = b""
    async with aclosing(batches):
        async for batch in batches:
            seen += batch.frames
            if batch.last >= last:
                return seen
    return seen


@contextmanager
def outside(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """Somebody else's connection to the same database."""
    db = sqlite3.connect(data_dir / DATABASE, isolation_level=None)
    try:
        yield db
    finally:
        db.close()


@contextmanager
def refusing(data_dir: Path, when: str = "1") -> Iterator[None]:
    """The database refuses events for a while, as a full disk would."""
    with outside(data_dir) as db:
        db.execute(
            f"CREATE TRIGGER refuse BEFORE INSERT ON events WHEN {when} "
            "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
        try:
            yield
        finally:
            db.execute("DROP TRIGGER refuse")


def of_version_two(data_dir: Path) -> Path:
    """The same database as a daemon without a chain would have left it."""
    return of_version(data_dir, 2)


def of_version(data_dir: Path, version: int) -> Path:
    """The same database as an older daemon would have left it."""
    old = data_dir.with_name("old")
    old.mkdir()
    with closing(connect(old / DATABASE, synchronous="normal")) as db:
        migrate(db, old / DATABASE, MIGRATIONS[:version])
        db.execute("ATTACH ? AS new", (str(data_dir / DATABASE),))
        for table in ("sessions", "events", "messages", "requests", "processes"):
            names = ", ".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}")
    return old
