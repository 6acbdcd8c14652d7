"""Learns what differs between a recording and now: ids, paths, words. Pure.

A line that was recorded towards the agent is compared with the one that really comes. Where
they say the same thing with other names, the names are learned, and everything that the agent
said later is played with today's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from dragoman.wire.decode import is_deep

MIN_CHARS = 6
"""Shorter words are too common to be replaced wherever they stand, unless they are ids."""
SHOWN_CHARS = 300

_TELLING = ("type", "subtype", "method", "behavior", "decision", "action", "outcome")
"""Keys whose values say what kind of message it is, or what a person decided."""
_TELLING_DEPTH = 2
_ID = re.compile(r"(?:^|_)(?:u?u?id|key)$|(?:Id|ID|Uuid|UUID)$")
_encode = msgspec.json.Encoder().encode


class Mismatch(Exception):
    """What came is not what was recorded, but something else."""

    def __init__(self, expected: bytes, came: bytes, why: str) -> None:
        shown = [text.decode(errors="replace")[:SHOWN_CHARS] for text in (expected, came)]
        super().__init__(f"{why}\nexpected: {shown[0]}\ncame:     {shown[1]}")


def difference(recorded: bytes, came: bytes, *, lenient: bool = False) -> str | None:
    """Why two lines are of different kinds; None: they are of the same.

    `lenient`: one of them may have keys that the other has not.
    """
    one, other = _json(recorded), _json(came)
    if not isinstance(one, dict) or not isinstance(other, dict):
        return None if type(one) is type(other) else "one of them is no JSON object"
    keys = [{name for name, value in each.items() if value is not None} for each in (one, other)]
    fits = keys[0] <= keys[1] or keys[1] <= keys[0] if lenient else keys[0] == keys[1]
    if not fits:
        return f"other keys: {', '.join(sorted(keys[0] ^ keys[1]))}"
    return _telling(one, other, _TELLING_DEPTH)


def _telling(one: dict[str, Any], other: dict[str, Any], depth: int) -> str | None:
    for name in _TELLING:
        if one.get(name) != other.get(name):
            return f"another {name}: {one.get(name)!r}, {other.get(name)!r}"
    for name, value in one.items():
        inner = other.get(name)
        if depth and isinstance(value, dict) and isinstance(inner, dict):
            found = _telling(value, inner, depth - 1)
            if found is not None:
                return found
    return None


class Substitutions:
    """Names of the recording → names of today."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._ids: dict[str | int, str | int] = {}
        self._pattern: re.Pattern[str] | None = None

    def learn(self, recorded: bytes, came: bytes, *, lenient: bool = False) -> None:
        """Take a line as recorded, and as it came. Raise Mismatch."""
        why = difference(recorded, came, lenient=lenient)
        if why is not None:
            raise Mismatch(recorded, came, why)
        self._compare("", _json(recorded), _json(came))

    def learn_ids(self, recorded: Any, came: Any) -> None:
        """Take values as recorded, and as they came: only the ids in them are compared."""
        self._compare("", recorded, came, ids_only=True)

    def learn_argv(self, recorded: Sequence[str], came: Sequence[str]) -> None:
        """Take the flags as recorded, and as they came: those of the same name are compared."""
        flags = _flags(came)
        for name, value in _flags(recorded).items():
            if value is not None and flags.get(name) is not None:
                self._compare(name, value, flags[name])

    def learn_word(self, recorded: str, came: str) -> None:
        """Take a word as recorded, and as it is today."""
        if recorded != came and len(recorded) >= MIN_CHARS:
            self._words[recorded] = came
            longest_first = sorted(self._words, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))
        elif recorded in self._words:
            self._words[recorded] = came

    def apply(self, line: bytes) -> bytes:
        """A recorded line, with today's names; the very same bytes where none is in it."""
        if self._pattern is None and not self._ids:
            return line
        value = _json(line)
        if value is None:
            return self._replace(line.decode(errors="surrogateescape")).encode(
                errors="surrogateescape"
            )
        translated = self._translate("", value)
        return line if translated == value else _encode(translated)

    def _compare(self, key: str, recorded: Any, came: Any, *, ids_only: bool = False) -> None:
        match recorded, came:
            case dict(), dict():
                for name in recorded.keys() & came.keys():
                    self._compare(name, recorded[name], came[name], ids_only=ids_only)
            case list(), list():
                for one, other in zip(recorded, came, strict=False):
                    self._compare(key, one, other, ids_only=ids_only)
            case (str() | int(), str() | int()) if _ID.search(key) and recorded != came:
                self._ids[recorded] = came
                if isinstance(recorded, str) and isinstance(came, str):
                    self.learn_word(recorded, came)
            case str(), str() if not ids_only:
                self.learn_word(recorded, came)
            case _:
                pass

    def _translate(self, key: str, value: Any) -> Any:
        match value:
            case dict():
                return {
                    self._replace(name): self._translate(name, inner)
                    for name, inner in value.items()
                }
            case list():
                return [self._translate(key, inner) for inner in value]
            case bool() | float() | None:
                return value
            case _ if _ID.search(key) and value in self._ids:
                return self._ids[value]
            case str():
                return self._replace(value)
            case _:
                return value

    def _replace(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: self._words[found[0]], text)


def _json(line: bytes) -> Any:
    try:
        return None if is_deep(line) else msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _flags(argv: Sequence[str]) -> dict[str, str | None]:
    return dict(_split(argv))


def _split(argv: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    for word, following in zip(argv, [*argv[1:], "--"], strict=False):
        if word.startswith("--") and word != "--":
            name, equals, value = word.partition("=")
            if equals:
                yield name, value
            else:
                yield name, None if following.startswith("-") else following
