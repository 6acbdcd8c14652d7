"""Process trees that are being killed, and which tree a process belongs to."""

from __future__ import annotations

import logging
import signal
import time
from collections import defaultdict
from collections.abc import Iterable, Set
from concurrent.futures import Future

from dragoman.runtime.processes import linux
from dragoman.runtime.processes.linux import Process

log = logging.getLogger(__name__)
Family = dict[int, int]
"""Pids and their start times."""
SWEEP_S = 5.0
"""How long a sweep goes on; only what the kernel itself holds outlives it."""
_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02


class Sweep:
    """The end of a mark and a family: stopped, then killed, until nobody of them is found.

    What is found is stopped before anything is killed: who is stopped starts nothing, so even a
    process that only starts others is caught.
    """

    def __init__(self, mark: str, family: Family, looks: int) -> None:
        self.mark = mark
        self.family = family
        self.result: Future[int] = Future()
        """How many there were."""
        self.result.set_running_or_notify_cancel()  # who no longer waits stops nothing
        self.fresh = True
        """Nobody has looked for it yet."""
        self.due = 0.0
        """When the next look counts: the kernel needs a moment."""
        self._looks = looks
        self._deadline = 0.0
        self._stopped: set[tuple[int, int]] = set()
        self._grew = False
        self._restless = False
        self._killed: set[tuple[int, int]] = set()
        self._clean = self._attempts = 0

    @property
    def eldest(self) -> int:
        """When the first of them started: nobody is older than who started it."""
        return 0 if self.mark.endswith(":") else min(self.family.values(), default=0)

    def begin(self) -> None:
        """The first look is about to begin."""
        self.fresh = False
        self._deadline = time.monotonic() + SWEEP_S

    def stop(self, process: Process) -> None:
        """It belongs to them: stop it at once."""
        self.family[process.pid] = process.started
        identity = process.pid, process.started
        if identity not in self._stopped:
            linux.send_signal(*identity, signal.SIGSTOP)
            self._stopped.add(identity)
            self._grew = True

    def unsettle(self) -> None:
        """One has died who may have been of them, and may have handed over to another."""
        self._restless = True

    def look_ended(self, began: float, *, complete: bool) -> bool:
        """Kill whom the look found, unless there may be more; whether the sweep is over."""
        now = time.monotonic()
        late = now >= self._deadline
        grew, self._grew = self._grew, False
        too_soon = began < self.due and not self._stopped
        if not late and complete and (grew or too_soon):
            return False
        if complete or late:
            self._kill()
        else:  # who sees nobody because nobody can be seen must not say so
            self._clean = 0
        self._attempts += 1
        self.due = now + min(_PAUSE_S * self._attempts, _LONGEST_PAUSE_S)
        if self._clean < self._looks and not late:
            return False
        if self._clean < self._looks:
            log.error("not all processes of %s could be ended", self.mark)
        self.result.set_result(len(self._killed))
        return True

    def _kill(self) -> None:
        for pid, started in sorted(self._stopped, reverse=True):
            linux.send_signal(pid, started, signal.SIGKILL)
        self._clean = 0 if self._stopped or self._restless else self._clean + 1
        self._killed |= self._stopped
        self._stopped = set()
        self._restless = False


class Sweeps:
    """Those that one look is for."""

    def __init__(self, sweeps: Iterable[Sweep]) -> None:
        self.all = tuple(sweeps)
        self._eldest = {sweep: sweep.eldest for sweep in self.all}
        self._wide = [sweep for sweep in self.all if sweep.mark.endswith(":")]
        self._by_mark: dict[str, list[Sweep]] = defaultdict(list)
        self._by_pid: dict[int, list[Sweep]] = defaultdict(list)
        for sweep in self.all:
            self._by_mark[sweep.mark].append(sweep)
            for pid in sweep.family:
                self._by_pid[pid].append(sweep)

    def of_mark(self, mark: str | None) -> list[Sweep]:
        """Those that are to end whatever carries this mark."""
        if mark is None:
            return []
        wide = [sweep for sweep in self._wide if linux.covers(sweep.mark, mark)]
        return [*self._by_mark.get(mark, ()), *wide]

    def of_all_marks(self, marks: Set[str]) -> list[Sweep]:
        """Those that are to end something of these marks, if every one of them is to end."""
        found = [self.of_mark(mark) for mark in marks]
        if not all(found):
            return []
        return [sweep for each in found for sweep in each] if marks else list(self.all)

    def of_family(self, process: Process) -> list[Sweep]:
        """Those whose family it is in."""
        sweeps = self._by_pid.get(process.pid, ())
        return [sweep for sweep in sweeps if sweep.family[process.pid] == process.started]

    def of_relatives(self, process: Process) -> list[Sweep]:
        """Those in whose family its parent is, or who its session or group is called by."""
        # A pid is nobody else's while a session or group is called by it and its owner is there.
        near = {process.parent, process.session, process.group} - {process.pid}
        return [
            sweep
            for pid in near
            for sweep in self._by_pid.get(pid, ())
            if linux.lives(pid, sweep.family[pid])
        ]

    def stop(self, process: Process, found: Iterable[Sweep]) -> None:
        """Stop it on behalf of these, of which it can be."""
        for sweep in set(found):
            if process.started >= self._eldest[sweep]:
                sweep.stop(process)
                self._by_pid[process.pid].append(sweep)

    def unsettle(self, process: Process, marks: Set[str]) -> None:
        """This one has died; the marks are those of the families that knew it.

        One who is another every moment is seen by nobody, but leaves us his dead: they may be
        anybody's.
        """
        known = {*self.of_family(process), *(each for mark in marks for each in self.of_mark(mark))}
        for sweep in known if known or marks else self.all:
            sweep.unsettle()
