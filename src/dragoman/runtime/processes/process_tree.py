"""The processes that we start and all that they start; kills them so that none is left.

One process has one set of children, so this module has one `process_tree`. Its methods may be
called from any thread.
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
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

from dragoman.runtime.processes import linux
from dragoman.runtime.processes.cgroup import Cgroup, create_cgroup
from dragoman.runtime.processes.linux import Process
from dragoman.runtime.processes.sweeps import SWEEP_S as SWEEP_S
from dragoman.runtime.processes.sweeps import Family as Family
from dragoman.runtime.processes.sweeps import Sweep, Sweeps

log = logging.getLogger(__name__)
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
        self._cgroup: Cgroup | None = None

    def confine(self) -> None:
        """Let the kernel keep it and all that it starts together, where it can. Takes a moment."""
        self._cgroup = create_cgroup(self.mark.partition(":")[0], self.pid, self.started)

    def kill_cgroup(self) -> None:
        """Kill all that the kernel has kept together."""
        if self._cgroup is not None:
            self._cgroup.kill()

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
        process_tree.forget(self)
        if self._cgroup is not None:
            self._cgroup.remove()
        return code


class ProcessTree:
    """Our children, and what became of theirs."""

    def __init__(self) -> None:
        self._own: dict[int, Child] = {}
        self._lock = threading.Lock()
        self.looks = 0
        """How often all of /proc was read."""
        self._looker = ThreadPoolExecutor(1, "look")
        self._changed = threading.Condition()
        """Guards the three that follow."""
        self._looking = False
        self._sweeps: list[Sweep] = []
        self._watchers: list[Future[None]] = []
        self._strangers: list[tuple[str, Process]] = []
        self._orphans: list[Process] = []
        """Our children that nobody of ours is known to have started."""
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

    def is_childless(self) -> bool:
        """Whether nobody at all is below us, neither started nor adopted."""
        return _childless()

    def has_member(self, line: Sequence[Process]) -> bool:
        """Whether a process with this line of ancestors descends from us, or is known to."""
        me, family = os.getpid(), self.family()
        marks = tuple(f"{child.mark.partition(':')[0]}:" for child in self.children())
        return any(
            each.pid == me
            or family.get(each.pid) == each.started
            or (linux.mark_on(each.pid) or "").startswith(marks)
            for each in line
        )

    # --- Ending ---

    def sweep(self, mark: str, family: Family | None = None, *, looks: int = LOOKS) -> int:
        """Kill whatever carries this mark or belongs to this family, until none is left.

        How many there were. For a thread, never for the event loop.
        """
        return self.submit_sweep(mark, family, looks=looks).result()

    def submit_sweep(
        self, mark: str, family: Family | None = None, *, looks: int = LOOKS
    ) -> Future[int]:
        """The same, for who has no thread to wait in."""
        sweep = Sweep(mark, {} if family is None else family, looks)
        with self._changed:
            self._sweeps.append(sweep)
            self._wake_looker()
        return sweep.result

    # --- Watching ---

    def watch(self) -> list[tuple[str, Process]]:
        """Look around: learn who belongs to whom, before they lose each other, and reap.

        Those that have joined a family without its mark, each with the mark that it should carry:
        nobody could find them after us. For a thread, never for the event loop.
        """
        self.submit_watch().result()
        with self._lock:
            orphaned = any(self._elders(each) == set() for each in self._orphans)
            strangers, self._strangers = self._strangers, []
        if orphaned:
            self.sweep(_NOBODY)
        return strangers

    def submit_watch(self) -> Future[None]:
        """Learn who belongs to whom, for who has no thread to wait in."""
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()
        if _childless():
            done.set_result(None)
            return done
        with self._changed:
            self._watchers.append(done)
            self._wake_looker()
        return done

    def _learn(self, everyone: Mapping[int, Process]) -> None:
        children = self.children()
        parents = {pid: child for child in children for pid in child.keep(everyone)}
        strangers: list[tuple[str, Process]] = []
        orphans: list[Process] = []
        for process in sorted(everyone.values(), key=lambda each: (each.started, each.pid)):
            if process.pid in parents:
                continue
            child = parents.get(process.parent) or self._parent_of_stray(process, children)
            if child is not None:
                parents[process.pid] = child
                child.family[process.pid] = process.started
                if linux.mark_on(process.pid) != child.mark:
                    strangers.append((child.mark, process))
            elif process.parent == os.getpid():
                orphans.append(process)
        with self._lock:
            self._strangers += strangers
            self._orphans = orphans

    def _parent_of_stray(self, process: Process, children: list[Child]) -> Child | None:
        """The only one of our children that can have started what was left to us."""
        if process.parent != os.getpid() or not self._alone:
            return None
        elders = [each for each in children if each.started <= process.started]
        if len(elders) != 1:
            return None
        found = linux.mark_on(process.pid)
        with self._lock:
            marks = self._elders(process, found)
        return elders[0] if marks == {elders[0].mark} else None

    def _elders(self, process: Process, found: str | None = "") -> set[str] | None:
        """The marks of all that can have started what was left to us; None: it was not.

        `found` is the mark that it carries: one of ours tells whose it is. Call with the lock.
        """
        if process.parent != os.getpid() or not self._alone or process.pid in self._own:
            return None
        if any(each.mark == found for each in self._own.values()):
            return None
        return {each.mark for each in self._own.values() if each.started <= process.started}

    # --- Looking ---

    def _wake_looker(self) -> None:
        """Have somebody look, where nobody does. Call with `_changed`."""
        if self._looking:
            self._changed.notify()
        else:
            self._looking = True
            self._looker.submit(self._work).add_done_callback(self._stopped_looking)

    def _stopped_looking(self, work: Future[None]) -> None:
        """Nobody waits for ever, whatever became of the one who looks."""
        error = work.exception()
        if error is not None:
            with self._changed:
                self._looking = False
                sweeps, self._sweeps = self._sweeps, []
                watchers, self._watchers = self._watchers, []
            for sweep in sweeps:
                if not sweep.result.done():
                    sweep.result.set_exception(error)
            for watcher in watchers:
                watcher.set_exception(error)

    def _work(self) -> None:
        """Look for as long as somebody needs it. A look that began after one asked is good for it.

        So however many end at once, all of /proc is read as often as for one of them.
        """
        while True:
            with self._changed:
                if not self._wait_until_due():
                    self._looking = False
                    return
                sweeps, watchers = Sweeps(self._sweeps), tuple(self._watchers)
            began = time.monotonic()
            complete = self._look(sweeps, learn=bool(watchers))
            over = {each for each in sweeps.all if each.look_ended(began, complete=complete)}
            with self._changed:
                self._sweeps = [each for each in self._sweeps if each not in over]
                self._watchers = self._watchers[len(watchers) :]
            for watcher in watchers:
                watcher.set_result(None)

    def _wait_until_due(self) -> bool:
        """Wait until somebody needs a look; False: nobody does."""
        while self._sweeps and not self._watchers:
            pause_s = min(each.due for each in self._sweeps) - time.monotonic()
            if pause_s <= 0:
                break
            self._changed.wait(pause_s)
        return bool(self._sweeps or self._watchers)

    def _look(self, sweeps: Sweeps, *, learn: bool) -> bool:
        """Look at everybody once; False: not everybody could be seen."""
        self.looks += 1
        self._kill_cgroups(Sweeps(each for each in sweeps.all if each.fresh))
        try:
            everyone = {process.pid: process for process in self._meet(sweeps)}
            if learn:
                self._learn(everyone)
        except OSError as error:  # no descriptor is free
            if learn:
                log.warning("cannot look after processes: %s", error)
            return False
        return True

    def _kill_cgroups(self, fresh: Sweeps) -> None:
        for sweep in fresh.all:
            sweep.begin()
        for child in self.children() if fresh.all else ():
            if fresh.of_mark(child.mark):
                child.kill_cgroup()

    def _meet(self, sweeps: Sweeps) -> Iterator[Process]:
        """Everybody who lives but us. Whom a sweep is for is stopped as soon as it is met."""
        me = os.getpid()
        for process in linux.everyone():
            if process.dead:
                if process.parent == me and self._adopts:
                    self._reap(process, sweeps)
            elif process.pid != me:
                if sweeps.all:
                    sweeps.stop(process, self._sweeps_of(process, sweeps))
                yield process

    def _sweeps_of(self, process: Process, sweeps: Sweeps) -> Iterator[Sweep]:
        yield from sweeps.of_family(process)
        yield from sweeps.of_relatives(process)
        found = linux.mark_on(process.pid)
        yield from sweeps.of_mark(found)
        with self._lock:
            elders = self._elders(process, found)
        if elders is not None:
            yield from sweeps.of_all_marks(elders)

    def _reap(self, process: Process, sweeps: Sweeps) -> None:
        """Reap one of the dead whom we adopted.

        Never by waiting for just anybody: the exit codes of our own children are not to be lost.
        """
        with self._lock:
            if process.pid in self._own:
                return
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
            own = self._own.values()
            marks = {each.mark for each in own if each.family.get(process.pid) == process.started}
        sweeps.unsettle(process, marks)


def _childless() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # looks, and reaps nobody
    except ChildProcessError:
        return True
    return False


process_tree = ProcessTree()
