"""The whole log: all sessions' events in the order of their commits, each once, for any reader."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.schema.events import AgentUnparsed, Draft, TurnEnded, TurnStarted
from dragoman.store import Append, Batch, EventFilter, check
from dragoman.store.global_log import EVERYTHING
from dragoman.store.live_tail import MAX_TAIL_BYTES
from dragoman.store.repair.salvage import rescue
from dragoman.store.sqlite import DATABASE, SqliteStore
from tests.store.shelf import ENDED, create, outside, refusing, said, using

Seen = list[tuple[int, dict[str, object]]]


def seen_in(frames: bytes) -> Seen:
    """Position and event of each frame; blocks of an id alone are no events."""
    found = []
    for block in frames.split(b"\n\n")[:-1]:
        first, _, rest = block.partition(b"\n")
        assert first.startswith(b"id: ")
        if rest:
            assert rest.startswith(b"data: {")
            found.append((int(first[4:]), msgspec.json.decode(rest[6:])))
    return found


async def drain(batches: AsyncGenerator[Batch]) -> Seen:
    """What a reader gets until it is let go."""
    return seen_in(b"".join([batch.frames async for batch in batches]))


async def up_to_now(store: SqliteStore, after: int = 0, which: EventFilter = EVERYTHING) -> Seen:
    """What is there after a position."""
    found = b""
    async with aclosing(store.global_log.follow(after, which)) as batches:
        async for batch in batches:
            found += batch.frames
            if batch.last >= store.global_log.position:
                break
    return seen_in(found)


async def listening() -> None:
    """Let readers that were just started take their place."""
    for _ in range(3):
        await asyncio.sleep(0)


def names(seen: Seen) -> list[tuple[object, object]]:
    return [(event["session_id"], event["sequence"]) for _, event in seen]


@settings(max_examples=25, deadline=None)
@given(
    writes=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(1, 40), st.booleans()),
        min_size=1,
        max_size=14,
    ),
    answers=st.lists(st.booleans(), max_size=30),
    length=st.sampled_from((1, 5000)),
)
def test_live_late_and_resumed_readers_see_the_same_log(
    writes: list[tuple[str, int, bool]], answers: list[bool], length: int
) -> None:
    async def work(store: SqliteStore) -> None:
        sunk: list[bytes] = []
        left = iter(answers)

        def sink(frames: bytes) -> bool:
            takes = next(left, True)
            if takes:
                sunk.append(frames)
            return takes

        async def with_sink() -> Seen:
            async for batch in store.global_log.follow(0, sink=sink):
                sunk.append(batch.frames)
            return seen_in(b"".join(sunk))

        live = asyncio.create_task(drain(store.global_log.follow(0)))
        given_sink = asyncio.create_task(with_sink())
        await listening()
        for name in "abc":
            await create(store, name)
        waiting = []
        for name, size, waits in writes:
            waiting.append(store.append(Append(name, [said("é" * length) for _ in range(size)])))
            if waits:
                await waiting[-1]
                store.notify_all()
        await asyncio.gather(*waiting)
        whole = await up_to_now(store)
        resumed = [await up_to_now(store, position) for position, _ in whole[:: len(whole) // 4]]
        store.end_followers()
        assert await live == whole
        assert await given_sink == whole
        positions = [position for position, _ in whole]
        assert positions == sorted(set(positions))
        for name in "abc":
            mine = [sequence for session, sequence in names(whole) if session == name]
            assert mine == list(range(1, len(mine) + 1))
        for at, found in zip(range(0, len(whole), len(whole) // 4), resumed, strict=True):
            assert found == whole[at + 1 :]

    with tempfile.TemporaryDirectory() as folder:
        using(Path(folder), work)


def test_a_reader_from_now_on_is_told_where_it_stands_before_anything_comes(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        now = store.global_log.position
        async with aclosing(store.global_log.follow(now)) as batches:
            assert (await anext(batches)).frames == b"id: %d\n\n" % now

    using(data_dir, work)


def test_a_ring_tells_a_silent_reader_where_it_stands(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        only_ends = EventFilter(types=frozenset({"session.ended"}))
        async with aclosing(
            store.global_log.follow(store.global_log.position, only_ends)
        ) as batches:
            await anext(batches)
            waiting = asyncio.ensure_future(anext(batches))
            await listening()
            await store.append(Append("s", [said("not chosen")]))
            await listening()
            store.notify_all()
            assert (await waiting).frames == b"id: %d\n\n" % store.global_log.position

    using(data_dir, work)


def test_positions_go_on_where_the_newest_events_were_deleted(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> tuple[int, Seen]:
        await create(store, "stays")
        await create(store, "goes")
        await store.append(Append("goes", [said("x") for _ in range(20)]))
        cursor = store.global_log.position
        await store.delete("goes")
        await store.append(Append("stays", [said("after the delete")]))
        found = await up_to_now(store, cursor)
        assert names(found) == [("stays", 2)]
        assert names(await up_to_now(store)) == [("stays", 1), ("stays", 2)]
        return cursor, found

    async def again(store: SqliteStore) -> None:
        await store.watch("stays")
        await store.append(Append("stays", [said("after the restart")]))
        assert names(await up_to_now(store, cursor)) == [("stays", 2), ("stays", 3)]

    async def delete_newest(store: SqliteStore) -> int:
        await create(store, "last")
        end = store.global_log.position
        await store.delete("last")
        return end

    async def after_all(store: SqliteStore) -> None:
        await create(store, "new")
        assert names(await up_to_now(store, end)) == [("new", 1)]

    cursor, _ = using(data_dir, work)
    using(data_dir, again)
    end = using(data_dir, delete_newest)
    using(data_dir, after_all)


def test_positions_go_on_also_where_the_clock_went_back_after_a_delete(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "goes")

    async def delete(store: SqliteStore) -> None:
        await store.delete("goes")

    async def go_on(store: SqliteStore) -> Seen:
        await create(store, "new")
        return await up_to_now(store)

    using(data_dir, work)
    ahead = 1 << 52
    with outside(data_dir) as db:
        db.execute("UPDATE events SET id = ?", (ahead,))
    using(data_dir, delete)
    with outside(data_dir) as db:
        assert db.execute("SELECT sum(length(line)) FROM events").fetchone() == (0,)
    assert check(data_dir) == []
    ((position, event),) = using(data_dir, go_on)
    assert (position, event["session_id"]) == (ahead + 1, "new")


def test_a_cursor_survives_a_database_that_was_put_back(data_dir: Path) -> None:
    async def before(store: SqliteStore) -> None:
        await create(store, "s")

    async def lost(store: SqliteStore) -> int:
        await store.watch("s")
        await store.append(Append("s", [said("lost") for _ in range(50)]))
        return store.global_log.position

    async def restored(store: SqliteStore) -> None:
        await store.watch("s")
        await store.append(Append("s", [said("new")]))
        found = await up_to_now(store, cursor)
        assert [event["data"] for _, event in found] == [{"title": "new"}]

    using(data_dir, before)
    kept = (data_dir / DATABASE).read_bytes()
    cursor = using(data_dir, lost)
    (data_dir / DATABASE).write_bytes(kept)
    using(data_dir, restored)


def test_what_is_rescued_stays_where_it_was_among_all(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> Seen:
        for name in "ab":
            await create(store, name)
        for at in range(10):
            await store.append(Append("ab"[at % 2], [said(str(at))]))
        return await up_to_now(store)

    async def look(store: SqliteStore) -> Seen:
        return await up_to_now(store)

    whole = using(data_dir, work)
    rescue(data_dir / DATABASE, data_dir / "rescued")
    (data_dir / "rescued").replace(data_dir / DATABASE)
    assert using(data_dir, look) == whole


def test_a_position_that_cannot_be_is_given_anew_by_a_rescue(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("x")]))

    async def go_on(store: SqliteStore) -> list[tuple[object, object]]:
        await store.watch("s")
        await store.append(Append("s", [said("y")]))
        return names(await up_to_now(store))

    using(data_dir, work)
    with outside(data_dir) as db:
        db.execute("UPDATE events SET id = ? WHERE sequence = 2", (2**63 - 1,))
    rescue(data_dir / DATABASE, data_dir / "rescued")
    (data_dir / "rescued").replace(data_dir / DATABASE)
    assert using(data_dir, go_on) == [("s", 1), ("s", 2), ("s", 3)]


def test_filters_choose_the_same_live_and_late(data_dir: Path) -> None:
    choices = (
        EventFilter(agents=frozenset({"other"})),
        EventFilter(session_ids=frozenset({"a", "c"})),
        EventFilter(types=frozenset({"session.ended", "session.started"})),
        EventFilter(agents=frozenset({"mock", "nobody"}), types=frozenset({"session.updated"})),
        EventFilter(agents=frozenset({"nobody"})),
    )

    async def work(store: SqliteStore) -> None:
        live = [asyncio.create_task(drain(store.global_log.follow(0, each))) for each in choices]
        await listening()
        for name, agent in (("a", "mock"), ("b", "other"), ("c", "mock")):
            await create(store, name, agent=agent)
        for at in range(30):
            # What an agent says cannot pass for the type of an event.
            tricky = Draft(
                AgentUnparsed(error='"type":"session.ended"', location="x", raw_hash=None)
            )
            await store.append(Append("abc"[at % 3], [said('{"type":"session.ended"}'), tricky]))
        await store.append(Append("b", [ENDED]))
        whole = await up_to_now(store)
        store.end_followers()
        for which, reader in zip(choices, live, strict=True):
            late = await up_to_now(store, 0, which)
            assert await reader == late
            assert late == [each for each in whole if _is_chosen(each[1], which)]
        assert len(whole) == 64

    using(data_dir, work)


def _is_chosen(event: dict[str, object], which: EventFilter) -> bool:
    agent = "other" if event["session_id"] == "b" else "mock"
    return (
        (not which.agents or agent in which.agents)
        and (not which.session_ids or event["session_id"] in which.session_ids)
        and (not which.types or event["type"] in which.types)
    )


def test_a_failed_write_is_shown_to_nobody(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        reader = asyncio.create_task(drain(store.global_log.follow(0)))
        await listening()
        with refusing(data_dir):
            await asyncio.gather(store.append(Append("s", [said("lost")])), return_exceptions=True)
            assert (await store.stats()).problem is not None
        await store.append(Append("s", [said("kept")]))
        assert (await store.stats()).problem is None
        store.end_followers()
        assert names(await reader) == [("s", 1), ("s", 2)]

    using(data_dir, work)


def test_a_slow_reader_misses_nothing_and_memory_keeps_only_a_short_tail(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        async with aclosing(store.global_log.follow(0)) as batches:
            found = (await anext(batches)).frames
            for _ in range(60):  # while it does not take anything
                await store.append(Append("s", [said("x" * 10_000) for _ in range(20)]))
            assert store.global_log._tail._tail_bytes <= MAX_TAIL_BYTES
            store.end_followers()
            async for batch in batches:
                assert len(batch.frames) < MAX_TAIL_BYTES
                found += batch.frames
        assert [sequence for _, sequence in names(seen_in(found))] == list(range(1, 1202))
        assert store.global_log.readers == 0

    using(data_dir, work)


def test_a_deleted_session_is_not_shown_to_who_is_behind(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        async with aclosing(store.global_log.follow(0)) as batches:
            await anext(batches)
            await create(store, "stays")
            await create(store, "goes")
            await store.delete("goes")
            assert names(seen_in((await anext(batches)).frames)) == [("stays", 1)]

    using(data_dir, work)


def test_native_messages_come_with_their_events_where_they_are_wanted(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        live = asyncio.create_task(drain(store.global_log.follow(0, raw=True)))
        await listening()
        await create(store, "s")
        native = b'{"said":"%s"}' % (b"x" * 3000)
        await store.append(Append("s", [said("one", native), said("x" * 3000, native)]))
        late = []
        async with aclosing(store.global_log.follow(0, raw=True)) as batches:
            async for batch in batches:
                late += seen_in(batch.frames)
                if len(late) == 3:
                    break
        store.end_followers()
        assert await live == late
        assert [event["raw"] for _, event in late] == [None, *[{"said": "x" * 3000}] * 2]

    using(data_dir, work)


def test_an_older_database_has_its_events_in_the_order_they_were_written(data_dir: Path) -> None:
    """Before there were positions, rows were simply counted."""

    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("x") for _ in range(5)]))

    async def go_on(store: SqliteStore) -> None:
        await store.watch("s")
        await store.append(Append("s", [said("y")]))
        found = await up_to_now(store)
        assert [position for position, _ in found][:6] == [1, 2, 3, 4, 5, 6]
        assert names(found)[-1] == ("s", 7)

    using(data_dir, work)
    with outside(data_dir) as db:
        db.execute("UPDATE events SET id = sequence")
    using(data_dir, go_on)


def test_what_happens_is_counted(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [Draft(TurnStarted(turn_id="t"))]))
        unparsed = Draft(AgentUnparsed(error="?", location="x", raw_hash=None))
        ended = Draft(TurnEnded(turn_id="t", outcome="completed"))
        async with aclosing(store.global_log.follow(0)) as batches:
            await anext(batches)
            await store.append(Append("s", [unparsed, ended]))
        counters, stats = store.counters, await store.stats()
        assert (counters.events, counters.turns_started, counters.unparsed) == (4, 1, 1)
        assert dict(counters.turns_ended) == {"completed": 1}
        assert sum(counters.commit.counts) >= 3
        assert sum(counters.fanout.counts) == 1
        assert (stats.events, stats.sessions["idle"], stats.queued) == (4, 1, 0)
        assert stats.database_bytes + stats.log_bytes > 0

    using(data_dir, work)
