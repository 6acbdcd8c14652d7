"""Case 10: a symbolic link that leads out of a root leads nowhere, whenever it is planted."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dragoman.errors import RequestError
from dragoman.files import tree
from dragoman.files.archive import ArchiveLimits, Unpacker
from dragoman.files.beneath import has_openat2
from dragoman.files.content import PartialFile, SizeLimit, open_file
from dragoman.files.paths import Root
from tests.daemon import running
from tests.http.fs import Fs, member, tar

SECONDS = float(os.environ.get("DRAGOMAN_TEST_RACE_S", "4"))
TRIES = 1_000_000
SECRET = b"outside"
SWAPPER = Path(__file__).with_name("swapper.py")
LIMITS = ArchiveLimits(size_bytes=1 << 20, entries=100, ratio=100)


class Field:
    """A root, what is beside it, and two entries in it that become links when nobody looks."""

    def __init__(self, folder: Path) -> None:
        self.root, self.outside = folder / "root", folder / "outside"
        for place, content in ((self.root / "spot", b"inside"), (self.outside, SECRET)):
            (place / "tree" / "deep").mkdir(parents=True)
            for file in ("file", "tree/file", "tree/deep/file", "victim"):
                (place / file).write_bytes(content)
        (self.outside / "only-here").touch()
        (self.root / "file").write_bytes(b"inside")
        (self.root / "far-spot").symlink_to(self.outside)
        (self.root / "far-file").symlink_to("../outside/file")
        self._inside = os.open(self.root / "spot", os.O_PATH)
        self._before = self.seen()

    def seen(self) -> dict[str, bytes | None]:
        """All that is outside, with its content."""
        return {
            str(path): path.read_bytes() if path.is_file() else None
            for path in sorted(self.outside.rglob("*"))
        }

    def mend(self) -> None:
        """Put back what was removed or replaced where that was allowed."""
        for name in ("victim", "tree/file"):
            with contextlib.suppress(FileExistsError):
                if "/" in name:
                    os.mkdir("tree", dir_fd=self._inside)
            flags = os.O_CREAT | os.O_WRONLY
            os.close(os.open(name, flags, dir_fd=self._inside))

    def assert_nothing_got_out(self) -> None:
        assert self.seen() == self._before

    @contextlib.contextmanager
    def swapping(self) -> Iterator[None]:
        """Swap the folder and the file for links to the outside, and back, without end."""
        pairs = ("spot", "far-spot", "file", "far-file")
        with subprocess.Popen(
            [sys.executable, "-S", str(SWAPPER), str(self.root), *pairs],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as swapper:
            try:
                assert swapper.stdout is not None
                assert swapper.stdout.readline() == b"ready\n"
                yield
            finally:
                assert swapper.stdin is not None
                swapper.stdin.close()


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field(tmp_path)


def read(root: Root, *names: str) -> bytes:
    reading = open_file(root, names)
    try:
        return reading.read(0, 100)
    finally:
        reading.close()


def write(root: Root, *names: str) -> bytes:
    draft = PartialFile(root, names, SizeLimit(100, "none"))
    try:
        draft.write(b"inside")
        draft.commit()
    finally:
        draft.close()
    return b"written"


def unpack(root: Root, *names: str) -> bytes:
    unpacker = Unpacker(root, names, LIMITS)
    try:
        unpacker.feed(tar(member("tree/file", b"inside"), member("new", b"inside")))
        unpacker.commit()
    finally:
        unpacker.close()
    return b"unpacked"


def listed(root: Root, *names: str) -> bytes:
    return b" ".join(entry.name.encode() for entry in tree.entries(root, names))


def removed(root: Root, *names: str) -> bytes:
    tree.remove(root, names, recursive=True)
    return b"removed"


def moved(root: Root, *names: str) -> bytes:
    tree.move((root, names), (root, ("spot", "moved")), overwrite=True)
    return b"moved"


OFTEN: tuple[tuple[Callable[..., bytes], tuple[str, ...]], ...] = (
    (read, ("file",)),
    (read, ("spot", "file")),
    (read, ("spot", "tree", "deep", "file")),
    (listed, ("spot",)),
)
SELDOM: tuple[tuple[Callable[..., bytes], tuple[str, ...]], ...] = (
    (write, ("spot", "file")),
    (write, ("file",)),
    (write, ("spot", "new", "file")),
    (removed, ("spot", "victim")),
    (removed, ("spot", "tree")),
    (removed, ("spot", "new")),
    (moved, ("spot", "file")),
    (unpack, ("spot",)),
)
"""What waits for the disk, and so can be tried less often."""


@pytest.mark.parametrize("by_hand", [False, True], ids=["openat2", "walk"])
def test_case_10_a_link_that_is_swapped_in_meanwhile_never_leads_out(
    field: Field, by_hand: bool, record_property: Callable[[str, object], None]
) -> None:
    if not by_hand and not has_openat2():
        pytest.skip("this kernel has no openat2")
    root = Root(str(field.root), str(field.root), by_hand=by_hand)
    tries = refused = 0
    with field.swapping():
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and tries < TRIES:
            for act, names in (*OFTEN * 100, *SELDOM):
                tries += 1
                try:
                    said = act(root, *names)
                except RequestError:
                    refused += 1
                else:
                    assert SECRET not in said
                    assert b"only-here" not in said
            field.mend()
    record_property("tries", tries)
    record_property("refused", refused)
    assert 0 < refused < tries, "nothing was swapped"
    field.assert_nothing_got_out()


def test_case_10_nor_does_it_over_http(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    field = Field(tmp_path)
    statuses: dict[int, int] = {}
    with running(tmp_path / "data", env={"DRAGOMAN_ROOTS": str(field.root)}) as daemon:
        fs = Fs(daemon)
        archive = tar(member("tree/file", b"inside"))
        with field.swapping():
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                for reply in (
                    fs.read("spot/file"), fs.read("file"), fs.entries("spot"), fs.stat("spot/file"),
                    fs.write("spot/file", b"inside"), fs.write("file", b"inside"),
                    fs.remove("spot/victim"), fs.remove("spot/tree", recursive="true"),
                    fs.move("spot/file", "spot/moved", overwrite=True),
                    fs.unpack(archive, "spot"),
                ):  # fmt: skip
                    statuses[reply.status] = statuses.get(reply.status, 0) + 1
                    assert SECRET not in reply.body.replace(str(tmp_path).encode(), b"")
                    assert b"only-here" not in reply.body
                field.mend()
    record_property("statuses", statuses)
    assert set(statuses) <= {200, 400, 403, 404, 409}
    assert statuses[200]
    assert statuses[403]
    field.assert_nothing_got_out()


@pytest.mark.parametrize("by_hand", [False, True], ids=["openat2", "walk"])
def test_case_10_links_that_leave_are_403_and_those_that_stay_are_followed(
    tmp_path: Path, by_hand: bool
) -> None:
    top = tmp_path / "root"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "file").write_bytes(b"inside")
    (tmp_path / "file").write_bytes(SECRET)
    stay = {
        "down": "a/b", "a/up": "../a/b", "all": str(top / "a" / "b"), "chain": "a/up",
        "round": "a/b/../../a/b", "a/dot": "./b", "around": f"{top}/all",
    }  # fmt: skip
    leave = {
        "a/out": "../..", "absolute": str(tmp_path), "a/b/far": "../../..", "etc": "/etc",
        "again": "a/out", "sly": f"{top}/../", "back": f"../{top.name}", "sibling": f"{top}-evil",
    }  # fmt: skip
    for name, target in {**stay, **leave, "self": "self", "gone": "nothing"}.items():
        (top / name).symlink_to(target)
    root = Root(str(top), str(top), by_hand=by_hand)
    for name in stay:
        assert read(root, *name.split("/"), "file") == b"inside", name
    for name in leave:
        with pytest.raises(RequestError) as refused:
            read(root, *name.split("/"), "file")
        assert refused.value.status == 403, name
    for name, status in (("self", 403), ("gone", 404)):
        with pytest.raises(RequestError) as refused:
            read(root, name, "file")
        assert refused.value.status == status


def test_case_10_a_maze_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "maze").symlink_to("a/../" * 800 + "a")
    for number in range(50):
        (tmp_path / f"l{number}").symlink_to(f"l{number + 1}/maze")
    root = Root(str(tmp_path), str(tmp_path), by_hand=True)
    begun = time.monotonic()
    with pytest.raises(RequestError):
        read(root, "l0", "file")
    assert time.monotonic() - begun < 5
