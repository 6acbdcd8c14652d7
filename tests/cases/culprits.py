"""Finds what agents left behind, however well it hides."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Set
from pathlib import Path

from dragoman.runtime.processes import linux
from dragoman.runtime.processes.linux import Process
from tests.daemon import Daemon

from .common import eventually, pid_of
from .puppet import BEGIN, DONE, END, MESSAGE, PAUSE, Act, delta, prompt, write

MISDEEDS = Path(__file__).with_name("misdeeds.py")
WORDS = delta("There. ")
_numbers = itertools.count(1)


def token() -> str:
    """What is on a command line, and on no other."""
    return f"culprit-{os.getpid()}-{next(_numbers)}-{os.urandom(4).hex()}"


def misdeed(kind: str, name: str, *then: Act) -> str:
    """The prompt that makes the puppet start something, say so, and go on."""
    started: Act = ["start", [str(MISDEEDS), kind, name]]
    return prompt(started, *write(BEGIN + MESSAGE + WORDS), *(then or (["stay"],)))


def patience(pieces: int) -> str:
    """The prompt of a turn that takes this many moments."""
    said = [act for _ in range(pieces) for act in (*write(WORDS), PAUSE)]
    return prompt(*write(BEGIN + MESSAGE), *said, *write(DONE + END))


def with_token(name: str) -> set[int]:
    """Processes with this token on their command line; a zombie has no command line."""
    # Who is another one every moment may be missed by one look.
    return {each.pid for _ in range(3) for each in linux.everyone() if name in _words(each.pid)}


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def descendants(daemon: Daemon) -> list[Process]:
    """All that the daemon has started or adopted, dead or alive."""
    return list(_below(pid_of(daemon), list(linux.everyone())))


def _below(pid: int, everyone: list[Process]) -> Iterator[Process]:
    for process in everyone:
        if process.parent == pid:
            yield process
            yield from _below(process.pid, everyone)


def assert_nothing_left(daemon: Daemon, name: str, spared: Set[int] = frozenset()) -> None:
    """Nothing of it lives; and soon the daemon has no dead child either."""
    assert with_token(name) == set()
    left = [process for process in descendants(daemon) if process.pid not in spared]
    assert [process for process in left if not process.dead] == []
    eventually(
        lambda: not [each for each in descendants(daemon) if each.pid not in spared],
        "the daemon reaped what it adopted",
        seconds=5,
    )
