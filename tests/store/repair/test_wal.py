"""The write-ahead log after a crash: a torn end is normal, a hole in the middle is told."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from dragoman.store import Append, check
from dragoman.store.repair.wal import find_break
from dragoman.store.schema import PAGE_SIZE
from dragoman.store.sqlite import DATABASE, SqliteStore
from tests.store.repair.test_salvage import prefixes, quarantined
from tests.store.shelf import create, outside, row, said, using

LOG = f"{DATABASE}-wal"
FRAME = 24 + PAGE_SIZE
EVENTS = 60
FLIPS = 30


async def write(store: SqliteStore, name: str) -> None:
    await create(store, name)
    for at in range(EVENTS):
        await store.append(Append(name, [said(f"{name} {at} " + "x" * 300)], state=row(name).state))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder as kill -9 leaves it: all that was ever written is in the log too."""
    folder = tmp_path_factory.mktemp("killed")

    async def work(store: SqliteStore) -> None:
        await write(store, "one")
        await write(store, "two")
        shutil.copytree(folder / "data", folder / "copy")

    using(folder / "data", work)
    return folder / "copy"


@pytest.fixture
def copy(killed: Path, tmp_path: Path) -> Path:
    """A copy of it that may be changed."""
    shutil.copytree(killed, tmp_path / "copy")
    (tmp_path / "copy" / f"{DATABASE}-shm").unlink()
    return tmp_path / "copy"


def flip(path: Path, at: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def left(folder: Path) -> int:
    return sum(map(len, using(folder, prefixes).values()))


ALL = 2 * (EVENTS + 1)


def test_a_log_that_is_whole_is_left_alone(copy: Path) -> None:
    assert find_break(copy / DATABASE) is None
    assert check(copy) == []
    assert left(copy) == ALL
    assert quarantined(copy) == []


def test_to_look_changes_nothing(copy: Path) -> None:
    before = [(copy / name).read_bytes() for name in (DATABASE, LOG)]
    flip(copy / LOG, 20 * FRAME)
    assert check(copy) == [f"{copy / LOG}: frame 19 is damaged"]
    flip(copy / LOG, 20 * FRAME)
    assert check(copy) == []
    assert [(copy / name).read_bytes() for name in (DATABASE, LOG)] == before


def test_a_flipped_bit_is_told_and_both_files_are_kept(
    copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flip(copy / LOG, 20 * FRAME)
    before = {name: (copy / name).read_bytes() for name in (DATABASE, LOG)}
    assert left(copy) <= ALL
    kept, log = quarantined(copy)
    assert kept.read_bytes() == before[DATABASE]
    assert log.name == f"{kept.name}-wal"
    assert log.read_bytes() == before[LOG]
    (told,) = [record for record in caplog.records if "frame 19 of its log" in record.message]
    assert told.levelname == "ERROR"
    assert "commits are behind it" in told.message

    async def look(store: SqliteStore) -> None:
        assert await store.position("one") == (EVENTS + 2, False)

    using(copy, look)
    assert len(quarantined(copy)) == 2, "it is repaired once"


def test_wherever_a_bit_flips_nothing_vanishes_without_a_word(killed: Path, tmp_path: Path) -> None:
    size = (killed / LOG).stat().st_size
    frames = (size - 32) // FRAME
    dice = random.Random(5)
    counts = []
    for number, at in enumerate([*range(0, 32, 5), *dice.sample(range(32, size), FLIPS)]):
        target = tmp_path / str(number)
        shutil.copytree(killed, target)
        flip(target / LOG, at, dice.randrange(8))
        found = left(target)
        # The last write may as well have been cut by the crash.
        assert found == ALL or quarantined(target) or (at - 32) // FRAME >= frames - 3
        counts.append(found)
        shutil.rmtree(target)
    assert sum(counts) > 0.9 * ALL * len(counts), "a bit costs little"


def test_a_torn_end_is_no_damage(killed: Path, tmp_path: Path) -> None:
    size = (killed / LOG).stat().st_size
    dice = random.Random(6)
    for number, length in enumerate([0, 1, 32, 33, size - 1, *dice.sample(range(size), 20)]):
        target = tmp_path / str(number)
        shutil.copytree(killed, target)
        with (target / LOG).open("r+b") as file:
            file.truncate(length)
        assert left(target) <= ALL
        assert quarantined(target) == []


def test_a_last_frame_that_is_half_written_is_no_damage(copy: Path) -> None:
    size = (copy / LOG).stat().st_size
    with (copy / LOG).open("r+b") as file:
        file.seek(size - PAGE_SIZE)
        file.write(b"\xff" * PAGE_SIZE)
    assert left(copy) < ALL
    assert quarantined(copy) == []


def test_what_an_earlier_log_left_behind_the_new_one_is_no_damage(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"

    async def work(store: SqliteStore) -> None:
        await write(store, "one")
        with outside(data_dir) as db:
            assert db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0
        await store.append(Append("one", [said("in the log that begins anew")]))
        shutil.copytree(data_dir, tmp_path / "copy")

    using(data_dir, work)
    assert (tmp_path / "copy" / LOG).stat().st_size > 20 * FRAME
    assert left(tmp_path / "copy") == EVENTS + 2
    assert quarantined(tmp_path / "copy") == []


def test_what_the_file_has_already_is_not_taken_back(tmp_path: Path) -> None:
    """The log was moved into the file and is still there: half of it would be older than that."""
    data_dir = tmp_path / "data"

    async def work(store: SqliteStore) -> None:
        await write(store, "one")
        with outside(data_dir) as db:
            assert db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[0] == 0
        shutil.copytree(data_dir, tmp_path / "copy")

    using(data_dir, work)
    flip(tmp_path / "copy" / LOG, 20 * FRAME)
    assert left(tmp_path / "copy") >= EVENTS
    assert len(quarantined(tmp_path / "copy")) == 2


@pytest.mark.parametrize("is_missing", [True, False])
def test_a_log_whose_database_is_gone_is_kept_and_gives_what_it_has(
    copy: Path, caplog: pytest.LogCaptureFixture, is_missing: bool
) -> None:
    (copy / DATABASE).unlink()
    if not is_missing:
        (copy / DATABASE).touch()
    before = (copy / LOG).read_bytes()
    (problem,) = check(copy)
    assert "its log is there" in problem
    assert left(copy) == ALL
    *_, kept = quarantined(copy)
    assert kept.name.endswith("-wal")
    assert kept.read_bytes() == before
    assert "its log is there" in caplog.text


def test_a_log_that_gives_nothing_is_kept_all_the_same(copy: Path) -> None:
    (copy / DATABASE).unlink()
    content = (copy / LOG).read_bytes()
    with (copy / LOG).open("r+b") as file:
        file.write(bytes(100 * FRAME))
    before = (copy / LOG).read_bytes()
    assert before != content
    left(copy)
    *_, kept = quarantined(copy)
    assert kept.read_bytes() == before
