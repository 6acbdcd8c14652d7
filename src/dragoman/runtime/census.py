"""What runs now: for whom, since when, with what below it, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from dragoman.runtime import linux
from dragoman.runtime.kin import Child, kin
from dragoman.schema.http import AgentProcess, ProcessInfo, ProcessList

LONGEST_COMMAND = 200


class Holder(Struct, frozen=True):
    """Whom a process serves."""

    purpose: Literal["session", "shared", "other"]
    agent: str | None = None
    session_ids: tuple[str, ...] = ()


_NOBODY = Holder("other")


def census(holders: Mapping[str, Holder]) -> ProcessList:
    """Look at all our processes; `holders` tells, by mark, whose they are. Takes a moment."""
    living = {process.pid: process for process in linux.everyone()}
    found = (_entry(child, holders, living) for child in kin.children())
    entries = sorted((entry for entry in found if entry), key=lambda entry: entry.started_at)
    return ProcessList(processes=tuple(entries))


def _entry(
    child: Child, holders: Mapping[str, Holder], living: Mapping[int, linux.Process]
) -> AgentProcess | None:
    tree = tuple(info for info in map(_info, _family(child, living)) if info is not None)
    if not tree or tree[0].pid != child.pid:
        return None
    holder = holders.get(child.mark, _NOBODY)
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


def _family(child: Child, living: Mapping[int, linux.Process]) -> list[linux.Process]:
    """It, its descendants as they are, and those that it is known to have had."""
    known = dict(child.family)
    found = [living[pid] for pid in known if pid in living and living[pid].started == known[pid]]
    pids = {process.pid for process in found}
    grown = True
    while grown:
        young = [each for each in living.values() if each.parent in pids and each.pid not in pids]
        pids |= {process.pid for process in young}
        found += young
        grown = bool(young)
    return found


def _info(process: linux.Process) -> ProcessInfo | None:
    vitals = linux.vitals(process.pid)
    if vitals is None:
        return None
    return ProcessInfo(
        pid=process.pid,
        parent_pid=process.parent,
        command=vitals.command[:LONGEST_COMMAND],
        state=process.state,
        started_at=int(vitals.started_at * 1000),
        memory_bytes=vitals.memory_bytes,
        cpu_ms=int(vitals.cpu_s * 1000),
    )
