"""Diffs of files that a tool writes whole, where the agent does not tell what was there before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from dragoman.schema.items import FileRef
from dragoman.steps import CompleteItem, WrittenFile
from dragoman.wire.diff import diff


class FoundFile(Struct, frozen=True):
    """What was found at a path."""

    text: str | None
    """None: there is no such file."""


FindFile = Callable[[str], FoundFile | None]
"""What is at a path that may be shown; None: it cannot be said."""


def find_nothing(path: str) -> FoundFile | None:
    """Know no file."""
    return None


class WrittenFiles:
    """The files that calls under way are about to write, with what was there before."""

    def __init__(self, find: FindFile) -> None:
        self._find = find
        self._pending: dict[str, deque[tuple[FoundFile | None, str]]] = {}

    def expect(self, file: WrittenFile) -> None:
        """A call is about to write a file; calls of one message write the same file in turn."""
        pending = self._pending.setdefault(file.path, deque())
        before = FoundFile(pending[-1][1]) if pending else self._find(file.path)
        pending.append((before, file.content))

    def complete(self, item: CompleteItem) -> CompleteItem:
        """The same result, with the diffs of what was expected to be written."""
        if item.status == "failed":
            self.clear()  # whose file it was is not said: better no diff than a wrong one
        if not self._pending or item.content is None:
            return item
        return replace(item, content=tuple(map(self._completed, item.content)))

    def clear(self) -> None:
        """The turn is over."""
        self._pending.clear()

    def _completed(self, part: object) -> object:
        if not isinstance(part, FileRef) or part.diff is not None or part.action == "read":
            return part
        pending = self._pending.get(part.path)
        if not pending:
            return part
        before, after = pending.popleft()
        # The agent may have been faster than we: then what was there is not known.
        if before is None or before.text == after:
            return part
        return replace(part, diff=diff(part.path, before.text, after))
