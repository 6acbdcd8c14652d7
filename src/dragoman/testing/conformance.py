"""Checks a stream of events against the rules that every stream keeps.

violations = check(events)
assert not violations
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from dragoman.schema.events import Event, decode
from dragoman.testing import item_rules as item_rules  # registers its rules
from dragoman.testing import stream_rules
from dragoman.testing.stream_state import Ledger

VALID_EVENT = "valid_event"

RULES: dict[str, str] = {
    VALID_EVENT: "Every line is an event.",
    **{name: sentence.partition("\n")[0] for name, sentence in stream_rules.RULES.items()},
}
"""Every rule's name, and what it demands in one sentence."""


class Violation(Struct, frozen=True, kw_only=True):
    """A rule that an event breaks, and how."""

    rule: str
    sequence: int
    message: str


class Checker:
    """Judges a stream event by event. Keeps the content of what is open, and ids."""

    def __init__(self, *, strict: bool = False) -> None:
        self._ledger = Ledger(strict=strict)

    def see(self, event: Event) -> list[Violation]:
        """Judge the next event by what came before it."""
        found = list(self._judge(event))
        self._ledger.advance(event)
        return found

    def see_line(self, line: bytes) -> list[Violation]:
        """Judge the next event as it stands on the wire."""
        try:
            event = decode(line)
        except msgspec.MsgspecError as error:
            # Its number is spent, so that one bad line is one violation.
            self._ledger.sequence += 1
            sequence = self._ledger.sequence
            return [Violation(rule=VALID_EVENT, sequence=sequence, message=str(error))]
        return self.see(event)

    def _judge(self, event: Event) -> Iterator[Violation]:
        body = event.data
        for rule, judge in stream_rules.OF_ENVELOPES:
            for message in judge(self._ledger, event):
                yield Violation(rule=rule, sequence=event.sequence, message=message)
        for rule, judge in stream_rules.OF_BODIES.get(type(body), ()):
            for message in judge(self._ledger, body):
                yield Violation(rule=rule, sequence=event.sequence, message=message)


def check(events: Iterable[Event], *, strict: bool = False) -> list[Violation]:
    """Check a session's stream from its first event on; `strict` is for recordings.

    A stream may stop anywhere: what is open at its end is no violation unless the session ended.
    """
    checker = Checker(strict=strict)
    return [violation for event in events for violation in checker.see(event)]


def check_lines(lines: Iterable[bytes], *, strict: bool = False) -> list[Violation]:
    """Check a session's stream as it stands on the wire or in a file, one event a line."""
    checker = Checker(strict=strict)
    return [violation for line in lines for violation in checker.see_line(line)]
