"""Appending: stamped, numbered without a hole, committed together, and free again if it fails."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import SessionExists, StorageFull
from dragoman.schema.events import decode
from dragoman.store import Append
from dragoman.store.schema import PAGE_SIZE
from dragoman.store.sqlite import DATABASE, SqliteStore
from tests.store.shelf import create, everything, outside, refusing, said, titles, using

WAL_HEADER, FRAME_HEADER = 32, 24


def commits(data_dir: Path) -> int:
    """How often was committed: a frame that ends a transaction says how large the file is then."""
    wal = (data_dir / f"{DATABASE}-wal").read_bytes()
    starts = range(WAL_HEADER, len(wal), FRAME_HEADER + PAGE_SIZE)
    return sum(struct.unpack_from(">I", wal, at + 4)[0] != 0 for at in starts)


def test_append_resolves_to_the_last_sequence_and_numbers_without_a_hole(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        assert await store.append(Append("s", [said("a"), said("b")])) == 3
        assert await store.append(Append("s", [said("c")])) == 4
        assert store.sequence("s") == 4
        assert await store.position("s") == (4, False)
        events = msgspec.json.decode(b"[" + await everything(store, "s") + b"]")
        assert [event["sequence"] for event in events] == [1, 2, 3, 4]

    using(data_dir, work)


def test_an_event_is_stamped_once_and_survives_a_new_store_byte_for_byte(data_dir: Path) -> None:
    async def write(store: SqliteStore) -> bytes:
        await create(store, "s")
        await store.append(Append("s", [said("a"), said("ü\u2028")]))
        return await everything(store, "s")

    async def read(store: SqliteStore) -> bytes:
        return await everything(store, "s")

    written = using(data_dir, write)
    assert using(data_dir, read) == written
    event = decode(msgspec.json.decode(b"[" + written + b"]", type=list[msgspec.Raw])[1])
    assert (event.session_id, event.native_session_id) == ("s", "native")
    assert (event.source, event.synthetic) == ("agent", False)
    assert event.event_id.startswith("evt_")
    assert event.time.endswith("Z")


def test_appends_that_wait_together_are_committed_together(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        for number in range(10):
            await create(store, f"s{number}")
        with outside(data_dir) as db:
            before = commits(data_dir)
            db.execute("BEGIN IMMEDIATE")  # the writer waits while this is held
            waiting = [store.append(Append(f"s{at % 10}", [said(f"{at}")])) for at in range(1000)]
            db.execute("ROLLBACK")
        await asyncio.gather(*waiting)
        assert 1 <= commits(data_dir) - before <= 2
        assert [future.result() for future in waiting[::10]] == list(range(2, 102))

    using(data_dir, work)


def test_a_batch_of_any_size_is_stored_whole_and_in_order(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        wanted = ["session.started"]
        for size in (1, 3, 4, 31, 33, 255, 256, 257, 300):
            texts = [f"{size}-{at}" for at in range(size)]
            wanted += texts
            await store.append(Append("s", [said(text) for text in texts]))
        assert titles(await everything(store, "s")) == wanted

    using(data_dir, work)


def test_a_refused_write_stores_nothing_and_frees_its_sequences(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("before")]))
        with refusing(data_dir):
            with pytest.raises(StorageFull, match="no room"):
                await store.append(Append("s", [said("x"), said("y")]))
            assert await store.position("s") == (2, False)
        assert store.sequence("s") == 2
        assert await store.append(Append("s", [said("after")])) == 3
        assert titles(await everything(store, "s")) == ["session.started", "before", "after"]

    using(data_dir, work)


def test_what_was_numbered_after_a_failed_write_fails_too_and_no_hole_is_left(
    data_dir: Path,
) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        with refusing(data_dir, "instr(new.line, 'poison')"):
            futures = [
                store.append(Append("s", [said(text)])) for text in ("good", "poison", "late")
            ]
            results = await asyncio.gather(*futures, return_exceptions=True)
        assert results[0] == 2
        assert [type(result) for result in results[1:]] == [StorageFull, StorageFull]
        assert store.sequence("s") == 2
        assert await store.append(Append("s", [said("next")])) == 3
        assert titles(await everything(store, "s")) == ["session.started", "good", "next"]

    using(data_dir, work)


def test_a_failed_write_costs_no_other_session_its_own(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "good")
        await create(store, "bad")
        with refusing(data_dir, "instr(new.line, 'poison')"), outside(data_dir) as db:
            db.execute("BEGIN IMMEDIATE")  # so that they are one group
            bad = store.append(Append("bad", [said("poison")]))
            good = [store.append(Append("good", [said(f"{at}")])) for at in range(20)]
            db.execute("ROLLBACK")
            with pytest.raises(StorageFull):
                await bad
            assert [await future for future in good] == list(range(2, 22))

    using(data_dir, work)


def test_an_id_is_never_free_again(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        with pytest.raises(SessionExists):
            await create(store, "s")
        await store.delete("s")
        with pytest.raises(SessionExists):
            await create(store, "s")
        assert await store.session("s") is None

    using(data_dir, work)


def test_an_append_is_in_the_file_when_it_resolves(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        for count in range(2, 30):
            assert await store.append(Append("s", [said("x")])) == count
            with outside(data_dir) as db:
                assert db.execute("SELECT count(*) FROM events").fetchone() == (count,)

    using(data_dir, work)
