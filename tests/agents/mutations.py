"""Recordings with something wrong in what the agent says, and what must hold of them all the same.

A mutation changes one of the agent's lines, or all lines of its kind: a field is removed, renamed,
retyped, repeated or put elsewhere, or the line itself is. Explicit data, so that what was found
once can be written down as an example.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Struct

from dragoman.adapter import Adapter, Converter, Requester, Spec
from dragoman.facts import Exit
from dragoman.schema.commands import Command
from dragoman.schema.events import (
    AgentUnparsed,
    Event,
    ItemStarted,
    SessionUpdated,
    encode,
)
from dragoman.steps import Step
from dragoman.testing.conformance import check_lines
from dragoman.testing.recordings.play import PlayResult, unaccounted
from dragoman.testing.recordings.transcript import Entry, Line, Run, Transcript
from dragoman.wire.jsonrpc import Reply
from tests.agents.recordings import Case

Path = tuple[str | int, ...]

NESTS = {f"{depth} deep": b"[" * depth + b"]" * depth for depth in (150, 900, 3000)}
"""What stands for nested lists, which Python could not all write, and what they are."""
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, -(10**6), 2**31, 2**63, 2**64, 10**30, 10**400, 1.5, -0.5, 1e30,
    -1e300, "", "x", "unheard_of", "-1", "\ud83d", "\x00", [], {}, [None], [[]], [{}], ["x"],
    {"x": None}, [1], {"type": "unheard_of"}, [{"type": "text"}], "[" * 3000 + "]" * 3000, *NESTS,
)  # fmt: skip
GARBAGE = (
    b"npm warn deprecated", b"{", b"[]", b"null", b"42", b'"text"', b"{}", b"\xff\xfe", b'{"type":',
    b'{"type":"unheard_of"}', b'{"method":"unheard/of","params":{}}', b'{"id":1}',
    b'{"jsonrpc":"2.0","id":"x","result":null}',
)  # fmt: skip


class Mutation(Struct, frozen=True):
    """What is wrong: how, in which of the agent's lines, and where in it."""

    how: str
    at: int
    path: Path = ()
    value: Any = None
    every: bool = False
    """In all lines of this kind that have such a place."""


# --- Within a line ---


def _remove(holder: Any, key: str | int, value: Any) -> None:
    del holder[key]


def _retype(holder: Any, key: str | int, value: Any) -> None:
    holder[key] = value


def _rename(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, dict):
        holder[f"{key}_"] = holder.pop(key)
    else:
        holder.insert(0, holder.pop(key))


def _repeat(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key] = [holder[key], holder[key]]


def _reorder(holder: Any, key: str | int, value: Any) -> None:
    if isinstance(holder, list):
        holder.reverse()
    else:
        turned = dict(reversed(holder.items()))
        holder.clear()
        holder.update(turned)


def _wrap(holder: Any, key: str | int, value: Any) -> None:
    holder[key] = {"value": holder[key]} if isinstance(holder[key], list) else [holder[key]]


def _negate(holder: Any, key: str | int, value: Any) -> None:
    old = holder[key]
    is_number = isinstance(old, int | float) and not isinstance(old, bool)
    holder[key] = -old - 1 if is_number else str(old)


BORROW = "borrow"
IN_LINES: dict[str, Callable[[Any, str | int, Any], None]] = {
    "remove": _remove,
    "retype": _retype,
    "rename": _rename,
    "repeat": _repeat,
    "reorder": _reorder,
    "wrap": _wrap,
    "negate": _negate,
}


def _within(line: bytes, mutation: Mutation) -> bytes:
    """The line with something wrong in it; as it is, where it has no such place."""
    holder = tree = read(line)
    try:
        for step in mutation.path[:-1]:
            holder = holder[step]
        IN_LINES[mutation.how](holder, mutation.path[-1], mutation.value)
    except (KeyError, IndexError, TypeError, AttributeError):
        return line
    return write(tree)


