"""How far a script is: next step, open gates, used ids."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from dragoman.testing.model.requests import ModelRequest
from dragoman.testing.model.script import ScriptError, StepLike, parse
from dragoman.testing.model.steps import Step

SIDE = Step(text="A side request; it takes no step of the script.")
EXHAUSTED = "The script has no step left for this request."
UNMATCHED = "None of the {left} steps that are left is for this request."


class _Waiting:
    """A step that is yet to be served."""

    def __init__(self, step: Step, number: int) -> None:
        self.step = step
        self.number = number
        self.times = step.times


class Ids:
    """Ids that never repeat."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._used: set[str] = set()

    def take(self, prefix: str, wanted: str | None = None) -> str:
        """The id that is wanted, or a new one."""
        if wanted is not None:
            return wanted
        made = f"{prefix}_{next(self._numbers):06}"
        if made in self._used:
            return self.take(prefix)
        self._used.add(made)
        return made

    def reserve(self, wanted: Iterable[str]) -> None:
        """Keep ids from being given to others; raise ScriptError for one that is taken."""
        for each in wanted:
            if each in self._used:
                raise ScriptError(f"the id {each!r} is used twice; an id is never used again")
            self._used.add(each)


class ScriptProgress:
    """A script, and how far it is. Not thread-safe by itself."""

    def __init__(self) -> None:
        self.ids = Ids()
        self.gates: set[str] = set()
        self.exhausted: list[ModelRequest] = []
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count(1)

    @property
    def remaining(self) -> list[Step]:
        """The steps that were not served yet."""
        return [waiting.step for waiting in self._waiting]

    def add(self, given: Iterable[StepLike]) -> None:
        """Add steps at the end."""
        steps = parse(given)
        self.ids.reserve(each for step in steps for each in step.call_ids())
        for step in steps:
            self.gates |= step.gates()
            self._waiting.append(_Waiting(step, next(self._numbers)))

    def replace(self, given: Iterable[StepLike]) -> None:
        """Forget the steps that are left, and take these."""
        steps = parse(given)
        self._waiting.clear()
        self.add(steps)

    def take(self, request: ModelRequest) -> Step:
        """The step for a request; one that is not for the script gets an answer of its own."""
        if not request.is_main:
            return SIDE
        for waiting in self._waiting:
            if request.fits(waiting.step.when):
                return self._serve(waiting, request)
        self.exhausted.append(request)
        told = UNMATCHED.format(left=len(self._waiting)) if self._waiting else EXHAUSTED
        return Step(text=told)

    def _serve(self, waiting: _Waiting, request: ModelRequest) -> Step:
        request.step = waiting.number
        waiting.times -= 1
        if not waiting.times:
            self._waiting.remove(waiting)
        return waiting.step
