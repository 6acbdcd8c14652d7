"""Limits how many processes and turns run at once; who waits is served in order."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.errors import TooManyRequests

Call = Callable[[], None]


class ConcurrencyLimits:
    """Who has a process, who has a turn, and who waits for either; 0: there is no limit.

    A turn and the process for it are given together, so that no two sessions can wait for what
    the other one holds. Whoever waits is passed only by those who need less.
    """

    def __init__(self, max_processes: int, max_turns: int) -> None:
        self._most = {"max_processes": max_processes, "max_turns": max_turns}
        self._off = not max_processes and not max_turns
        self._processes: set[str] = set()
        self._turns: set[str] = set()
        self._granted: set[str] = set()
        """Who was given a turn that has not begun."""
        self._line: dict[str, Call] = {}
        """Who waits, and how to wake them; the first to ask comes first."""
        self._spare: dict[str, Call] = {}
        """Whose process does nothing, and how to end it; idle for longest comes first."""
        self._leaving: set[str] = set()

    def may_work(self, who: str, wake: Call) -> bool:
        """Whether `who` may have a turn now; else `wake` is called when it may."""
        if self._off or who in self._granted:
            return True
        self._line.setdefault(who, wake)
        self._serve()
        return who not in self._line

    def claim(self, who: str, wake: Call) -> TooManyRequests | None:
        """Take places for a message that is not accepted yet; the error where there are none."""
        if self.may_work(who, wake):
            return None
        lacking = self._lacks(who)
        if lacking == "max_processes" and len(self._leaving) >= len(self._wanting()):
            return None  # somebody idle makes room for it
        del self._line[who]
        assert lacking is not None
        most = self._most[lacking]
        what = "turns run" if lacking == "max_turns" else "sessions run a process"
        return TooManyRequests(
            f"{most} {what} already, and {lacking} is {most}; try again when one has ended",
            limit=lacking,
            most=most,
        )

    def note(self, who: str, *, process: bool, turn: bool, wants: bool, spare: Call | None) -> None:
        """How things stand with `who`: what it does, whether it wants to, and what it can spare."""
        if self._off:
            return
        waits = wants and who in self._granted
        _keep(self._processes, who, process or waits)
        _keep(self._turns, who, turn or waits)
        if turn or not wants:
            self._granted.discard(who)
            self._line.pop(who, None)
        if spare is None or who in self._granted:
            self._spare.pop(who, None)
            self._leaving.discard(who)
        elif who not in self._leaving:
            self._spare.setdefault(who, spare)
        self._serve()

    def release(self, who: str) -> None:
        """`who` does nothing any more."""
        self.note(who, process=False, turn=False, wants=False, spare=None)

    def _lacks(self, who: str) -> str | None:
        most_turns, most_processes = self._most["max_turns"], self._most["max_processes"]
        if most_turns and who not in self._turns and len(self._turns) >= most_turns:
            return "max_turns"
        has_process = who in self._processes and who not in self._leaving
        if most_processes and not has_process and len(self._processes) >= most_processes:
            return "max_processes"
        return None

    def _wanting(self) -> list[str]:
        """Who waits for a process."""
        return [who for who in self._line if self._lacks(who) == "max_processes"]

    def _serve(self) -> None:
        for who, wake in list(self._line.items()):
            if self._lacks(who) is None:
                del self._line[who]
                self._turns.add(who)
                self._processes.add(who)
                self._granted.add(who)
                self._spare.pop(who, None)
                self._leaving.discard(who)
                wake()
        while self._spare and len(self._leaving) < len(self._wanting()):
            who = next(iter(self._spare))
            self._leaving.add(who)
            self._spare.pop(who)()


def _keep(among: set[str], who: str, kept: bool) -> None:
    if kept:
        among.add(who)
    else:
        among.discard(who)
