"""A session's place at a shared process: what was held for it keeps its place."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from dragoman.runtime.shared.connection import Host, SharedConnection


class Deaf:
    """A host that nobody talks to."""

    def note_room(self) -> None:
        """Some connection has taken something."""


def connection() -> SharedConnection:
    """A place without a process."""
    return SharedConnection(cast(Host, Deaf()), "session", asyncio.Event().set)


def test_what_was_said_before_is_heard_before() -> None:
    place = connection()
    for number in (2, 5, 6):
        place.hear(b"%d" % number, number)
    place.hear(b"3", 3)
    place.hear(b"4", 4)
    place.hear(b"7", 7)
    assert list(place.take()) == [b"2", b"3", b"4", b"5", b"6", b"7"]


def test_what_is_put_back_comes_after_what_was_held() -> None:
    place = connection()
    for number in (1, 2, 5, 6):
        place.hear(b"%d" % number, number)
    taken: Any = place.take()
    assert len(taken) == 4
    place.put_back(2)
    place.hear(b"3", 3)
    assert list(place.take()) == [b"3", b"5", b"6"]
    assert not place.waiting
