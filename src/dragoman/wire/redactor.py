"""Finds secret values in texts and lines, and masks them. Pure.

A value is what somebody gave to a session or to the daemon under a name; where it stands,
`[redacted:NAME]` stands instead. Only exact values of eight characters or more are looked for,
also as JSON spells them: a shorter one, such as `DEBUG=1`, would be found everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from dragoman.wire.key_patterns import TOKEN, TOKEN_PREFIX
from dragoman.wire.raw import is_one_line

MIN_CHARACTERS = 8
TOKEN_NAME = "DRAGOMAN_TOKEN"
"""Under this name our own tokens are redacted."""

Secret = tuple[str, str]
"""Its name, and its value."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;!?#$%@*()\[\]{}|~^-]+")
"""What no encoder of JSON spells in another way."""
_MIN_PLAIN = 4
_RARE = "QJXZVKYWUqjHGFzPBMkNLxODRCSvTIEAw967835y4b20gpfm1uhdclrnsiotae"
"""The rarest letters first, as lines of JSON with English words go."""
_HEAD = 128
"""So many first characters of a value are looked up by how they end."""
_TOKEN_BEGUN = re.compile(rf"{TOKEN_PREFIX}[A-Za-z0-9_-]*\Z")
_TOKEN_SIGN = TOKEN_PREFIX.encode()
_TOKEN_SIZE = len(TOKEN_PREFIX) + 43
_LEAVES = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?\d[\d.eE+-]*+', re.DOTALL)
"""The strings and numbers of valid JSON."""


class Match(NamedTuple):
    """A value in a text, and what is to stand there."""

    start: int
    end: int
    placeholder: str


class Redactor:
    """Takes certain values out of texts and lines; of equal ones, the first name counts."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self.secrets = tuple(secrets)
        self._placeholders: dict[str, str] = {}
        """What stands for each spelling of a value."""
        named = [(mask_of(name), value.strip()) for name, value in self.secrets]
        values: list[str] = []
        for placeholder, value in named:
            # What a placeholder holds itself, its name for example, could not be taken out.
            if len(value) >= MIN_CHARACTERS and not any(value in each for each, _ in named):
                values.append(value)
                for spelling in _spellings(value):
                    self._placeholders.setdefault(spelling, placeholder)
        self._signs = _signs_of(dict.fromkeys(values))
        self._signs_in_bytes = [
            (_bytes(letter), tuple(map(_bytes, signs))) for letter, signs in self._signs
        ]

    def may_hold(self, text: str | bytes) -> bool:
        """False: no value is in it. One quick look, since that is so nearly always."""
        if isinstance(text, bytes):
            for letter, signs in self._signs_in_bytes:
                if letter in text and any(sign in text for sign in signs):
                    return True
            return _TOKEN_SIGN in text
        for plain_letter, plain_signs in self._signs:
            if plain_letter in text and any(sign in text for sign in plain_signs):
                return True
        return TOKEN_PREFIX in text

    def matches(self, text: str, since: int = 0) -> Iterator[Match]:
        """The values in a text, from left to right; of two at one place, the longer."""
        for match in self._pattern.finditer(text, since):
            placeholder = self._placeholders.get(match[0], mask_of(TOKEN_NAME))
            yield Match(match.start(), match.end(), placeholder)

    def begins_at(self, text: str, since: int = 0) -> int:
        """Where at the end of a text a value may begin that the text cuts; its length: nowhere."""
        end = len(text)
        begins = end - 1 if text[-1:] in self._firsts and since < end else end
        for spelling, size in self._beginnings.get(text[-2:], ()):
            if since <= end - size < begins and text.endswith(spelling[:size]):
                begins = end - size
        for spelling in self._long:
            at = text.find(spelling[:_HEAD], max(since, end - len(spelling) + 1))
            while at >= 0 and not spelling.startswith(text[at:]):
                at = text.find(spelling[:_HEAD], at + 1)
            begins = min(begins, at) if at >= 0 else begins
        token = text.find(TOKEN_PREFIX, max(since, end - _TOKEN_SIZE + 1))
        if token >= 0 and (begun := _TOKEN_BEGUN.search(text, token)):
            begins = min(begins, begun.start())
        return begins

    def text(self, text: str) -> str:
        """The text without the values."""
        if not self.may_hold(text):
            return text
        return edited(text, self.matches(text))

    def line(self, line: bytes) -> bytes:
        """An agent's line without the values; JSON stays JSON, and all else as it was written."""
        if not self.may_hold(line):
            return line
        if not is_one_line(line):
            text = self.text(line.decode(errors="surrogateescape"))
            return text.encode(errors="surrogateescape")
        cleaned = _LEAVES.sub(self._leaf, line)
        left = [name for value, name in self._placeholders.items() if _bytes(value) in cleaned]
        # A value that is JSON itself may be there as JSON, and not as a text.
        return stub(left[0]) if left else cleaned

    def value(self, value: object) -> str | None:
        """What stands for JSON that holds a value only when it is written down; None: nothing."""
        written = msgspec.json.encode(value)
        if not self.may_hold(written):
            return None
        text = written.decode()
        return next((name for each, name in self._placeholders.items() if each in text), None)

    def _leaf(self, found: re.Match[bytes]) -> bytes:
        leaf = found[0]
        if len(leaf) < MIN_CHARACTERS or not self.may_hold(leaf):
            return leaf
        text = msgspec.json.decode(leaf, type=str) if leaf.startswith(b'"') else leaf.decode()
        cleaned = self.text(text)
        return leaf if cleaned == text else msgspec.json.encode(cleaned)

    # Made when they are first needed: most sessions never hold anything of the kind.

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._placeholders, key=len, reverse=True)
        return re.compile("|".join([*map(re.escape, longest_first), TOKEN]))

    @cached_property
    def _firsts(self) -> frozenset[str]:
        return frozenset(spelling[0] for spelling in (TOKEN_PREFIX, *self._placeholders))

    @cached_property
    def _beginnings(self) -> dict[str, list[tuple[str, int]]]:
        """The last two characters of each beginning → the value, and how much of it."""
        beginnings: dict[str, list[tuple[str, int]]] = {}
        for spelling in (TOKEN_PREFIX, *self._placeholders):
            for size in range(2, min(len(spelling), _HEAD)):
                beginnings.setdefault(spelling[size - 2 : size], []).append((spelling, size))
        return beginnings

    @cached_property
    def _long(self) -> list[str]:
        return [spelling for spelling in self._placeholders if len(spelling) > _HEAD]


