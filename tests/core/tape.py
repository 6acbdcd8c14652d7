"""Drafts become a stream of events, as the log would make it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from dragoman.core.normalize import Output
from dragoman.schema.events import Body, Draft, Event, SessionStarted
from dragoman.testing.conformance import Violation, check


def new_ids() -> Callable[[str], str]:
    """Ids that are unique, and the same in every run."""
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}_{next(numbers)}"


class Tape:
    """Stamps what a normalizer gives: sequence, id, time."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.events: list[Event] = []
        self.others: list[Output] = []
        self.record([Draft(SessionStarted())])

    @property
    def bodies(self) -> list[Body]:
        return [draft.body for draft in self.drafts]

    def record(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            if isinstance(output, Draft):
                self.drafts.append(output)
                self.events.append(self._stamp(output))
            else:
                self.others.append(output)

    def of(self, *types: str) -> list[Body]:
        return [body for body in self.bodies if body.type in types]

    def types(self) -> list[str]:
        return [body.type for body in self.bodies]

    def violations(self, *, strict: bool = True) -> list[Violation]:
        """What is wrong with it; that an agent was not understood is no fault of the stream."""
        found = check(self.events, strict=strict)
        return [violation for violation in found if violation.rule != "everything_parsed"]

    def _stamp(self, draft: Draft) -> Event:
        sequence = len(self.events) + 1
        return Event(
            event_id=f"evt_{sequence}",
            sequence=sequence,
            time=f"2026-01-27T19:10:11.{sequence:06}Z",
            session_id="s1",
            native_session_id=draft.native_session_id,
            synthetic=draft.source == "daemon",
            source=draft.source,
            type=draft.body.type,
            data=draft.body,
        )
