"""Which message a tool call belongs to, where the agent does not say."""

from __future__ import annotations

from collections.abc import Set


class Speech:
    """The messages of the running turn, and the last of each speaker: the agent, or a subagent."""

    def __init__(self) -> None:
        self._messages: set[str] = set()
        self._last: dict[str | None, str] = {}

    def note_message(self, item_id: str, subagent: str | None) -> None:
        """A message has begun; a person's counts until the agent says something."""
        self._messages.add(item_id)
        self._last[subagent] = item_id

    def parent_of_call(self, given: str | None, subagent: str | None) -> str | None:
        """The message that made a call; `given` is what the agent says of it."""
        if given in self._messages:
            return given
        return self._last.get(subagent, given)

    def turn_over(self, running: Set[str | None]) -> None:
        """Forget the turn, but not the subagents that run on."""
        kept = running - {None}
        self._last = {who: item_id for who, item_id in self._last.items() if who in kept}
        self._messages = set(self._last.values())
