"""Which tool call a file or a command belongs to, and whether that call was allowed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from dragoman.dialects.acp.terminals import shown_command
from dragoman.dialects.acp.tools import CHANGES, ToolCalls, Written


class Grants:
    """What the calls under way cover. The protocol does not tell which call asks for a service, so
    it is found by the very command or file that a call names."""

    def __init__(self, tools: ToolCalls) -> None:
        self._tools = tools

    def covers_command(self, words: tuple[str, ...]) -> bool:
        """Whether a call that runs just this command was allowed."""
        command = shown_command(words).strip()
        granted = (each for each in self._tools.under_way.values() if each.is_granted)
        return any(command in (each.command, _unquoted(each.title)) for each in granted)

    def covers_path(self, path: str) -> bool:
        """Whether a call that names this file was allowed."""
        return any(self._tools.under_way[key].is_granted for key in self._naming(path))

    def call_of_path(self, path: str) -> str | None:
        """The call that a file belongs to: one that names it, or else the only one that edits."""
        return next(self._naming(path), None) or self.only_call(CHANGES)

    def only_call(self, kinds: Collection[str]) -> str | None:
        """The only call of such kinds; None: there is none, or there are more."""
        found = [key for key, each in self._tools.under_way.items() if each.kind in kinds]
        return found[0] if len(found) == 1 else None

    def add_written(self, path: str, written: Written) -> bool:
        """The daemon has written a file; False: that belongs to no call."""
        call = self._tools.get(self.call_of_path(path))
        if call is None:
            return False
        path = self._tools.absolute(path)
        if (first := call.written.get(path)) is not None:
            written = replace(first, after=written.after)
        call.written = {**call.written, path: written}
        return True

    def _naming(self, path: str) -> Iterator[str]:
        path = self._tools.absolute(path)
        calls = self._tools.under_way.items()
        return (key for key, each in calls if path in (*each.diffs, *each.paths))


def _unquoted(title: str | None) -> str:
    """A command in a title often stands in backticks."""
    return (title or "").strip().strip("`").strip()
