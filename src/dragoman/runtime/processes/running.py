"""Lists the processes that run: for whom, since when, what they started and cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from dragoman.runtime.processes import linux
from dragoman.runtime.processes.process_tree import Child, process_tree
from dragoman.schema.http import AgentProcess, ProcessInfo, ProcessList

LONGEST_COMMAND = 200


class Holder(Struct, frozen=True):
    """Whom a process serves."""

    purpose: Literal["session", "shared", "other"]
    agent: str | None = None
    session_ids: tuple[str, ...] = ()


Below = dict[int, list[linux.Process]]
"""Each process's children, by its pid."""
_NOBODY = Holder("other")


def running_processes(holders: Mapping[str, Holder]) -> ProcessList:
    """Look at all our processes; `holders` tells, by mark, whose they are. Takes a moment."""
    living = {process.pid: process for process in linux.everyone()}
    below: Below = defaultdict(list)
    for process in living.values():
        below[process.parent].append(process)
    found = (_entry(child, holders, living, below) for child in process_tree.children())
    entries = sorted((entry for entry in found if entry), key=lambda entry: entry.started_at)
    return ProcessList(processes=tuple(entries))


def _entry(
    child: Child,
    holders: Mapping[str, Holder],
    living: Mapping[int, linux.Process],
    below: Below,
) -> AgentProcess | None:
    tree = tuple(info for info in map(_info, _family(child, living, below)) if info is not None)
    if not tree or tree[0].pid != child.pid:
        return None
    # A session's commands have its mark, with their own names behind it.
    holder = holders.get(child.mark.partition("/")[0], _NOBODY)
    return AgentProcess(
        pid=child.pid,
        purpose=holder.purpose,
        agent=holder.agent,
        session_ids=holder.session_ids,
        started_at=tree[0].started_at,
        memory_bytes=sum(info.memory_bytes for info in tree),
        cpu_ms=sum(info.cpu_ms for info in tree),
        tree=tree,
    )


def _family(child: Child, living: Mapping[int, linux.Process], below: Below) -> list[linux.Process]:
    """It, its descendants as they are, and those that it is known to have had."""
    known = dict(child.family)
    found = [living[pid] for pid in known if pid in living and living[pid].started == known[pid]]
    pids = {process.pid for process in found}
    for process in found:  # it grows while we walk
        young = [each for each in below.get(process.pid, ()) if each.pid not in pids]
        pids |= {each.pid for each in young}
        found += young
    return found


def _info(process: linux.Process) -> ProcessInfo | None:
    usage = linux.usage(process.pid)
    if usage is None:
        return None
    return ProcessInfo(
        pid=process.pid,
        parent_pid=process.parent,
        command=usage.command[:LONGEST_COMMAND],
        state=process.state,
        started_at=int(usage.started_at * 1000),
        memory_bytes=usage.memory_bytes,
        cpu_ms=int(usage.cpu_s * 1000),
    )
