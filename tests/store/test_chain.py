"""The hash chain: each event's link covers the whole log up to it, whatever happened meanwhile."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import tempfile
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.schema.events import Draft, ItemDelta
from dragoman.store import Append
from dragoman.store.chain import ORIGIN
from dragoman.store.live_tail import LINKED_EVENTS
from dragoman.store.repair.salvage import damage, ensure_sound
from dragoman.store.sqlite import DATABASE, SqliteStore
from tests.store.shelf import (
    ENDED,
    create,
    everything,
    gather_until,
    lines,
    links,
    of_version_two,
    outside,
    recomputed,
    refusing,
    said,
    using,
)


def piece(text: str) -> Draft:
    """A piece of a text."""
    return Draft(ItemDelta(item_id="itm", delta=text), "agent", "native", b'{"d":1}')


def stored(data_dir: Path) -> dict[int, list[tuple[bytes, bytes]]]:
    """The lines and links of each session, in order."""
    found: dict[int, list[tuple[bytes, bytes]]] = {}
    with outside(data_dir) as db:
        query = "SELECT session, line, chain FROM events ORDER BY session, sequence"
        for session, line, link in db.execute(query):
            found.setdefault(session, []).append((line, link))
    return found


def assert_chained(data_dir: Path) -> None:
    """Every link is what anybody can compute from the lines."""
    for rows in stored(data_dir).values():
        assert [link for _, link in rows] == recomputed([line for line, _ in rows])
    assert damage(data_dir / DATABASE, thorough=True) is None


Step = tuple[str, int, int, str]
"""What is done, to how many events of which size, in which session."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "refused", "restart"]),
        st.integers(0, 40),
        st.sampled_from([1, 3000]),
        st.sampled_from(["one", "two"]),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_case_36_links_are_those_of_the_lines_after_any_appends_failures_and_restarts(
    steps: list[Step],
) -> None:
    async def work(store: SqliteStore, part: list[Step]) -> None:
        for name in ("one", "two"):
            if await store.session(name) is None:
                await create(store, name)
            await store.watch(name)
        for kind, count, size, name in part:
            with refusing(folder) if kind == "refused" else nullcontext():
                # Two under way: where the first fails, what was numbered after it fails too.
                writes = [store.append(Append(name, [said("é" * size)]))]
                writes.append(store.append(Append(name, [piece("x" * size)] * count)))
                await asyncio.gather(*writes, return_exceptions=True)
        for name in ("one", "two"):
            last, _ = await store.position(name)
            row = await store.session(name)
            assert row is not None
            page = await store.read(name, last, 10, raw=False)
            assert row.link == page.link == await store.link(name, last)

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        parts: list[list[Step]] = [[]]
        for step in steps:
            parts.append([]) if step[0] == "restart" else parts[-1].append(step)
        for part in parts:
            using(folder, lambda store, part=part: work(store, part))  # type: ignore[misc]
            assert_chained(folder)


def test_a_page_and_a_position_have_the_link_of_their_last_event(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said(f"{at}" * 100, b"[1]") for at in range(40)]))
        whole = await store.read("s", 0, 10_000, raw=False)
        wanted = recomputed([line for line, _ in stored(data_dir)[1]])
        for raw in (False, True):
            page = await store.read("s", 0, 17, raw=raw)
            assert (page.last, page.link) == (17, wanted[16])
        assert whole.link == wanted[-1]
        assert (await store.read("s", 41, 10, raw=False)).link == wanted[-1]
        assert (await store.read("s", 42, 10, raw=False)).link is None
        found = [await store.link("s", at) for at in range(43)]
        assert found == [ORIGIN, *wanted, None]

    using(data_dir, work)


def test_a_stream_tells_links_while_it_reads_from_the_file_and_live(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        live = asyncio.create_task(gather_until(store.follow("s", 0), 3001))
        for _ in range(5):
            await store.append(Append("s", [piece("x") for _ in range(400)]))
        for at in range(1000):
            await store.append(Append("s", [piece(f"{at}")]))
        seen, late = await live, await gather_until(store.follow("s", 0), 3001)
        wanted = recomputed([line for _, line in lines(late)])
        raw = await gather_until(store.follow("s", 0, raw=True), 3001)
        for told in (links(seen), links(late), links(raw)):
            assert all(link == wanted[sequence - 1] for sequence, link in told)
        assert links(late)[-1][0] == 3001
        # Who is cut never has to remember more than this.
        gaps = [b - a for (a, _), (b, _) in zip(links(seen), links(seen)[1:], strict=False)]
        assert max(gaps) <= max(1024, 400 + LINKED_EVENTS)

    using(data_dir, work)


def test_what_is_more_than_a_piece_of_a_text_comes_with_its_link(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        live = asyncio.create_task(gather_until(store.follow("s", 1), 4))
        await asyncio.sleep(0)
        await store.append(Append("s", [piece("a")]))
        await store.append(Append("s", [said("b")]))
        await store.append(Append("s", [ENDED]))
        told = links(await live)
        assert [sequence for sequence, _ in told] == [3, 4]

    using(data_dir, work)


# --- Other versions, and damage ---


def test_case_36_an_old_database_gets_the_links_that_a_new_one_has(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        for name in ("one", "two", "gone"):
            await create(store, name)
        for at in range(50):
            for name in ("one", "two", "gone"):
                await store.append(Append(name, [said(f"{at}", b'{"n":1}'), piece("y" * 5000)]))
        await store.delete("gone")

    async def read(store: SqliteStore) -> bytes:
        return await everything(store, "two", raw=True)

    using(data_dir, work)
    old = of_version_two(data_dir)
    assert damage(old / DATABASE, thorough=True) is None
    assert using(old, read) == using(data_dir, read)
    before, after = stored(data_dir), stored(old)
    assert [after[session] for session in (1, 2)] == [before[session] for session in (1, 2)]
    assert damage(old / DATABASE, thorough=True) is None
    (kept,) = old.glob(f"{DATABASE}.before-3")
    with closing(sqlite3.connect(kept)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET chain = x'00' WHERE sequence = 3",
        "UPDATE events SET chain = NULL WHERE sequence = 3",
        "UPDATE events SET (line, crc) = (SELECT line, crc FROM events WHERE sequence = 2) "
        "WHERE sequence = 3",
    ],
)
def test_case_36_a_log_that_does_not_fit_its_chain_is_found_and_linked_anew(
    data_dir: Path, change: str
) -> None:
    async def write(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said(f"{at}") for at in range(5)]))

    async def count(store: SqliteStore) -> int:
        return (await store.position("s"))[0]

    using(data_dir, write)
    with outside(data_dir) as db:
        db.execute(change)
    problem = damage(data_dir / DATABASE, thorough=True)
    assert problem is not None
    assert "event 3 of session 1 does not fit into its hash chain" in problem
    ensure_sound(data_dir / DATABASE)
    assert_chained(data_dir)
    # A line that is whole is kept; one that stands where another belongs is not.
    assert using(data_dir, count) == (2 if "line" in change else 6)


def test_case_36_a_broken_last_link_is_noticed_by_who_reads(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def write(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("a"), said("b")]))

    async def read(store: SqliteStore) -> None:
        with caplog.at_level(logging.ERROR):
            await store.position("s")
            assert caplog.records == []
            with outside(data_dir) as db:
                db.execute("UPDATE events SET chain = x'00' WHERE sequence = 3")
            await store.position("s")
        assert "broken at its last event, 3" in caplog.text

    using(data_dir, write)
    using(data_dir, read)
