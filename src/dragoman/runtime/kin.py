"""Kin: the processes that we start, all that they start in turn, and how none of it is left.

One process has one set of children, so this module has one `kin`. Its methods may be called
from any thread.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from dragoman.runtime import linux
from dragoman.runtime.linux import Process

log = logging.getLogger(__name__)
Family = dict[int, int]
"""Pids and their start times."""
SWEEP_S = 5.0
"""How long a sweep goes on; only what the kernel itself holds outlives it."""
LOOKS = 3
"""How often nobody must be found: in the middle of an exec a process shows no environment."""
_NOBODY = "-"
"""A mark that no process carries."""
Pipe = int | IO[bytes]


class Child:
    """A process that we started; it is reaped by nobody but us."""

    def __init__(self, process: subprocess.Popen[bytes], started: int, mark: str) -> None:
        self.pid = process.pid
        self.started = started
        self.mark = mark
        self.family: Family = {self.pid: started}
        """It, and what was ever seen among its descendants."""
        self._process = process
        self._pen: linux.Pen | None = None

    def confine(self) -> None:
        """Let the kernel keep it and all that it starts together, where it can. Takes a moment."""
        self._pen = linux.pen(self.mark.partition(":")[0], self.pid, self.started)

    def end_pen(self) -> None:
        """Kill all that the kernel has kept together."""
        if self._pen is not None:
            self._pen.end()

    def keep(self, living: Mapping[int, Process]) -> Family:
        """Forget those of its family that are gone."""
        kept = {
            pid: started
            for pid, started in self.family.items()
            if pid == self.pid or (pid in living and living[pid].started == started)
        }
        self.family = kept
        return kept

    def reap(self, timeout_s: float = 0) -> int | None:
        """Its exit code, negative for a signal; None while it runs. It is forgotten then."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        kin.forget(self)
        if self._pen is not None:
            self._pen.remove()
        return code


