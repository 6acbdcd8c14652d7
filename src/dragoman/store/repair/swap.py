"""Replaces a database as a whole, also if it is killed in between.

What is to come lies in a folder of its own, complete, before anything is moved: as
`dragoman.db.next` it waits for the next start, as `dragoman.db.swap` it is being put in place.
Whoever holds the lock of the data folder finishes what it finds there, before anything else.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.errors import StartRefused
from dragoman.store.fsync import sync, sync_tree

DATABASE = "dragoman.db"
LOG = f"{DATABASE}-wal"
INDEX = f"{DATABASE}-shm"
FILES = "files"
WAITING = f"{DATABASE}.next"
BEGUN = f"{DATABASE}.swap"
_NOTE = "swap.json"
_REPLACED_BY = {FILES: (FILES,), DATABASE: (DATABASE, LOG)}
"""In this order: a database without its files would name what is not there."""


class SwapNote(Struct, frozen=True):
    """Lies beside what is to come."""

    aside: dict[str, str]
    """Where in the data folder each thing goes that is replaced."""


def free_name(wanted: Path) -> Path:
    """This path, or one like it, that neither a file nor a log has."""
    others = (wanted.with_name(f"{wanted.name}-{number}") for number in itertools.count(2))
    for path in itertools.chain((wanted,), others):
        if not path.exists() and not path.with_name(f"{path.name}-wal").exists():
            return path
    raise AssertionError("there are more numbers than files")


def begin(made: Path, data_dir: Path, aside: dict[str, str]) -> None:
    """Make what is in a folder what comes next; `finish` puts it in place."""
    _complete(made, aside)
    made.rename(data_dir / BEGUN)
    sync(data_dir)


def leave(made: Path, data_dir: Path, aside: dict[str, str]) -> None:
    """Leave it to whoever starts next; what waits already is given up."""
    _complete(made, aside)
    with contextlib.suppress(FileNotFoundError):
        (data_dir / WAITING).rename(made.with_name("given-up"))
    made.rename(data_dir / WAITING)
    sync(data_dir)


def _complete(made: Path, aside: dict[str, str]) -> None:
    (made / DATABASE).chmod(0o600)
    (made / _NOTE).write_bytes(msgspec.json.encode(SwapNote(aside)))
    sync_tree(made)


def finish(data_dir: Path) -> bool:
    """Put in place what was begun, and what waits; whether there was something.

    Raise OSError where that cannot be; everything is where it was then.
    """
    begun = data_dir / BEGUN
    found = begun.exists()
    _finish(begun, data_dir)
    if (data_dir / WAITING).exists():
        with contextlib.suppress(FileNotFoundError):  # another restore gives it up just now
            (data_dir / WAITING).rename(begun)
            found = True
        sync(data_dir)
        _finish(begun, data_dir)
    return found


def _finish(begun: Path, data_dir: Path) -> None:
    if (begun / DATABASE).exists():  # it goes last
        note = msgspec.json.decode((begun / _NOTE).read_bytes(), type=SwapNote)
        done: list[tuple[Path, Path]] = []
        try:
            for name in _REPLACED_BY:
                if (begun / name).exists():
                    _put(name, begun, data_dir, note, done)
        except OSError:
            _put_back(done)
            for place in note.aside.values():
                with contextlib.suppress(OSError):  # something is in it, or it is gone
                    (data_dir / place).parent.rmdir()
            raise
    shutil.rmtree(begun, ignore_errors=True)


def _put(
    name: str, begun: Path, data_dir: Path, note: SwapNote, done: list[tuple[Path, Path]]
) -> None:
    for old in _REPLACED_BY[name]:
        if (data_dir / old).exists():
            target = data_dir / note.aside[old]
            target.parent.mkdir(exist_ok=True, mode=0o700)
            (data_dir / old).rename(target)
            done.append((data_dir / old, target))
            sync(target.parent)
    (data_dir / INDEX).unlink(missing_ok=True)
    sync(data_dir)
    (begun / name).rename(data_dir / name)
    done.append((begun / name, data_dir / name))
    sync(data_dir)


def _put_back(done: list[tuple[Path, Path]]) -> None:
    try:
        for source, target in reversed(done):
            target.rename(source)
    except OSError as error:
        raise StartRefused(
            f"a database was to be replaced, and that stopped half way: {error}; nothing is lost, "
            "and the next start goes on with it"
        ) from None


def give_up(data_dir: Path) -> None:
    """Forget what was begun; for who began it, where `finish` could do nothing."""
    shutil.rmtree(data_dir / BEGUN, ignore_errors=True)
