"""Does something to copies of a data folder, and is killed at its first step, its second ...

Run as a program: `dying.py kill|fail restore|leave|repair FOLDER ARCHIVE TARGET`. Each copy is left
as `TARGET/1`, `TARGET/2` ...; the last is one that nothing happened to. With `fail`, a rename says
that the disk fails instead.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from dragoman.errors import BackupFailed
from dragoman.store import backup
from dragoman.store.lock import FolderLock
from dragoman.store.open import open_database
from dragoman.store.repair.swap import DATABASE

FAILED = 3


def restore(folder: Path, archive: Path) -> None:
    """As nobody else uses the folder."""
    backup.restore(archive, folder, lambda doing: None, replace=True)


def leave(folder: Path, archive: Path) -> None:
    """While a daemon uses the folder; then it is started again."""
    lock = FolderLock(folder)
    restore(folder, archive)
    lock.release()
    repair(folder, archive)


def repair(folder: Path, archive: Path) -> None:
    """As the daemon does at its start."""
    lock = FolderLock(folder)
    open_database(folder / DATABASE, synchronous="normal").close()
    lock.release()


def stopping(folder: Path, last: int, stop: Callable[[str], None]) -> Callable[[str, Any], None]:
    """Watch what is done beneath a folder, and stop at a step."""
    steps = count(1)

    def watch(event: str, args: Any) -> None:
        touched = [str(each) for each in args if isinstance(each, str | Path)]
        if any(each.startswith(str(folder)) for each in touched) and next(steps) == last:
            stop(event)

    return watch


def die(event: str) -> None:
    """At once."""
    os.kill(os.getpid(), signal.SIGKILL)


def in_a_child(work: Callable[[], None]) -> int:
    """How a child that does it ends."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)
    code = 1
    try:
        work()
        code = 0
    except BackupFailed:
        code = FAILED
    finally:
        os._exit(code)


def main(how: str, what: str, folder: Path, archive: Path, target: Path) -> None:
    """Try it again and again, until it comes to its end."""
    work = {"restore": restore, "leave": leave, "repair": repair}[what]
    for number in count(1):
        copy = target / str(number)
        shutil.copytree(folder, copy)

        def attempt(copy: Path = copy, number: int = number) -> None:
            renames = count(1)

            def fail(event: str, args: Any) -> None:
                if event == "os.rename" and next(renames) == number:
                    raise OSError(5, "the disk fails")

            sys.addaudithook(stopping(copy, number, die) if how == "kill" else fail)
            work(copy, archive)

        code = in_a_child(attempt)
        if code == 0:
            return
        assert code == (-signal.SIGKILL if how == "kill" else FAILED), code


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(Path, sys.argv[3:]))
