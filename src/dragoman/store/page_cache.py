"""A cache of pages and batches that were read lately."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """The most recently used, up to so many bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pages: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> T | None:
        """What was kept under this key."""
        found = self._pages.get(key)
        if found is None:
            return None
        self._pages.move_to_end(key)
        return found[0]

    def keep(self, key: Hashable, value: T, size: int) -> None:
        """Keep something, at the cost of what was used least lately."""
        if key in self._pages or size * 4 > self._max_bytes:
            return
        self._pages[key] = (value, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._bytes -= self._pages.popitem(last=False)[1][1]

    def drop(self, key: Hashable) -> None:
        """Forget what is not worth keeping after all."""
        found = self._pages.pop(key, None)
        if found is not None:
            self._bytes -= found[1]
