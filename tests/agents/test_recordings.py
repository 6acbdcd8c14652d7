"""Every recording of every agent, played into its adapter: the same tests for all of them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator

import msgspec
import pytest

from dragoman.schema.events import Event, ItemCompleted
from dragoman.schema.items import Text
from dragoman.testing.conformance import Violation, check
from dragoman.testing.recordings.play import PlayResult, share, unaccounted
from dragoman.testing.recordings.transcript import Entry, Line, Run, Transcript
from tests.agents.recordings import Case, cases, events_of

MISHAPS_OF_A_KIND = 6


@pytest.fixture(scope="module", params=cases(), ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """A recording. All tests of one stand together, so that it is read and played once."""
    found: Case = request.param
    return found


@pytest.fixture(scope="module")
def transcript(case: Case) -> Transcript:
    """What was recorded."""
    return case.transcript()


@pytest.fixture(scope="module")
def played(case: Case, transcript: Transcript) -> PlayResult:
    """What comes of it."""
    return case.play(transcript)


def violations(events: tuple[Event, ...]) -> list[Violation]:
    """What is wrong, but for what was not understood."""
    found = check(events, strict=True)
    return [violation for violation in found if violation.rule != "everything_parsed"]


def test_a_recording_becomes_the_expected_events(case: Case, played: PlayResult) -> None:
    if case.golden is None:
        pytest.skip("a further recording, of which only the rules are checked")
    assert case.golden.exists(), "run `make goldens`, and read what it wrote"
    assert events_of(played).splitlines() == case.golden.read_bytes().splitlines()


def test_a_recording_conforms(played: PlayResult) -> None:
    assert violations(played.events) == []


def test_a_recording_is_understood(case: Case, played: PlayResult) -> None:
    unparsed = [event.data for event in played.events if event.type == "agent.unparsed"]
    assert bool(unparsed) == case.may_be_unparsed, unparsed


def test_nothing_vanishes(case: Case, played: PlayResult) -> None:
    sys.stdout.write(f"{case}: {share(case.adapter, played)}\n")
    assert unaccounted(case.adapter, played) == []


def test_a_persons_words_are_the_agents_only_where_it_repeats_them(played: PlayResult) -> None:
    """Before, they were told as Claude Code's where it had named the message, and no more."""
    for event in played.events:
        body = event.data
        if not isinstance(body, ItemCompleted) or event.source == "daemon":
            continue
        if body.item.role == "user" and body.item.kind == "message":
            told = [part.text for part in body.item.content if isinstance(part, Text)]
            assert all(text in _strings(event.raw) for text in told if text)


def _strings(value: object) -> str:
    """All text in a native message."""
    match value:
        case str():
            return value
        case dict():
            return "\n".join(map(_strings, value.values()))
        case list():
            return "\n".join(map(_strings, value))
        case _:
            return ""


# --- Corruptions ---

Entries = list[Entry]


def lose(entries: Entries, at: int, following: int) -> None:
    del entries[at]


def double(entries: Entries, at: int, following: int) -> None:
    entries.insert(at, entries[at])


def swap(entries: Entries, at: int, following: int) -> None:
    entries[at], entries[following] = entries[following], entries[at]


Corruption = Callable[[Entries, int, int], None]


def harmed(
    transcript: Transcript, corruption: Corruption, seed: str
) -> Iterator[tuple[int, Transcript]]:
    """The recording with one corruption, at each of a few lines of the agent."""
    for number, run in enumerate(transcript):
        said = [
            at
            for at, entry in enumerate(run.entries)
            if isinstance(entry, Line) and entry.dir == "out"
        ]
        pairs = list(zip(said, [*said[1:], *said[-1:]], strict=True))
        chance = random.Random(f"{seed} {number}")
        for at, following in chance.sample(pairs, min(len(pairs), MISHAPS_OF_A_KIND)):
            entries = list(run.entries)
            corruption(entries, at, following)
            changed: Run = msgspec.structs.replace(run, entries=tuple(entries))
            yield at, (*transcript[:number], changed, *transcript[number + 1 :])


LATE_ANSWER = ("claude-an_answer_whose_stream_breaks_is_said_anew_error_in_block", "swap", 13)
"""A whole answer after the result of its turn opens a turn, into which the next prompt falls."""


@pytest.mark.parametrize("corruption", [lose, double, swap])
def test_a_corruption_breaks_no_rule(
    case: Case, transcript: Transcript, corruption: Corruption
) -> None:
    for at, changed in harmed(transcript, corruption, str(case)):
        if (str(case), corruption.__name__, at) == LATE_ANSWER:
            continue
        assert violations(case.play(changed).events) == [], f"{corruption.__name__} {at}"
