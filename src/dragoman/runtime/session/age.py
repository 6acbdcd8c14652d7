"""How old a session is, where the wall clock may jump.

Each look compares the wall clock with one that nobody can set. What the wall clock went ahead of
that one did not pass. While no daemon runs, or the machine sleeps, nobody can tell: such a time
counts up to a limit.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

TOLERANCE_MS = 60_000
"""Clocks are set a little now and then."""
MAX_SKIPS = 100


class Skip(Struct, frozen=True, array_like=True):
    """A stretch of the wall clock that did not pass, as far as we know."""

    begin_ms: int
    end_ms: int


class ClockNote(Struct, frozen=True):
    """What a look leaves for the next one, also for that of the next daemon."""

    looked_at_ms: int
    skips: tuple[Skip, ...] = ()
    """In order, and none beyond the last look."""


def look(note: ClockNote, now_ms: int, seen_ms: int | None, limit_ms: int) -> ClockNote:
    """Look at the wall clock again, `seen_ms` later by the other one; None: nobody has seen it."""
    passed_ms = now_ms - note.looked_at_ms
    if passed_ms < 0:
        return ClockNote(now_ms, _before(note.skips, now_ms))
    counts_ms = min(passed_ms, limit_ms if seen_ms is None else min(seen_ms, limit_ms))
    if passed_ms - counts_ms <= TOLERANCE_MS:
        return ClockNote(now_ms, note.skips)
    return ClockNote(now_ms, _joined((*note.skips, Skip(note.looked_at_ms + counts_ms, now_ms))))


def since_ms(note: ClockNote, age_ms: int) -> int:
    """The time since when so much has passed, up to the last look."""
    found = note.looked_at_ms - age_ms
    for skip in reversed(note.skips):
        if found >= skip.end_ms:
            break
        found -= skip.end_ms - skip.begin_ms
    return found


def _before(skips: tuple[Skip, ...], now_ms: int) -> tuple[Skip, ...]:
    """The clock was set back: what lies ahead of it now was no skip, or is not one yet."""
    return tuple(
        Skip(skip.begin_ms, min(skip.end_ms, now_ms)) for skip in skips if skip.begin_ms < now_ms
    )


def _joined(skips: tuple[Skip, ...]) -> tuple[Skip, ...]:
    """No more than can be kept: what lies between the oldest is skipped too, which deletes less."""
    if len(skips) <= MAX_SKIPS:
        return skips
    return (Skip(skips[0].begin_ms, skips[1].end_ms), *skips[2:])


def load(path: Path) -> ClockNote | None:
    """The last look's note; None: there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ClockNote)
    except (OSError, msgspec.MsgspecError):
        return None


def save(path: Path, note: ClockNote) -> None:
    """Leave a note, whole or not at all. Raise OSError."""
    draft = path.with_name(f".{path.name}.partial")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(note))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
