"""Following: a reader is a position. Live, late, resumed and slow give the same bytes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import SessionNotFound
from dragoman.store import Append, Batch
from dragoman.store.live_tail import MAX_TAIL_BYTES
from dragoman.store.sqlite import SqliteStore
from tests.store.shelf import (
    ENDED,
    create,
    everything,
    gather_until,
    lines,
    links,
    refusing,
    said,
    using,
)


async def follow_all(store: SqliteStore, after: int = 0, *, raw: bool = False) -> bytes:
    """Everything that a reader gets until it is let go."""
    return await drain(store.follow("s", after, raw=raw))


async def drain(batches: AsyncGenerator[Batch]) -> bytes:
    """What a reader gets from now on until it is let go."""
    return b"".join([batch.frames async for batch in batches])


async def listening() -> None:
    """Let readers that were just started take their place: they do so before they first wait."""
    await asyncio.sleep(0)


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    starts=st.lists(st.integers(0, 100), min_size=1, max_size=4),
    length=st.sampled_from((1, 50, 5000)),
)
def test_live_from_memory_and_late_from_the_file_give_the_same_events(
    sizes: list[int], starts: list[int], length: int
) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        early = asyncio.create_task(follow_all(store))
        await listening()
        resumed: list[tuple[int, asyncio.Task[bytes]]] = []
        for at, size in enumerate(sizes):
            last = await store.append(
                Append("s", [said(f"{at}-" + "é" * length) for _ in range(size)])
            )
            if at < len(starts):
                after = min(starts[at], last)
                resumed.append((after, asyncio.create_task(follow_all(store, after))))
        await store.append(Append("s", [ENDED]))
        live = await early
        late = await follow_all(store)
        assert lines(live) == lines(late)
        for after, reader in resumed:
            assert lines(await reader) == lines(late)[after:]
        stored = b",".join(line for _, line in lines(late))
        assert stored == await everything(store, "s")

    with tempfile.TemporaryDirectory() as folder:
        using(Path(folder), work)


@settings(max_examples=30, deadline=None)
@given(
    answers=st.lists(st.booleans(), max_size=30),
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=20),
    pauses=st.lists(st.integers(0, 3), min_size=20, max_size=20),
)
def test_a_reader_with_a_sink_gets_each_event_once_and_in_order(
    answers: list[bool], sizes: list[int], pauses: list[int]
) -> None:
    """Some frames go into the sink, the rest comes as batches: together they are the log."""
    seen: list[bytes] = []
    left = iter(answers)

    def sink(frames: bytes) -> bool:
        takes = next(left, True)
        if takes:
            seen.append(frames)
        return takes

    async def read(store: SqliteStore) -> None:
        async for batch in store.follow("s", 0, sink=sink):
            seen.append(batch.frames)

    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        reader = asyncio.create_task(read(store))
        waiting = []
        for size, pause in zip(sizes, pauses, strict=False):
            waiting.append(store.append(Append("s", [said("x") for _ in range(size)])))
            for _ in range(pause):
                await asyncio.sleep(0)
            if pause == 3:
                store.notify_all()
                await waiting[-1]
        await store.append(Append("s", [ENDED]))
        await reader
        assert lines(b"".join(seen)) == lines(await follow_all(store))

    with tempfile.TemporaryDirectory() as folder:
        using(Path(folder), work)


def test_a_reader_that_comes_with_nothing_new_waits_for_the_bell(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        async with aclosing(store.follow("s", 1, raw=False)) as batches:
            waiting = asyncio.ensure_future(anext(batches))
            await listening()
            assert not waiting.done()
            await store.append(Append("s", [said("now")]))
            batch = await waiting
            assert (batch.last, [at for at, _ in lines(batch.frames)]) == (2, [2])

    using(data_dir, work)


def test_a_ring_without_news_tells_only_the_last_link(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        async with aclosing(store.follow("s", 1, raw=False)) as batches:
            waiting = asyncio.ensure_future(anext(batches))
            await listening()
            store.notify_all()
            batch = await waiting
            link = await store.link("s", 1)
            assert (lines(batch.frames), links(batch.frames), batch.last) == ([], [(1, link)], 1)

    using(data_dir, work)


def test_readers_at_the_same_place_share_one_object(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        readers = [store.follow("s", 1, raw=False) for _ in range(20)]
        waiting = [asyncio.ensure_future(anext(reader)) for reader in readers]
        await listening()
        await store.append(Append("s", [said("x" * 1000)]))
        batches = await asyncio.gather(*waiting)
        assert len({id(batch.frames) for batch in batches}) == 1
        for reader in readers:
            await reader.aclose()

    using(data_dir, work)


def test_a_slow_reader_misses_nothing_and_memory_keeps_only_a_short_tail(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        async with aclosing(store.follow("s", 0, raw=False)) as batches:
            seen = (await anext(batches)).frames
            for _ in range(60):  # while it does not take anything
                await store.append(Append("s", [said("x" * 10_000) for _ in range(20)]))
            assert store._feeds["s"]._tail_bytes <= MAX_TAIL_BYTES
            await store.append(Append("s", [ENDED]))
            async for batch in batches:
                seen += batch.frames
        assert [sequence for sequence, _ in lines(seen)] == list(range(1, 1203))

    using(data_dir, work)


def test_a_failed_write_is_shown_to_nobody(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        reader = asyncio.create_task(follow_all(store, 1))
        await listening()
        with refusing(data_dir):
            await asyncio.gather(store.append(Append("s", [said("lost")])), return_exceptions=True)
        await store.append(Append("s", [said("kept")]))
        await store.append(Append("s", [ENDED]))
        seen = await reader
        assert b"lost" not in seen
        assert [sequence for sequence, _ in lines(seen)] == [2, 3]

    using(data_dir, work)


def test_following_ends_after_the_session_has_ended(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> bytes:
        await create(store, "s")
        live = asyncio.create_task(follow_all(store))
        await listening()
        await store.append(Append("s", [said("x"), ENDED]))
        assert lines(await live) == lines(await follow_all(store))
        assert await follow_all(store, 3) == b""
        return await follow_all(store)

    async def again(store: SqliteStore) -> bytes:
        # Reading needs no `watch`, also in a new process.
        assert await store.position("s") == (3, True)
        return await follow_all(store)

    async def ended(store: SqliteStore) -> None:
        await store.watch("s")
        state = await store.session("s")
        assert state is not None
        state.state.ended = True
        await store.append(Append("s", [], state=state.state))

    seen = using(data_dir, work)
    using(data_dir, ended)
    assert using(data_dir, again) == seen


def test_following_ends_when_the_session_is_deleted(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        async with aclosing(store.follow("s", 0, raw=False)) as batches:
            assert (await anext(batches)).last == 1
            rest = asyncio.create_task(drain(batches))
            await listening()
            await store.delete("s")
            assert lines(await rest) == []
        with pytest.raises(SessionNotFound):
            await follow_all(store)

    using(data_dir, work)


def test_a_reader_that_is_reading_when_its_session_is_deleted_is_let_go(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        for at in range(50):
            name = f"s{at}"
            await create(store, name)
            readers = [asyncio.create_task(read(store, name)) for _ in range(5)]
            for _ in range(at % 4):
                await asyncio.sleep(0)
            await store.delete(name)
            await asyncio.gather(*readers)

    async def read(store: SqliteStore, session_id: str) -> None:
        try:
            await drain(store.follow(session_id, 0, raw=False))
        except SessionNotFound:
            assert await store.session(session_id) is None

    using(data_dir, work)


def test_a_stopping_daemon_lets_readers_go_once_they_have_seen_all(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        reader = asyncio.create_task(follow_all(store))
        await listening()
        await store.append(Append("s", [said("last words")]))
        store.end_followers()
        assert [at for at, _ in lines(await reader)] == [1, 2]

    using(data_dir, work)


def test_a_reader_of_native_messages_gets_the_same_live_and_late(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        live = asyncio.create_task(follow_all(store, raw=True))
        await listening()
        for at in range(20):
            native = b'{"at":%d}' % at
            await store.append(Append("s", [said("a", native), said("b", native)]))
        await store.append(Append("s", [ENDED]))
        seen = await live
        assert lines(seen) == lines(await follow_all(store, raw=True))
        assert seen.count(b'"raw":{"at":7}}') == 2

    using(data_dir, work)


def test_many_readers_that_come_and_go_leave_nothing_behind(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("x") for _ in range(50)]))
        for _ in range(20):
            await asyncio.gather(
                *(gather_until(store.follow("s", at, raw=False), 51) for at in range(50))
            )
        assert store._feeds["s"].readers == 0

    using(data_dir, work)
