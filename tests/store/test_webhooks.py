"""Webhooks in the store: kept over restarts, repairs and versions, and what they read."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.errors import Unavailable
from dragoman.schema.events import Draft, ItemDelta, TurnEnded, TurnStarted
from dragoman.store import Append, EventFilter, LogEvent, WebhookRow, check
from dragoman.store.global_reader import FEW_EVENTS, MANY_EVENTS
from dragoman.store.repair.salvage import rescue
from dragoman.store.schema import connect
from dragoman.store.sqlite import DATABASE, SqliteStore
from tests.store.shelf import create, everything, of_version, outside, said, using

HOOK = WebhookRow(
    webhook_id="hook_1",
    url="https://example.com/x",
    types=("turn.*", "error"),
    secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    created_at=7,
    position=42,
)
OTHER = WebhookRow(
    webhook_id="hook_2",
    url="http://127.0.0.1/",
    types=(),
    secret=HOOK.secret,
    enabled=False,
    created_at=8,
    position=1 << 52,
    last_delivery_at=9,
    failing_since=10,
    attempts=11,
    last_error="the receiver answered 500",
)
PIECE = Draft(ItemDelta(item_id="i", delta="x"))


async def keep_both(store: SqliteStore) -> None:
    await store.webhooks.add(HOOK)
    await store.webhooks.add(OTHER)


async def kept(store: SqliteStore) -> list[WebhookRow]:
    return await store.webhooks.all()


def test_what_is_kept_is_there_after_a_restart(data_dir: Path) -> None:
    using(data_dir, keep_both)
    assert using(data_dir, kept) == [HOOK, OTHER]


def test_one_that_was_removed_does_not_come_back(data_dir: Path) -> None:
    moved = replace(OTHER, position=OTHER.position + 1, attempts=0, last_error=None, types=("*",))

    async def work(store: SqliteStore) -> None:
        await keep_both(store)
        await store.webhooks.remove(HOOK.webhook_id)
        await store.webhooks.save(replace(HOOK, position=43))
        await store.webhooks.save(moved)

    using(data_dir, work)
    assert using(data_dir, kept) == [moved]


def test_a_folder_of_the_version_before_opens(data_dir: Path) -> None:
    async def write(store: SqliteStore) -> bytes:
        await create(store, "s")
        await store.append(Append("s", [said("a")]))
        return await everything(store, "s")

    async def use(store: SqliteStore) -> bytes:
        assert await store.webhooks.all() == []
        await store.webhooks.add(HOOK)
        return await everything(store, "s")

    before = using(data_dir, write)
    old = of_version(data_dir, 3)
    assert using(old, use) == before
    assert using(old, kept) == [HOOK]
    assert (old / f"{DATABASE}.before-4").exists()


def test_a_repair_keeps_them(data_dir: Path) -> None:
    using(data_dir, keep_both)
    rescue(data_dir / DATABASE, data_dir / "rescued")
    (data_dir / "rescued").replace(data_dir / DATABASE)
    assert using(data_dir, kept) == [HOOK, OTHER]
    assert check(data_dir) == []


def test_a_repair_of_the_version_before_finds_none(data_dir: Path) -> None:
    using(data_dir, keep_both)
    old = of_version(data_dir, 3)
    rescue(old / DATABASE, old / "rescued")
    with closing(connect(old / "rescued", synchronous="normal")) as db:
        assert db.execute("SELECT count(*) FROM webhooks").fetchone() == (0,)


# --- Reading ---


async def walk(store: SqliteStore, which: EventFilter, after: int = 0) -> list[LogEvent]:
    """What somebody finds who goes from one event to the next."""
    found = []
    while True:
        event = await store.global_log.next_event(after, which)
        assert event.position >= after
        after = event.position
        if event.line:
            found.append(event)
        elif after >= store.global_log.position:
            return found


DRAFTS = {
    "delta": PIECE,
    "turn": Draft(TurnStarted(turn_id="t")),
    "end": Draft(TurnEnded(turn_id="t", outcome="completed")),
    "text": said("x" * 300),
}


@settings(max_examples=20, deadline=None)
@given(
    writes=st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(list(DRAFTS)), st.integers(1, 90)),
        max_size=12,
    ),
    types=st.frozensets(st.sampled_from(["item.delta", "turn.started", "session.updated"])),
    deleted=st.frozensets(st.sampled_from("abc"), max_size=2),
)
def test_from_event_to_event_one_meets_all_that_are_chosen_in_order(
    writes: list[tuple[str, str, int]], types: frozenset[str], deleted: frozenset[str]
) -> None:
    async def work(store: SqliteStore) -> None:
        for name in "abc":
            await create(store, name)
        for name, draft, count in writes:
            await store.append(Append(name, [DRAFTS[draft]] * count))
        for name in deleted:
            await store.delete(name)
        with outside(data_dir) as db:
            stored = db.execute("SELECT id, line FROM events ORDER BY id").fetchall()
        events = [LogEvent(*each) for each in stored if each[1]]
        expected = [each for each in events if is_chosen(each, types)]
        assert await walk(store, EventFilter(types=types)) == expected
        counted = await store.global_log.count_events(0, EventFilter(types=types))
        assert (counted.count, counted.is_least) == (len(expected), False)

    def is_chosen(event: LogEvent, types: frozenset[str]) -> bool:
        decoded = msgspec.json.decode(event.line)
        return decoded["session_id"] not in deleted and (not types or decoded["type"] in types)

    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        using(data_dir, work)


def test_a_long_stretch_of_deltas_takes_a_few_looks(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        start = store.global_log.position
        await store.append(Append("s", [PIECE] * 3 * MANY_EVENTS))
        await store.append(Append("s", [said("at last")]))
        which, after, looks = EventFilter(types=frozenset({"session.updated"})), start, 0
        while not (event := await store.global_log.next_event(after, which)).line:
            after, looks = event.position, looks + 1
        assert (event.position, looks) == (store.global_log.position, 2)
        assert after == start + 2 * (FEW_EVENTS + MANY_EVENTS)
        counted = await store.global_log.count_events(start, which)
        assert (counted.count, counted.is_least) == (0, True)

    using(data_dir, work)


def test_deltas_wake_only_who_wants_them(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        log = store.global_log
        begin = log.position
        wants_all = asyncio.create_task(log.wait_after(begin, deltas=True))
        wants_more = asyncio.create_task(log.wait_after(begin, deltas=False))
        await store.append(Append("s", [PIECE]))
        await wants_all
        assert not wants_more.done()
        await store.append(Append("s", [PIECE, said("more")]))
        await wants_more
        await log.wait_after(begin, deltas=False)

    using(data_dir, work)


def test_a_store_that_cannot_be_read_is_told_as_that(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        with outside(data_dir) as db:
            db.execute("ALTER TABLE events RENAME TO elsewhere")
        with pytest.raises(Unavailable, match="cannot be read"):
            await store.global_log.next_event(0)
        with outside(data_dir) as db:
            db.execute("ALTER TABLE elsewhere RENAME TO events")

    using(data_dir, work)
