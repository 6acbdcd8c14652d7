"""Whose work an item is: the session's own, or a subagent's."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dragoman.steps import StartItem


class Owner(Struct, frozen=True, kw_only=True):
    """The agent itself, or a subagent with a session of its own, below the call that started it."""

    subagent: str | None = None
    """The native id of its session; None: the agent itself."""
    parent: str | None = None

    def key(self, native_id: str) -> str:
        """An item's key: two sessions may count alike."""
        return native_id if self.subagent is None else f"{self.subagent}:{native_id}"

    def item(self, *, in_turn: bool, **fields: Any) -> StartItem:
        """An item of this owner's; what the agent itself says between turns opens none."""
        if self.subagent is None:
            return StartItem(opens=None if in_turn else False, **fields)
        return StartItem(parent=self.parent, subagent=self.subagent, detached=True, **fields)


MAIN = Owner()
"""The agent itself."""
