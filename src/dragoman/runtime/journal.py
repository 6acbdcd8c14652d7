"""Writes one session's drafts: in order, at most one write ahead, again until they are stored."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from dragoman.core.fold import SessionState
from dragoman.errors import StorageFull
from dragoman.schema.events import (
    Draft,
    ItemStarted,
    PermissionRequested,
    QuestionRequested,
    TurnStarted,
)
from dragoman.store import Store

log = logging.getLogger(__name__)

RETRY_S = 0.5
_OPENING = (TurnStarted, ItemStarted, PermissionRequested, QuestionRequested)


class Journal:
    """The way from drafts to the log, with the session's state kept beside them."""

    def __init__(
        self, store: Store, session_id: str, state: SessionState, quiet: Callable[[], bool]
    ) -> None:
        self.degraded = False
        """The store does not take writes; they are held, and so is the agent."""
        self._store = store
        self._session_id = session_id
        self._state = state
        self._quiet = quiet
        self._native = state.native_session_id, state.confirmed
        self._writing: asyncio.Future[int] | None = None
        self._append: Callable[[], asyncio.Future[int]]

    async def write(
        self,
        drafts: Sequence[Draft],
        *,
        delivered: Sequence[str] = (),
        last: bool = True,
    ) -> None:
        """Hand drafts to the store; returns while they are written, unless others still are."""
        await self.settle()
        changed = self._fold(drafts, last=last)
        if not (drafts or delivered or changed):
            return
        state = self._state if changed else None

        def append() -> asyncio.Future[int]:
            return self._store.append(self._session_id, drafts, state=state, delivered=delivered)

        self._append, self._writing = append, append()

    async def settle(self) -> None:
        """Wait until everything is committed, however long the store cannot write."""
        while self._writing is not None:
            try:
                await self._writing
                self._writing = None
                self.degraded = False
            except StorageFull as error:
                if not self.degraded:
                    log.error("session %s waits for the store: %s", self._session_id, error)
                self.degraded = True
                await asyncio.sleep(RETRY_S)
                self._writing = self._append()

    async def cancel(self, message_id: str, drafts: Sequence[Draft]) -> None:
        """Take a waiting message back. Raise NotFound, Conflict, StorageFull."""
        await self.settle()
        await self._store.append(self._session_id, drafts, cancelled=message_id)

    def _fold(self, drafts: Sequence[Draft], *, last: bool) -> bool:
        state = self._state
        native = state.native_session_id, state.confirmed
        changed, self._native = native != self._native, native
        for at, draft in enumerate(drafts):
            changed = state.apply(draft.body) or changed
            if state.open_since is None and isinstance(draft.body, _OPENING):
                state.open_since = self._store.sequence(self._session_id) + at
                changed = True
        if last and state.open_since is not None and self._quiet():
            state.open_since = None
            changed = True
        return changed
