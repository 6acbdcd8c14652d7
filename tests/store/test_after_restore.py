"""A database that was restored is announced: in every session, once, or not at all."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dragoman.errors import StartRefused
from dragoman.store import Append, after_restore
from dragoman.store.sqlite import DATABASE, SqliteStore
from tests.store.shelf import create, everything, outside, said, using


async def two(store: SqliteStore) -> None:
    """Two sessions with some events."""
    for name in ("one", "two"):
        await create(store, name)
        await store.append(Append(name, [said("a"), said("b")]))


async def told(store: SqliteStore) -> list[list[str]]:
    """What each session says of its continuity."""
    found = []
    for name in ("one", "two"):
        events = msgspec.json.decode(b"[" + await everything(store, name) + b"]")
        found.append(
            [each["data"]["continuity"] for each in events if "continuity" in each["data"]]
        )
    return found


def test_case_36_a_start_that_cannot_tell_it_in_all_sessions_tells_it_in_none(
    data_dir: Path,
) -> None:
    using(data_dir, two)
    after_restore.mark(data_dir / DATABASE)
    with outside(data_dir) as db:
        db.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON events WHEN new.session = 2 "
            "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    with pytest.raises(StartRefused, match="no room"):
        using(data_dir, told)
    with outside(data_dir) as db:
        assert db.execute("SELECT count(*) FROM events").fetchone() == (6,)
        db.execute("DROP TRIGGER refuse")
    assert using(data_dir, told) == [["restored"], ["restored"]]
    assert using(data_dir, told) == [["restored"], ["restored"]]


def test_a_database_that_was_not_restored_says_nothing(data_dir: Path) -> None:
    using(data_dir, two)
    assert using(data_dir, told) == [[], []]
