"""An older copy of a data folder in the place of what came later, and what was read before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.daemon import Daemon, running

KEPT, READ, NOW = 59, 96, 67
"""The log was copied at 59, read up to 96, put back, and went on to 67 with other events."""
ORIGIN = "00" * 16


class Case(Struct):
    """A daemon whose folder was replaced by an older copy, and what was read before."""

    daemon: Daemon
    before: list[dict[str, Any]]
    links: list[str]
    """By sequence, from 0 on, as pages told them before."""


@contextmanager
def older_copy(folder: Path) -> Iterator[Case]:
    """No command of ours was used: somebody copied the folder back."""
    with running(folder / "data") as daemon:
        begin(daemon)
        copy = copied(daemon, folder / "copy")
        daemon.turn("s", "burst 30 10")
        before = daemon.events("s")
        links = [ORIGIN, *(link_at(daemon, at) for at in range(1, READ + 1))]
        assert len(before) == READ
        put_back(daemon, copy)
        daemon.turn("s", "echo other")
        assert len(daemon.events("s")) == NOW
        yield Case(daemon, before, links)


def begin(daemon: Daemon) -> None:
    """A session with as many events as are kept."""
    daemon.create("s")
    daemon.turn("s", "burst 50 10")
    assert len(daemon.events("s")) == KEPT


def copied(daemon: Daemon, copy: Path) -> Path:
    """A copy of the data folder, taken while nobody uses it."""
    daemon.stop()
    shutil.copytree(daemon.data_dir, copy)
    daemon.start()
    return copy


def put_back(daemon: Daemon, copy: Path) -> None:
    """The older copy in the place of the folder, and a daemon on it."""
    daemon.stop()
    shutil.rmtree(daemon.data_dir)
    shutil.copytree(copy, daemon.data_dir)
    daemon.start()


def link_at(daemon: Daemon, sequence: int) -> str:
    """The link of an event, as a page tells it."""
    page = daemon.get(f"/sessions/s/events?offset={sequence - 1}&limit=1")
    return str(page["chain"])
