"""Writes a session's drafts to the store: redacted, in order, retried until stored."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from dragoman.core.fold import SessionState
from dragoman.core.redaction import Redaction
from dragoman.errors import StorageFull
from dragoman.schema.events import (
    Draft,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    QuestionRequested,
    TurnStarted,
)
from dragoman.store import Append, Store
from dragoman.wire.redactor import MIN_CHARACTERS, Redactor

log = logging.getLogger(__name__)

RETRY_S = 0.5
AHEAD = 2
"""So many writes may be under way: one is committed while the next is prepared."""
HOLD_S, LONG_HOLD_S = 0.2, 2.0
"""How long what may begin a secret waits for more of it; the latter, where it already tells much.
"""
_OPENING = (TurnStarted, ItemStarted, PermissionRequested, QuestionRequested)


class _Write:
    """A write under way; the record is kept to write it again."""

    def __init__(self, store: Store, append: Append) -> None:
        self.append = append
        self.future = store.append(append)


class Journal:
    """The way from drafts to the log, with the session's state kept beside them.

    Whoever writes, and whatever: here secrets are taken out. `wake` is called where something
    has waited for too long; `release` then writes it.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        state: SessionState,
        redactor: Redactor | None,
        wake: Callable[[], None],
    ) -> None:
        self.degraded = False
        """The store does not take writes; they are held, and so is the agent."""
        self.on_degraded: Callable[[], None] = lambda: None
        self._store = store
        self._session_id = session_id
        self._state = state
        self._native = _native(state)
        self._writes: deque[_Write] = deque()
        self._abandoned = False
        self._redaction = None if redactor is None else Redaction(redactor)
        self._wake = wake
        self._timer: asyncio.TimerHandle | None = None
        self._first_held: Draft | None = None
        self._candidate_length = 0
        """How much there is of what may be a secret."""
        self._overdue = False

    async def write(
        self,
        drafts: Sequence[Draft],
        *,
        delivered: Sequence[str] = (),
        last: bool = True,
        idle: bool = False,
    ) -> None:
        """Hand drafts to the store; returns while they are written, unless too many others are.

        `last`: nothing of this batch follows. `idle`: after it nothing is open.
        """
        await self._until(AHEAD - 1)
        # What is done next must find everything stored.
        drafts = self._redacted(drafts, hold=last and not delivered)
        changed = self._fold(drafts, idle=idle)
        if (drafts or delivered or changed) and not self._abandoned:
            state = self._state.copy() if changed else None
            append = Append(self._session_id, drafts, state, delivered)
            self._writes.append(_Write(self._store, append))

    def abandon(self) -> None:
        """Write nothing more, also not what waits: the session is about to be deleted."""
        self._abandoned = True

    async def release(self) -> None:
        """Write what has waited for too long."""
        if self._overdue:
            await self._write_held()

    async def _write_held(self) -> None:
        if self._redaction is not None and self._redaction.pending:
            await self.write((), last=False)

    def _redacted(self, drafts: Sequence[Draft], *, hold: bool) -> Sequence[Draft]:
        if self._redaction is None:
            return drafts
        drafts = self._redaction.take(drafts, hold=hold)
        held, begun = self._redaction.pending, self._redaction.candidate_length
        first = held[0] if held else None
        # As long as there is more of it, it is waited for.
        if first is not self._first_held or begun != self._candidate_length:
            self._first_held, self._candidate_length, self._overdue = first, begun, False
            self._watch()
        return drafts

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._first_held is not None:
            seconds = LONG_HOLD_S if self._candidate_length >= MIN_CHARACTERS else HOLD_S
            self._timer = asyncio.get_running_loop().call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._overdue = True
        self._wake()

    async def settle(self) -> None:
        """Wait until everything is committed, however long the store cannot write."""
        await self._until(0)

    async def _until(self, under_way: int) -> None:
        while len(self._writes) > under_way:
            try:
                await self._writes[0].future
                self._writes.popleft()
                self.degraded = False
            except StorageFull as error:
                await self._again(error)

    async def _again(self, error: StorageFull) -> None:
        """The store cannot write: what came after failed too. Try all of it again, in order."""
        await asyncio.wait([write.future for write in self._writes])
        await self._wait_for_space(error)
        for write in self._writes:
            write.future.exception()
            if not self._abandoned:
                write.future = self._store.append(write.append)
        if self._abandoned:
            self._writes.clear()

    async def _wait_for_space(self, error: Exception) -> None:
        if not self.degraded:
            log.error("session %s waits for the store: %s", self._session_id, error)
            self.degraded = True
            self.on_degraded()
        await asyncio.sleep(RETRY_S)

    async def store_file(self, path: Path, data: bytes) -> None:
        """Store a file before the events that name it."""
        while not self._abandoned:
            try:
                await asyncio.to_thread(_store_file, path, data)
                return
            except OSError as error:
                await self._wait_for_space(error)

    async def cancel(self, message_id: str, drafts: Sequence[Draft]) -> None:
        """Take a waiting message back. Raise NotFound, Conflict, StorageFull."""
        await self._write_held()
        await self.settle()
        drafts = self._redacted(drafts, hold=False)
        await self._store.append(Append(self._session_id, drafts, cancelled=message_id))

    def _fold(self, drafts: Sequence[Draft], *, idle: bool) -> bool:
        state = self._state
        native = _native(state)
        changed, self._native = native != self._native, native
        for at, draft in enumerate(drafts):
            if type(draft.body) is ItemDelta:
                continue  # by far the most, and it changes nothing here
            changed = state.apply(draft.body) or changed
            if state.open_since is None and isinstance(draft.body, _OPENING):
                state.open_since = self._store.sequence(self._session_id) + at
                changed = True
        if idle and state.open_since is not None:
            state.open_since = None
            changed = True
        return changed


def _native(state: SessionState) -> tuple[str | None, bool, str | None]:
    """What the agent calls the session, which no event changes."""
    return state.native_session_id, state.confirmed, state.tentative_id


def _store_file(path: Path, data: bytes) -> None:
    """Write a file under its final name only when it is whole."""
    if not path.exists():
        for folder in (path.parent.parent, path.parent):  # but never the data folder itself
            folder.mkdir(exist_ok=True, mode=0o700)
        partial = path.with_name(f".{path.name}.partial")
        try:
            partial.write_bytes(data)
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)  # half of it would only take the room of others
            raise
