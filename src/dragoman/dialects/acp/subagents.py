"""The sessions of an agent's subagents: what is said and done in each, and which of them work."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.dialects.acp.items import Messages
from dragoman.dialects.acp.owner import Owner
from dragoman.dialects.acp.tools import ToolCalls
from dragoman.schema.items import ItemStatus, Status
from dragoman.steps import CompleteItem, ItemFields, Step


class Subagent:
    """What one subagent says and does."""

    def __init__(self, owner: Owner, tools: ToolCalls, title: str | None) -> None:
        self.owner = owner
        self.tools = tools
        self.messages = Messages(owner)
        self.title = title
        self.is_running = True


class Subagents:
    """The subagents of a session, by the native ids of theirs."""

    def __init__(self, tools_of: Callable[[Owner], ToolCalls]) -> None:
        self._tools_of = tools_of
        self._all: dict[str, Subagent] = {}

    def get(self, session_id: str) -> Subagent | None:
        """Who works in a session; None: it is no subagent's."""
        return self._all.get(session_id)

    def of_call(self, call_id: str) -> Subagent | None:
        """Who has made a call; None: it is no subagent's."""
        found = (each for each in self._all.values() if each.tools.get(call_id) is not None)
        return next(found, None)

    def begin(self, session_id: str, parent: str | None, title: str | None) -> Iterator[Step]:
        """A subagent works: a status item is open as long as it does."""
        known = self._all.get(session_id)
        if known is not None and known.is_running:
            return
        owner = Owner(subagent=session_id, parent=parent)
        self._all[session_id] = Subagent(owner, self._tools_of(owner), title)
        yield owner.item(
            in_turn=False,
            key=owner.key("status"),
            kind="status",
            role="system",
            native_id=session_id,
            content=(Status(label="subagent", detail=title),),
        )

    def end(self, session_id: str, status: ItemStatus, reason: str | None) -> Iterator[Step]:
        """A subagent has stopped working."""
        subagent = self._all.get(session_id)
        if subagent is None or not subagent.is_running:
            return
        subagent.is_running = False
        yield from subagent.messages.cut()
        yield from subagent.tools.close()
        fields: ItemFields = {} if reason is None else {"reason": reason}
        yield CompleteItem(
            key=subagent.owner.key("status"),
            content=(Status(label="subagent", detail=subagent.title),),
            status=status,
            fields=fields,
        )

    def reset(self) -> None:
        """The process is gone, and they with it."""
        self._all.clear()