def read(line: bytes) -> Any:
    """A line as data; None where it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def write(tree: Any) -> bytes:
    """The line of data."""
    written = json.dumps(tree, separators=(",", ":")).encode()
    for name, nest in NESTS.items():
        written = written.replace(b'"%b"' % name.encode(), nest)
    return written


# --- Whole lines ---


def _lose(lines: list[bytes], at: int, value: Any) -> None:
    lines[at] = b""


def _double(lines: list[bytes], at: int, value: Any) -> None:
    lines[at] += b"\n" + lines[at]


def _swap(lines: list[bytes], at: int, value: Any) -> None:
    other = (at + 1 + value) % len(lines)
    lines[at], lines[other] = lines[other], lines[at]


def _late(lines: list[bytes], at: int, value: Any) -> None:
    other = min(len(lines) - 1, at + 1 + value)
    lines[other] += b"\n" + lines[at]
    lines[at] = b""


def _again(lines: list[bytes], at: int, value: Any) -> None:
    lines[min(len(lines) - 1, at + 1 + value)] += b"\n" + lines[at]


def _truncate(lines: list[bytes], at: int, value: Any) -> None:
    lines[at] = lines[at][: value % max(1, len(lines[at]))]


def _garble(lines: list[bytes], at: int, value: Any) -> None:
    lines[at] = GARBAGE[value % len(GARBAGE)]


OF_LINES: dict[str, Callable[[list[bytes], int, Any], None]] = {
    "lose": _lose,
    "double": _double,
    "swap": _swap,
    "late": _late,
    "again": _again,
    "truncate": _truncate,
    "garble": _garble,
}


# --- A recording ---


class Said(Struct, frozen=True):
    """What an agent says in a recording, over all its processes."""

    lines: tuple[bytes, ...]
    kinds: dict[tuple[str, ...], list[int]]
    """Which lines are of a kind."""

    def alike(self, at: int) -> list[int]:
        """The lines of the same kind."""
        return next(found for found in self.kinds.values() if at in found)


@cache
def transcript_of(case: Case) -> Transcript:
    """What was recorded."""
    return case.transcript()


@cache
def said(case: Case) -> Said:
    """What the agent says in it."""
    lines = [line.data for run in transcript_of(case) for line in run.lines("out")]
    kinds: dict[tuple[str, ...], list[int]] = {}
    for at, line in enumerate(lines):
        kinds.setdefault(tuple(_kind(read(line), 3)), []).append(at)
    return Said(tuple(lines), kinds)


def _kind(tree: Any, depth: int) -> Iterator[str]:
    if isinstance(tree, dict) and depth:
        for key, value in tree.items():
            if key in ("type", "subtype", "method", "kind", "state") and isinstance(value, str):
                yield value
            else:
                yield from _kind(value, depth - 1)


def mutate(case: Case, *mutations: Mutation) -> Transcript:
    """The recording with this wrong in it."""
    lines = list(said(case).lines)
    for mutation in mutations:
        at = mutation.at % len(lines)
        alike = said(case).alike(at)
        for each in alike if mutation.every else [at]:
            if mutation.how in OF_LINES:
                OF_LINES[mutation.how](lines, each, mutation.value)
            elif mutation.how == BORROW:
                lines[each] = _borrowed(lines, each, alike, mutation)
            else:
                lines[each] = _within(lines[each], mutation)
    rest = iter(lines)
    return tuple(_spoken(run, rest) for run in transcript_of(case))


def _borrowed(lines: list[bytes], at: int, alike: list[int], mutation: Mutation) -> bytes:
    """The line with what stands at this place in another of its kind, e.g. that one's id."""
    found = read(lines[alike[mutation.value % len(alike)]])
    try:
        for step in mutation.path:
            found = found[step]
    except (KeyError, IndexError, TypeError):
        return lines[at]
    return _within(lines[at], Mutation("retype", at, mutation.path, found))


def _spoken(run: Run, lines: Iterator[bytes]) -> Run:
    entries: list[Entry] = []
    for entry in run.entries:
        if isinstance(entry, Line) and entry.dir == "out":
            said = next(lines).split(b"\n")
            entries += [msgspec.structs.replace(entry, data=line) for line in said if line]
        else:
            entries.append(entry)
    return msgspec.structs.replace(run, entries=tuple(entries))


# --- Any mutation ---


def mutations(case: Case) -> st.SearchStrategy[tuple[Mutation, ...]]:
    """Up to three things that are wrong at once."""
    return st.lists(_mutation(case), min_size=1, max_size=3).map(tuple)


@st.composite
def _mutation(draw: st.DrawFn, case: Case) -> Mutation:
    # By kind first: what is said once matters no less than what is said in a hundred pieces.
    kind = draw(st.sampled_from(list(said(case).kinds.values())))
    at = draw(st.sampled_from(kind))
    every = draw(st.booleans())
    places = _places(case, at)
    if not places or draw(st.integers(0, 3)) == 0:
        how = draw(st.sampled_from(list(OF_LINES)))
        return Mutation(how, at, value=draw(st.integers(0, 40)), every=every)
    how = draw(st.sampled_from(["retype", *IN_LINES, BORROW]))
    path = draw(st.sampled_from(places))
    values = {"retype": st.sampled_from(VALUES), BORROW: st.integers(0, 40)}
    return Mutation(how, at, path, draw(values.get(how, st.none())), every)


