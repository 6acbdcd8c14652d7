"""Sessions as they are listed, found after a restart, and forgotten."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dragoman.schema.http import CreateSession, Resume
from dragoman.store import Append, SessionFilter
from dragoman.store.sqlite import SqliteStore
from tests.store.shelf import ENDED, create, message, outside, row, said, using


async def names(store: SqliteStore, **which: object) -> list[str]:
    wanted = msgspec.convert(which, SessionFilter)
    return [found.session_id for found in await store.sessions(wanted)]


def test_sessions_are_listed_newest_first(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        for name in ("b", "c", "a"):
            await create(store, name)
        assert await names(store) == ["a", "c", "b"]

    using(data_dir, work)


def test_a_session_that_was_accepted_under_looser_rules_can_be_read(data_dir: Path) -> None:
    """What is refused now may stand in the store: rules are for requests, not for what is kept."""
    both = Resume(session_id="a", native_session_id="b", fork=True)

    async def work(store: SqliteStore) -> None:
        old = row("old")
        old = msgspec.structs.replace(old, create=CreateSession(agent="mock", resume=both))
        await store.create(old, [])
        found = await store.session("old")
        assert found is not None
        assert found.create.resume == both

    using(data_dir, work)


@pytest.mark.parametrize(
    ("which", "wanted"),
    [
        ({"agent": "mock"}, ["Three", "one"]),
        ({"agent": "none"}, []),
        ({"status": "running"}, ["one"]),
        ({"status": "ended"}, ["Three"]),
        ({"text": "THREE"}, ["Three"]),
        ({"text": "my ti"}, ["one"]),
        ({"text": "%"}, []),
        ({"agent": "other", "status": "idle"}, ["two"]),
    ],
)
def test_sessions_are_filtered(data_dir: Path, which: dict[str, object], wanted: list[str]) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "one")
        await create(store, "two", agent="other")
        await create(store, "Three")
        state = row("one", title="My Title", turn_id="turn_1").state
        await store.append(Append("one", [said("x")], state=state))
        await store.append(Append("Three", [ENDED], state=row("Three", ended=True).state))
        assert await names(store, **which) == wanted

    using(data_dir, work)


def test_pages_of_sessions_stay_in_place_while_new_ones_come(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        for at in range(10):
            await create(store, f"s{at}")
        first = await store.sessions(SessionFilter(limit=4))
        await create(store, "new")
        second = await store.sessions(SessionFilter(limit=4, before=first[-1].position))
        third = await store.sessions(SessionFilter(limit=4, before=second[-1].position))
        listed = [found.session_id for found in (*first, *second, *third)]
        assert listed == [f"s{at}" for at in reversed(range(10))]

    using(data_dir, work)


def test_a_session_comes_back_as_it_was_kept(data_dir: Path) -> None:
    state = row("s", title="t", native_session_id="n", confirmed=True, open_since=1).state

    async def write(store: SqliteStore) -> None:
        await create(store, "s")
        await store.append(Append("s", [said("x")], state=state))

    async def read(store: SqliteStore) -> None:
        found = await store.session("s")
        assert found is not None
        assert found.state == state
        assert (found.event_count, found.create.agent, found.directory) == (2, "mock", "/")
        assert found.updated_at > found.created_at == 1000

    using(data_dir, write)
    using(data_dir, read)


def test_only_what_is_open_or_waits_is_unfinished(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        for name in ("quiet", "open", "waiting", "both", "ended", "deleted"):
            await create(store, name)
        for name in ("open", "both", "deleted"):
            await store.append(Append(name, [said("x")], state=row(name, open_since=1).state))
        for name in ("waiting", "both", "ended", "deleted"):
            await store.accept(name, message(f"m-{name}"))
        await store.append(Append("ended", [ENDED], state=row("ended", ended=True).state))
        await store.delete("deleted")
        assert sorted(await store.unfinished()) == ["both", "open", "waiting"]

    using(data_dir, work)


def test_a_deleted_session_leaves_nothing_but_its_id(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        await create(store, "keep")
        await create(store, "s")
        await store.append(Append("s", [said("secret")], state=row("s", title="secret").state))
        await store.accept("s", message("m", "secret"))
        await store.delete("s")
        assert await names(store) == ["keep"]

    using(data_dir, work)
    with outside(data_dir) as db:
        for table in ("messages", "requests"):
            count = f"SELECT count(*) FROM {table} WHERE session = 2"
            assert db.execute(count).fetchone() == (0,)
        # The newest event of all keeps its place, and nothing else.
        left = db.execute("SELECT line, raw FROM events WHERE session = 2").fetchall()
        assert left == [(b"", None)]
        kept = db.execute("SELECT session_id, spec, state, title FROM sessions WHERE n = 2")
        assert kept.fetchone() == ("s", b"", b"", None)


def test_a_clock_that_went_back_does_not_make_a_session_older(data_dir: Path) -> None:
    tomorrow = 4_102_444_800_000

    async def work(store: SqliteStore) -> int:
        await store.watch("s")
        await store.append(Append("s", [said("x")]))
        found = await store.session("s")
        assert found is not None
        return found.updated_at

    using(data_dir, lambda store: create(store, "s"))
    with outside(data_dir) as db:
        db.execute("UPDATE sessions SET updated_at = ?", (tomorrow,))
    assert using(data_dir, work) == tomorrow