class Kin:
    """Our children, and what became of theirs."""

    def __init__(self) -> None:
        self._own: dict[int, Child] = {}
        self._lock = threading.Lock()
        self._watching = threading.Lock()
        self._reaped = 0
        """How many of those that we adopted have ended."""
        self._adopts = False
        """Orphans come to us."""
        self._alone = False
        """Whatever is our child, and we did not start, comes from those that we did."""

    def adopt(self) -> None:
        """Become the parent of every orphan among our descendants."""
        linux.adopt_orphans()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who ignores it is never told exit codes
        self._adopts = True
        me = os.getpid()
        # The first process of a container gets everybody's orphans, and one that was started with
        # children has theirs: those are reaped, but they are not ours to end.
        self._alone = me != 1 and not any(each.parent == me for each in linux.everyone())

    def start(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        cwd: str | Path,
        mark: str,
        stdin: Pipe,
        stdout: Pipe,
        stderr: Pipe,
    ) -> Child:
        """Start a process in a session of its own, with these three files and no other.

        Raise OSError where it cannot be started.
        """
        with self._lock:  # who looks for adopted ones must not see it before it is known as ours
            process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env={**environ, linux.MARK: mark},
                start_new_session=True,
            )
            try:
                child = Child(process, linux.start_time(process.pid), mark)
            except OSError:
                process.kill()
                process.wait()
                raise
            self._own[child.pid] = child
        return child

    def forget(self, child: Child) -> None:
        """It was reaped."""
        with self._lock:
            if self._own.get(child.pid) is child:  # another one may have its pid by now
                del self._own[child.pid]

    def children(self) -> list[Child]:
        """Our children that run."""
        with self._lock:
            return list(self._own.values())

    def family(self) -> Family:
        """Our children that run, and what they are known to have started."""
        with self._lock:
            return {pid: at for child in self._own.values() for pid, at in child.family.items()}

    # --- Ending ---

    def sweep(self, mark: str, family: Family | None = None, *, looks: int = LOOKS) -> int:
        """Kill whatever carries this mark or belongs to this family, until none is left.

        How many there were. What is found is stopped before anything is killed: who is stopped
        starts nothing, so even a process that only starts others is caught.
        """
        family = {} if family is None else family
        killed: set[tuple[int, int]] = set()
        deadline = time.monotonic() + SWEEP_S
        clean = attempts = 0
        with self._lock:
            penned = [each for each in self._own.values() if linux.covers(mark, each.mark)]
        for child in penned:
            child.end_pen()
        while clean < looks and time.monotonic() < deadline:
            reaped = self._reaped
            try:
                found = self._stop(mark, family, deadline)
            except OSError:  # no descriptor is free: who sees nobody must not say so
                found, reaped = set(), -1
            for pid, started in sorted(found, reverse=True):
                linux.send_signal(pid, started, signal.SIGKILL)
            killed |= found
            # One who is another every moment is seen by nobody, but leaves his dead to us.
            clean = 0 if found or self._reaped > reaped else clean + 1
            attempts += 1
            if clean < looks:
                time.sleep(min(0.001 * attempts, 0.02))  # the kernel needs a moment
        if clean < looks:
            log.error("not all processes of %s could be ended", mark)
        return len(killed)

    def _stop(self, mark: str, family: Family, deadline: float) -> set[tuple[int, int]]:
        """Stop all of them, and look again until there is no new one."""
        stopped: set[tuple[int, int]] = set()
        while time.monotonic() < deadline:
            before = len(stopped)
            for process in self._kin_of(mark, family):
                identity = process.pid, process.started
                if identity not in stopped:
                    linux.send_signal(*identity, signal.SIGSTOP)
                    stopped.add(identity)
            if len(stopped) == before:
                break
        return stopped

    def _kin_of(self, mark: str, family: Family) -> Iterator[Process]:
        """Those that live, each as soon as it is met; all of them join the family."""
        eldest = min(family.values(), default=0) if not mark.endswith(":") else 0
        for process in self._others():
            if process.started < eldest:
                continue  # nobody is older than who started it
            if self._belongs(process, mark, family):
                family[process.pid] = process.started
                yield process

    def _belongs(self, process: Process, mark: str, family: Family) -> bool:
        if family.get(process.pid) == process.started:
            return True
        # A pid is nobody else's while a session or group is called by it and its owner is there.
        near = {process.parent, process.session, process.group} - {process.pid}
        if any(pid in family and _is(pid, family[pid]) for pid in near):
            return True
        found = linux.mark_on(process.pid)
        return linux.covers(mark, found) or self._is_stray(process, mark, found)

    def _is_stray(self, process: Process, mark: str, found: str | None) -> bool:
        """It left its family, and nobody with another mark can have started it."""
        if not self._alone or process.parent != os.getpid():
            return False
        with self._lock:
            elders = {each.mark for each in self._own.values() if each.started <= process.started}
            return (
                process.pid not in self._own
                and not any(each.mark == found for each in self._own.values())
                and all(linux.covers(mark, elder) for elder in elders)
            )

    # --- Watching ---

    def watch(self) -> list[tuple[str, Process]]:
        """Look around: learn who belongs to whom, before they lose each other, and reap.

        Those that joined a family without its mark, each with the mark that it should carry:
        nobody could find them after us.
        """
        if _childless():
            return []
        try:
            return self._watch()
        except OSError as error:
            log.warning("cannot look after processes: %s", error)
            return []

    def _watch(self) -> list[tuple[str, Process]]:
        with self._watching:
            everyone = {process.pid: process for process in self._others()}
            with self._lock:
                children = list(self._own.values())
            strangers = self._learn(everyone, children)
        if self._alone and any(self._is_stray(each, _NOBODY, "") for each in everyone.values()):
            self.sweep(_NOBODY)
        return strangers

    def _learn(
        self, everyone: Mapping[int, Process], children: list[Child]
    ) -> list[tuple[str, Process]]:
        parents = {pid: child for child in children for pid in child.keep(everyone)}
        strangers: list[tuple[str, Process]] = []
        for process in sorted(everyone.values(), key=lambda each: (each.started, each.pid)):
            if process.pid in parents:
                continue
            child = parents.get(process.parent) or self._parent_of_stray(process, children)
            if child is not None:
                parents[process.pid] = child
                child.family[process.pid] = process.started
                if linux.mark_on(process.pid) != child.mark:
                    strangers.append((child.mark, process))
        return strangers

    def _parent_of_stray(self, process: Process, children: list[Child]) -> Child | None:
        """The only one of our children that can have started what was left to us."""
        if not self._alone or process.parent != os.getpid():
            return None
        elders = [each for each in children if each.started <= process.started]
        if len(elders) != 1:
            return None
        mark = elders[0].mark
        return elders[0] if self._is_stray(process, mark, linux.mark_on(process.pid)) else None

    def _others(self) -> Iterator[Process]:
        """Everybody who lives but us. Of the dead, those whom we adopted are reaped.

        Never by waiting for just anybody: the exit codes of our own children are not to be lost.
        """
        me = os.getpid()
        for process in linux.everyone():
            if not process.dead:
                if process.pid != me:
                    yield process
            elif process.parent == me and self._adopts:
                self._reap(process.pid)

    def _reap(self, pid: int) -> None:
        with self._lock:
            if pid not in self._own:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
                    self._reaped += 1


def _childless() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # looks, and reaps nobody
    except ChildProcessError:
        return True
    return False


def _is(pid: int, started: int) -> bool:
    found = linux.look(pid)
    return found is not None and found.started == started


kin = Kin()