@cache
def _places(case: Case, at: int) -> list[Path]:
    return list(_paths(read(said(case).lines[at])))


def _paths(tree: Any, *above: str | int) -> Iterator[Path]:
    pairs: Iterable[tuple[str | int, Any]] = ()
    if isinstance(tree, dict):
        pairs = tree.items()
    elif isinstance(tree, list):
        pairs = enumerate(tree)
    for key, value in pairs:
        yield (*above, key)
        yield from _paths(value, *above, key)


# --- What must hold ---


class Defect(BaseException):
    """A converter fails by itself. No Exception: the house would turn it into an event."""


class Watched:
    """A converter that hides no failure of its own."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def command(self, command: Command) -> Iterator[Step]:
        """As the converter does."""
        return self._watched(lambda: self._converter.command(command))

    def receive(self, message: bytes) -> Iterator[Step]:
        """As the converter does."""
        return self._watched(lambda: self._converter.receive(message))

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """As the converter does, if it makes requests."""
        assert isinstance(self._converter, Requester)
        converter = self._converter
        return self._watched(lambda: converter.on_reply(tag, reply))

    def steers(self) -> bool:
        """As the converter does."""
        return self._converter.steers()

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """As the converter does."""
        return self._watched(lambda: self._converter.on_open(spec))

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """As the converter does."""
        return self._watched(lambda: self._converter.on_close(exit))

    def _watched(self, steps: Callable[[], Iterable[Step]]) -> Iterator[Step]:
        begun = False
        try:
            for step in steps():
                begun = True
                yield step
        except msgspec.MsgspecError as error:
            if begun:
                raise Defect("raised after a step") from error
            raise
        except Exception as error:
            raise Defect(f"{type(error).__name__}: {error}") from error


_OWN_FAILURE = re.compile(r"[A-Z]\w*(Error|Exception|Interrupt|Iteration): ")
"""How `core/interpreter` tells of what is no msgspec error, also of the normalizer."""


def faults(case: Case, transcript: Transcript) -> list[str]:
    """What does not hold of a recording. Raise Defect."""
    adapter = msgspec.structs.replace(
        case.adapter, converter=lambda spec: Watched(case.adapter.converter(spec))
    )
    played = case.play(transcript, adapter)
    return [
        *_broken_rules(played),
        *_own_failures(played.events),
        *(f"bad number: {number}" for event in played.events for number in _bad_numbers(event)),
        *(f"vanished: {line!r}" for line in _vanished(adapter, played)),
    ]


def _broken_rules(played: PlayResult) -> Iterator[str]:
    for broken in check_lines(map(encode, played.events), strict=True):
        event = played.events[broken.sequence - 1]
        if broken.rule == "everything_parsed" or _joins(broken.rule, event, played):
            continue
        yield f"{broken.rule}: {broken.message} (event {broken.sequence})"


def _joins(rule: str, event: Event, played: PlayResult) -> bool:
    """Whether it is only a message that joins a turn which the agent began by itself."""
    if rule != "prompt_comes_first" or not isinstance(event.data, ItemStarted):
        return False
    return event.data.item.message_id in played.sent_in_turn


def _own_failures(events: tuple[Event, ...]) -> Iterator[str]:
    for event in events:
        if isinstance(event.data, AgentUnparsed) and _OWN_FAILURE.match(event.data.error):
            yield f"raised: {event.data.error}"


def _bad_numbers(event: Event) -> Iterator[str]:
    data = msgspec.to_builtins(event.data)
    counted = data.get("context") if isinstance(event.data, SessionUpdated) else data.get("usage")
    yield from _below_zero(counted)


def _below_zero(tree: Any, *path: str) -> Iterator[str]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _below_zero(value, *path, key)
    elif isinstance(tree, int | float) and not 0 <= tree < 10**15:
        yield f"{'.'.join(path)} is {tree}"


def _vanished(adapter: Adapter, played: PlayResult) -> Iterator[bytes]:
    # What a shared process says to somebody whom nobody knows is in that process's own log.
    elsewhere = {id(line) for line in played.unclaimed}
    return (line for line in unaccounted(adapter, played) if id(line) not in elsewhere)
