"""The write-ahead log: it stays small while somebody writes, and is given back afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.store import schema
from dragoman.store.checkpoint import Checkpointer, Pace
from tests.cases.common import eventually

PAGE = b"x" * schema.PAGE_SIZE


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(schema.connect(tmp_path / "dragoman.db", synchronous="NORMAL")) as connection:
        connection.execute("CREATE TABLE pages (content BLOB)")
        yield connection


def log_of(tmp_path: Path) -> int:
    return (tmp_path / "dragoman.db-wal").stat().st_size


def test_when_nobody_writes_the_room_of_the_log_is_given_back(
    tmp_path: Path, db: sqlite3.Connection
) -> None:
    checkpointer = Checkpointer(tmp_path / "dragoman.db", Pace(every_s=0.001, quiet_s=0.01))
    for _ in range(20):
        db.execute("INSERT INTO pages VALUES (?)", (PAGE,))
    assert log_of(tmp_path) > 0
    checkpointer.written(db)
    eventually(lambda: log_of(tmp_path) == 0, "the log is empty")
    checkpointer.close()


def test_a_reader_who_takes_long_holds_nobody_up(tmp_path: Path, db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO pages VALUES (?)", (PAGE,))
    with closing(schema.connect_reader(tmp_path / "dragoman.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM pages").fetchone()
        checkpointer = Checkpointer(
            tmp_path / "dragoman.db", Pace(every_s=0.001, most_pages=1, quiet_s=0.01)
        )
        for _ in range(200):
            db.execute("INSERT INTO pages VALUES (?)", (PAGE,))
            checkpointer.written(db)
        assert reader.execute("SELECT count(*) FROM pages").fetchone() == (1,)
        reader.execute("COMMIT")
        eventually(lambda: log_of(tmp_path) == 0, "the log is empty")
        checkpointer.close()
