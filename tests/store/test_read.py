"""Pages: the stored bytes, in order, with the native message spliced in where it is asked for."""

from __future__ import annotations

import base64
import sqlite3
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import SessionNotFound
from dragoman.schema.events import Draft, SessionUpdated
from dragoman.store import Append
from dragoman.store.reader import MAX_BATCH_BYTES, MAX_PAGE_BYTES
from dragoman.store.schema import connect_reader
from dragoman.store.sqlite import SqliteStore
from tests.daemon import running
from tests.store.shelf import (
    create,
    everything,
    gather_until,
    lines,
    outside,
    said,
    titles,
    using,
)


def test_pages_follow_each_other_without_a_gap(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said(f"{at}") for at in range(2, 26)]))
        first = await store.read("s", 0, 10, raw=False)
        second = await store.read("s", first.last, 10, raw=False)
        third = await store.read("s", second.last, 10, raw=False)
        assert [page.last for page in (first, second, third)] == [10, 20, 25]
        assert [page.has_more for page in (first, second, third)] == [True, True, False]
        joined = b",".join(page.events for page in (first, second, third))
        assert joined == await everything(store, "s")

    using(data_dir, work)


def test_a_page_beyond_the_end_is_empty(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        page = await store.read("s", 99, 10, raw=False)
        assert (page.events, page.last, page.has_more) == (b"", 99, False)

    using(data_dir, work)


def test_reading_a_session_that_is_not_there_is_refused(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        with pytest.raises(SessionNotFound):
            await store.read("nobody", 0, 10, raw=False)

    using(data_dir, work)


def test_a_native_message_is_stored_once_and_shown_with_each_of_its_events(data_dir: Path) -> None:
    native = b'{"type":"x","n":1e3,"s":"\\u00e9"}'

    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said(text, native) for text in "abc"]))
        with outside(data_dir) as db:
            stored = db.execute("SELECT count(raw), count(raw_at) FROM events").fetchone()
            assert stored == (1, 2)
        shown = msgspec.json.decode(
            b"[" + await everything(store, "s", raw=True) + b"]", type=list[dict[str, msgspec.Raw]]
        )
        assert [bytes(event["raw"]) for event in shown] == [b"null", native, native, native]
        assert [list(event)[-1] for event in shown] == ["raw"] * 4

    using(data_dir, work)


def test_equal_native_messages_are_still_two_messages(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("a", b"[1]"), said("b", bytes(bytearray(b"[1]")))]))
        with outside(data_dir) as db:
            assert db.execute("SELECT count(raw) FROM events").fetchone() == (2,)

    using(data_dir, work)


@pytest.mark.parametrize(
    "native", [b"\xff\xfe no json", b'{"a":1}\r', b"[" * 100_000, b"", b'"\\ud83d"']
)
def test_what_is_not_json_is_shown_in_base64(data_dir: Path, native: bytes) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("a", native), said("b", native)]))
        events = msgspec.json.decode(b"[" + await everything(store, "s", raw=True) + b"]")
        for event in events[1:]:
            assert event["raw"]["encoding"] == "base64"
            assert base64.b64decode(event["raw"]["data"]) == native

    using(data_dir, work)


def test_without_raw_the_same_events_end_in_null(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("a", b"[1]")]))
        plain = (await store.read("s", 1, 1, raw=False)).events
        spliced = (await store.read("s", 1, 1, raw=True)).events
        assert plain.endswith(b'"raw":null}')
        assert spliced == plain.removesuffix(b"null}") + b"[1]}"

    using(data_dir, work)


def test_large_events_make_a_page_shorter_but_never_empty(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("x" * (1 << 20)) for _ in range(20)]))
        await store.append(Append("s", [said("y" * (MAX_PAGE_BYTES + 1))]))
        after, seen = 0, []
        while after < 22:
            page = await store.read("s", after, 1000, raw=False)
            assert page.last > after
            alone = page.last == after + 1
            assert len(page.events) <= MAX_PAGE_BYTES or alone
            seen += [len(title) for title in titles(page.events)]
            after = page.last
        assert seen == [len("session.started"), *[1 << 20] * 20, MAX_PAGE_BYTES + 1]

    using(data_dir, work)


def test_the_native_message_counts_in_the_size_of_a_page(data_dir: Path) -> None:
    native = b'"' + b"n" * (3 << 20) + b'"'

    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("a", native) for _ in range(5)]))
        assert (await store.read("s", 0, 100, raw=False)).last == 6
        page = await store.read("s", 0, 100, raw=True)
        assert page.has_more
        assert len(page.events) <= MAX_PAGE_BYTES

    using(data_dir, work)


def test_large_events_are_followed_in_bounded_batches(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("x" * (1 << 20)) for _ in range(5)]))
        async for batch in store.follow("s", 1, raw=False):
            assert len(batch.frames) < MAX_BATCH_BYTES + (1 << 20)
            if batch.last == 6:
                break

    using(data_dir, work)


def test_rows_are_joined_by_sequence_whatever_the_order_on_disk(data_dir: Path) -> None:
    """SQLite promises no order to `group_concat` over a bare table; the subquery must give it."""

    async def work(store: SqliteStore) -> bytes:
        await create(store, "s")
        await create(store, "other")
        for at in range(2, 600):
            await store.append(Append("s", [said(f"{at}")]))
            await store.append(Append("other", [said(f"o{at}")]))
        return await everything(store, "s")

    async def shuffled(store: SqliteStore) -> tuple[bytes, bytes]:
        return (
            await everything(store, "s"),
            await gather_until(store.follow("s", 0, raw=False), 599),
        )

    before = using(data_dir, work)
    with outside(data_dir) as db:
        # The same events, under ids that run backwards.
        db.execute("UPDATE events SET id = -id")
    page, frames = using(data_dir, shuffled)
    assert page == before
    assert titles(page)[1:] == [f"{at}" for at in range(2, 600)]
    assert [sequence for sequence, _ in lines(frames)] == list(range(1, 600))


def test_bodies_are_given_in_order_after_a_sequence(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        drafts = [Draft(SessionUpdated(title=f"{at}")) for at in range(2, 12)]
        await store.append(Append("s", drafts))
        assert await store.bodies("s", 5) == [draft.body for draft in drafts[4:]]

    using(data_dir, work)


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    odd = tmp_path / "50%41 #1? & more"
    with running(odd) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo hi")
    with running(odd) as daemon:
        assert daemon.events("s")[-1]["type"] == "turn.ended"


def test_who_has_not_read_yet_reads_on_after_the_file_is_removed(data_dir: Path) -> None:
    """Before, `GET /v1/status` was 500 where one of two threads had had nothing to read so far."""
    data_dir.mkdir(parents=True)
    writer = sqlite3.connect(data_dir / "a.db", isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (x)")
    reader = connect_reader(data_dir / "a.db")
    (data_dir / "a.db").unlink()
    assert reader.execute("SELECT count(*) FROM t").fetchone() == (0,)
    reader.close()
    writer.close()
