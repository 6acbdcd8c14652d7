"""Which session a message of a shared process is for, by the keys it claimed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct

Who = TypeVar("Who")
Message = TypeVar("Message")

HELD_MESSAGES = 1000
HELD_BYTES = 32 << 20
TOMBSTONES = 10_000


class _Unclaimed(Struct, Generic[Message], frozen=True):
    keys: tuple[str, ...]
    message: Message
    size: int
    until: float


class Claims(Generic[Who, Message]):
    """Claims, what is held for a claim that may come, and what was claimed once."""

    def __init__(self) -> None:
        self._claims: dict[str, Who] = {}
        self._unclaimed: deque[_Unclaimed[Message]] = deque()
        self._held_bytes = 0
        self._ended: dict[str, None] = {}

    def find(self, keys: Sequence[str]) -> Who | None:
        """Who has the first of these keys that anybody has."""
        return next((self._claims[key] for key in keys if key in self._claims), None)

    def is_late(self, keys: Sequence[str]) -> bool:
        """Whether somebody who has left had one of these keys."""
        return any(key in self._ended for key in keys)

    def claim(self, key: str, who: Who) -> list[Message]:
        """Give a key to somebody, with what was held for it; it must be free, or theirs."""
        self._claims[key] = who
        self._ended.pop(key, None)
        mine = [held for held in self._unclaimed if key in held.keys]
        self._unclaimed = deque(held for held in self._unclaimed if key not in held.keys)
        self._held_bytes -= sum(held.size for held in mine)
        return [held.message for held in mine]

    def leave(self, who: Who) -> list[str]:
        """Somebody is gone; what comes for their keys, which are given, is late from now on."""
        keys = [key for key, claimed in self._claims.items() if claimed is who]
        for key in keys:
            del self._claims[key]
            self._ended[key] = None
        while len(self._ended) > TOMBSTONES:
            del self._ended[next(iter(self._ended))]
        return keys

    def hold(
        self, keys: tuple[str, ...], message: Message, size: int, until: float
    ) -> list[Message]:
        """Keep a message for whoever claims one of its keys; what there is no room for."""
        self._unclaimed.append(_Unclaimed(keys, message, size, until))
        self._held_bytes += size
        pushed_out = []
        while len(self._unclaimed) > HELD_MESSAGES or self._held_bytes > HELD_BYTES:
            pushed_out.append(self._drop())
        return pushed_out

    def expired(self, now: float) -> list[Message]:
        """What nobody has claimed in time."""
        expired = []
        while self._unclaimed and self._unclaimed[0].until <= now:
            expired.append(self._drop())
        return expired

    def _drop(self) -> Message:
        held = self._unclaimed.popleft()
        self._held_bytes -= held.size
        return held.message
