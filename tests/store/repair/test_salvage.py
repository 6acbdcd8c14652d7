"""Damage of every kind: the store opens, what can be read is a prefix, and it can go on."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import StartRefused
from dragoman.store import Append, SessionFilter, check
from dragoman.store.schema import PAGE_SIZE
from dragoman.store.sqlite import DATABASE, SqliteStore
from tests.store.shelf import create, everything, message, outside, row, said, using

SESSIONS = ("one", "two", "three")
EVENTS = 120
FLIPS = 60


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a few sessions in it, closed properly."""
    data_dir = tmp_path_factory.mktemp("sound")

    async def work(store: SqliteStore) -> None:
        for name in SESSIONS:
            await create(store, name)
            for at in range(EVENTS):
                native = b'{"n":%d}' % at
                await store.append(Append(
                    name, [said(f"{name} {at} " + "x" * at * 3, native), said("y", native)],
                    state=row(name, title=f"{at}").state,
                ))  # fmt: skip
            await store.accept(name, message(f"m-{name}", key="k"))

    using(data_dir, work)
    assert not (data_dir / f"{DATABASE}-wal").exists()
    return data_dir


@contextmanager
def damaged(sound: Path, target: Path) -> Iterator[bytearray]:
    """A copy of the folder whose database may be changed."""
    shutil.copytree(sound, target)
    content = bytearray((target / DATABASE).read_bytes())
    yield content
    (target / DATABASE).write_bytes(content)


async def prefixes(store: SqliteStore) -> dict[str, list[bytes]]:
    """Every session that is there, with all of its events; each must be able to go on."""
    found = {}
    for session in await store.sessions(SessionFilter()):
        name = session.session_id
        events = await everything(store, name)
        await everything(store, name, raw=True)
        found[name] = msgspec.json.decode(b"[" + events + b"]", type=list[msgspec.Raw])
        assert session.event_count == len(found[name])
        await store.queued(name)
        await store.watch(name)
        assert await store.append(Append(name, [said("on")])) == len(found[name]) + 1
    assert set(await store.unfinished()) <= set(found)
    await create(store, "new")
    return {name: [bytes(event) for event in events] for name, events in found.items()}


def assert_prefixes(sound: Path, target: Path) -> int:
    """Whatever is served is what was there, from the first event on; how much of it is left."""

    async def whole(store: SqliteStore) -> dict[str, list[bytes]]:
        texts = {name: await everything(store, name) for name in SESSIONS}
        return {
            name: [bytes(e) for e in msgspec.json.decode(b"[" + t + b"]", type=list[msgspec.Raw])]
            for name, t in texts.items()
        }

    wanted = using(sound, whole)
    left = using(target, prefixes)
    assert set(left) <= set(SESSIONS)
    for name, events in left.items():
        assert events == wanted[name][: len(events)]
    assert check(target) == []
    return sum(map(len, left.values()))


def quarantined(target: Path) -> list[Path]:
    return sorted(target.glob(f"{DATABASE}.damaged-*"))


def test_a_sound_database_is_left_alone(sound: Path, tmp_path: Path) -> None:
    with damaged(sound, tmp_path / "copy"):
        pass
    assert assert_prefixes(sound, tmp_path / "copy") == len(SESSIONS) * (2 * EVENTS + 1)
    assert quarantined(tmp_path / "copy") == []


def test_any_page_may_be_zeroed(sound: Path, tmp_path: Path) -> None:
    pages = (sound / DATABASE).stat().st_size // PAGE_SIZE
    assert pages > 8
    survived = []
    for page in range(pages):
        target = tmp_path / f"{page}"
        with damaged(sound, target) as content:
            content[page * PAGE_SIZE : (page + 1) * PAGE_SIZE] = bytes(PAGE_SIZE)
        survived.append(assert_prefixes(sound, target))
        assert len(quarantined(target)) <= 1
    assert max(survived) > EVENTS


def test_any_bit_may_flip(sound: Path, tmp_path: Path) -> None:
    size = (sound / DATABASE).stat().st_size
    dice = random.Random(24)
    for at in range(FLIPS):
        target = tmp_path / f"{at}"
        with damaged(sound, target) as content:
            content[dice.randrange(size)] ^= 1 << dice.randrange(8)
        assert_prefixes(sound, target)
        shutil.rmtree(target)


