"""Kills processes that an earlier daemon left behind."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from dragoman.errors import DragomanError
from dragoman.runtime.processes import linux
from dragoman.runtime.processes.cgroup import cgroups_of
from dragoman.runtime.processes.process_tree import Family, process_tree
from dragoman.store import ProcessRow, Store

log = logging.getLogger(__name__)
WATCH_S = 1.0
NO_MARK = "none:"
LOOKS = 10
"""What others have adopted is seen only while it lives, so a start looks more often."""


async def remember(store: Store | None, mark: str, pid: int, started: int) -> None:
    """Write a process down. If that fails its mark still finds it."""
    if store is not None:
        row = ProcessRow(mark=mark, pid=pid, started=started, boot=linux.boot())
        try:
            await store.process_started(row)
        except DragomanError as error:
            log.warning("process %d is not written down: %s", pid, error)


async def forget(store: Store | None, mark: str) -> None:
    """Nothing is left of what carries this mark."""
    if store is not None:
        try:
            await store.processes_gone(mark)
        except DragomanError as error:
            log.warning("the processes of %s are still written down: %s", mark, error)


async def watch(store: Store) -> None:
    """Reap what we adopted, and write down what only we can find, for as long as we live."""
    while True:
        await asyncio.sleep(WATCH_S)
        for mark, process in await asyncio.to_thread(process_tree.watch):
            await remember(store, mark, process.pid, process.started)


async def end_all(store: Store, folder: Path) -> None:
    """End whatever still runs on behalf of a folder: the daemon stops."""
    # Where the folder is another one by now, its mark may be on what another daemon has started.
    mark = f"{linux.mark_of(folder)}:" if store.lost_files() is None else NO_MARK
    count = await asyncio.to_thread(process_tree.sweep, mark, process_tree.family())
    if count:
        log.warning("ended %d processes at the very end", count)
    await forget(store, mark)


async def kill_stale(store: Store, mark: str) -> int:
    """End what the last daemon left, by what it wrote down and by its marks; how many."""
    boot = linux.boot()
    family: Family = {}
    for row in await store.processes():
        if not row.mark.startswith(f"{mark}:"):
            continue  # this folder is a copy: they are the agents of the daemon it was copied from
        found = linux.look(row.pid) if row.boot == boot else None
        if found is not None and found.started == row.started:
            family[row.pid] = row.started
    cgroups = cgroups_of(mark)
    count = sum(cgroup.kill() for cgroup in cgroups)
    count += await asyncio.to_thread(process_tree.sweep, f"{mark}:", family, looks=LOOKS)
    for cgroup in cgroups:
        cgroup.remove()
    await forget(store, "")
    return count