def with_text(line: bytes, old: str, new: str) -> bytes | None:
    """A line of JSON with another text in the place of one; None: it holds no such text."""
    if not is_one_line(line):
        return None
    count = 0

    def other(found: re.Match[bytes]) -> bytes:
        nonlocal count
        leaf = found[0]
        if (
            not leaf.startswith(b'"')
            or len(leaf) < len(old)
            or msgspec.json.decode(leaf, type=str) != old
        ):
            return leaf
        count += 1
        return msgspec.json.encode(new)

    changed = _LEAVES.sub(other, line)
    return changed if count else None


def edited(text: str, edits: Iterable[Match]) -> str:
    """The text with placeholders where they are to stand."""
    parts: list[str] = []
    end = 0
    for each in edits:
        parts += text[end : each.start], each.placeholder
        end = each.end
    return "".join((*parts, text[end:])) if parts else text


def stub(placeholder: str) -> bytes:
    """What is kept of a line out of which a value cannot be taken."""
    return msgspec.json.encode({"redacted": placeholder})


def mask_of(name: str) -> str:
    """What stands in the place of the value with this name."""
    return f"[redacted:{_NOT_IN_NAMES.sub('_', name)}]"


def _spellings(value: str) -> dict[str, None]:
    """The value as it is, and as it stands in JSON that is itself a text."""
    quoted = (json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (False, True))
    return dict.fromkeys((value, *quoted))


def _signs_of(values: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """A letter → what to look for where the letter is: all values that hold it, in short."""
    signs: dict[str, dict[str, None]] = {}
    for value in values:
        plain = max(_PLAIN.findall(value), key=len, default="")
        if len(plain) >= _MIN_PLAIN:
            letter = min(plain, key=lambda each: _RARE.find(each) % (len(_RARE) + 1))
            signs.setdefault(letter, {})[plain] = None
        else:
            signs.setdefault("", {}).update(dict.fromkeys(_signs_in_full(value)))
    return [(letter, tuple(each)) for letter, each in signs.items()]


def _signs_in_full(value: str) -> Iterator[str]:
    """Every usual spelling, for a value that has hardly a plain letter."""
    for spelling in _spellings(value):
        yield spelling
        for ascii in (False, True):
            yield json.dumps(spelling, ensure_ascii=ascii)[1:-1]
        escaped = json.dumps(spelling)[1:-1]
        yield re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda found: found[0].upper(), escaped)


def _bytes(text: str) -> bytes:
    # Variables of the environment need not be UTF-8.
    return text.encode(errors="surrogateescape")