def test_the_file_may_be_cut_anywhere(sound: Path, tmp_path: Path) -> None:
    size = (sound / DATABASE).stat().st_size
    dice = random.Random(25)
    for at, length in enumerate([0, 1, 99, 100, size - 1, *dice.sample(range(size), 20)]):
        target = tmp_path / f"{at}"
        with damaged(sound, target) as content:
            del content[length:]
        assert_prefixes(sound, target)
        if 100 < length < size - PAGE_SIZE:
            assert len(quarantined(target)) == 1


def test_a_changed_event_ends_what_is_served_of_its_session_only(
    sound: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy"
    shutil.copytree(sound, target)
    with outside(target) as db:
        db.execute(
            "UPDATE events SET line = CAST(replace(line, 'two 50', 'two 5x') AS BLOB) "
            "WHERE session = 2"
        )
    before = (target / DATABASE).read_bytes()
    left = using(target, prefixes)
    assert {name: len(events) for name, events in left.items()} == {
        "one": 2 * EVENTS + 1,
        "two": 101,
        "three": 2 * EVENTS + 1,
    }
    (kept,) = quarantined(target)
    assert kept.read_bytes() == before


def test_a_second_start_finds_nothing_to_repair(sound: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    with damaged(sound, target) as content:
        middle = len(content) // 2 // PAGE_SIZE * PAGE_SIZE
        content[middle : middle + PAGE_SIZE] = bytes(PAGE_SIZE)
    first = using(target, prefixes)

    async def again(store: SqliteStore) -> int:
        return len(await store.sessions(SessionFilter()))

    assert using(target, again) == len(first) + 1
    assert len(quarantined(target)) == 1


def test_a_database_that_is_none_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this was a database once\n" * 1000)
    assert using(tmp_path, prefixes) == {}
    (kept,) = quarantined(tmp_path)
    assert kept.read_bytes().startswith(b"this was")


# --- A disk with little room ---

DISK_BYTES = 40 << 20
LARGE_EVENTS = 600


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk in memory."""
    path = tmp_path / "disk"
    path.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def is_refused(data_dir: Path) -> bool:
    """Whether there is no room to repair a database; that is said, with what to do."""

    async def work(store: SqliteStore) -> bool:
        return False

    try:
        return using(data_dir, work)
    except StartRefused as error:
        told = str(error)
    return "no room to save what is whole" in told and "nothing was changed" in told


def test_with_little_room_everything_is_saved_or_nothing_is_touched(small_disk: Path) -> None:
    data_dir = small_disk / "data"

    async def work(store: SqliteStore) -> None:
        for name in ("one", "two"):
            await create(store, name)
            for _ in range(LARGE_EVENTS // 100):
                await store.append(
                    Append(name, [said(f"{name} {at} " + "x" * 4000) for at in range(100)])
                )

    using(data_dir, work)
    with outside(data_dir) as db:
        db.execute("UPDATE events SET line = x'00' WHERE session = 1 AND sequence = 500")
    before = (data_dir / DATABASE).read_bytes()
    refused = 0
    for part in (0.2, 0.5, 0.9, 1.1, 1.3, 1.6, 1.9, 2.2):
        ballast = small_disk / "ballast"
        with ballast.open("wb") as file:
            file.write(bytes(shutil.disk_usage(small_disk).free - int(part * len(before))))
        if is_refused(data_dir):
            assert (data_dir / DATABASE).read_bytes() == before
            assert quarantined(data_dir) == []
            refused += 1
        else:
            ballast.unlink()
            left = using(data_dir, prefixes)
            assert {name: len(found) for name, found in left.items()} == {
                "one": 499, "two": LARGE_EVENTS + 1,
            }  # fmt: skip
            (kept,) = quarantined(data_dir)
            kept.rename(data_dir / DATABASE)
        ballast.unlink(missing_ok=True)
    assert 2 <= refused <= 4, "as much room as it has is enough"
    assert using(data_dir, prefixes)


def test_a_full_disk_is_called_so_at_the_start(small_disk: Path) -> None:
    data_dir = small_disk / "data"
    using(data_dir, lambda store: create(store, "s"))
    with (small_disk / "ballast").open("wb") as file:
        file.write(bytes(shutil.disk_usage(small_disk).free))
    with pytest.raises(StartRefused, match="is full"):
        using(data_dir, prefixes)
    (small_disk / "ballast").unlink()
    assert list(using(data_dir, prefixes)) == ["s"]
