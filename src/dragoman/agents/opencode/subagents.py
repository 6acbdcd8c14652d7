"""The sessions of a session: its own, and those in which its subagents work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from dragoman.agents.opencode import native
from dragoman.schema.items import Status
from dragoman.steps import Claim, CompleteItem, StartItem, Step


class Owner(Struct, frozen=True, kw_only=True):
    """Whose work it is: the session's own, or a subagent's, under the call that started it."""

    session: str
    subagent: str | None = None
    parent: str | None = None

    def item(self, *, parent: str | None = None, **fields: Any) -> StartItem:
        """An item of this owner's; without a parent of its own it stands below the call."""
        return StartItem(parent=parent or self.parent, subagent=self.subagent, **fields)


class Sessions:
    """Which of OpenCode's sessions belongs to whom, and which subagents work."""

    def __init__(self) -> None:
        self.main: str | None = None
        """The session's own; None: it was never opened."""
        self._children: dict[str, Owner] = {}
        self._running: set[str] = set()
        self._unlinked_calls: dict[str, str] = {}
        """Calls of `task` without a session so far, by their keys → the session that made them."""
        self._missed: dict[str, tuple[str, str]] = {}
        """Sessions that a call names, and nobody has told of → that call's key, and its session."""

    def owner(self, session: str) -> Owner:
        """Whose a message is."""
        return self._children.get(session) or Owner(session=session)

    def is_main(self, session: str) -> bool:
        """Whether it is the session's own."""
        return session == self.main

    def knows(self, session: str) -> bool:
        """Whether it is the session's own, or that of one of its subagents."""
        return session == self.main or session in self._children

    @property
    def running(self) -> list[str]:
        """The sessions of subagents that work."""
        return sorted(self._running)

    def call(self, key: str, session: str, child: str | None) -> None:
        """A call of `task` is on its way; OpenCode names its session a moment later."""
        if child is None:
            self._unlinked_calls.setdefault(key, session)
        else:
            self._unlinked_calls.pop(key, None)
            known = self._children.get(child)
            if known is None:
                self._missed[child] = key, session
            elif known.parent != key:
                self._children[child] = Owner(session=child, subagent=child, parent=key)

    def begin(self, info: native.SessionInfo) -> Iterator[Step]:
        """A subagent's session is there: a status item is open as long as it works."""
        if info.id in self._children:
            return
        self._missed.pop(info.id, None)
        calls = (key for key, session in self._unlinked_calls.items() if session == info.parent_id)
        parent = next(calls, None)
        self._unlinked_calls.pop(parent or "", None)
        owner = Owner(session=info.id, subagent=info.id, parent=parent)
        self._children[info.id] = owner
        self._running.add(info.id)
        yield Claim(info.id)
        yield owner.item(
            key=_status_key(info.id),
            kind="status",
            role="system",
            native_id=info.id,
            content=(Status(label="subagent", detail=info.title or info.agent),),
        )

    def begin_missed(self) -> Iterator[Step]:
        """Begin what is only known by the calls that name it: their events were lost."""
        for child, (key, session) in list(self._missed.items()):
            self._unlinked_calls[key] = session
            yield from self.begin(native.SessionInfo(id=child, parent_id=session))

    def end(self, session: str) -> Iterator[Step]:
        """A subagent has done its work."""
        if session in self._running:
            self._running.discard(session)
            yield CompleteItem(key=_status_key(session))

    def end_turn(self) -> None:
        """The turn is over, and whatever was below it."""
        self._running.clear()
        self._unlinked_calls.clear()
        self._missed.clear()

    def reset(self) -> None:
        """The process is gone."""
        self.end_turn()
        self._children.clear()


def _status_key(session: str) -> str:
    return f"{session}:status"
