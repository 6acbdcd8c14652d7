"""Keeping house: sessions that nobody has touched for long, and a store that grows too large."""

from __future__ import annotations

import asyncio
import logging

from dragoman.errors import DragomanError
from dragoman.runtime.sessions import Sessions
from dragoman.settings import Settings
from dragoman.store import Store
from dragoman.store.ids import now_ms

log = logging.getLogger(__name__)
EVERY_S = 60.0
AT_ONCE = 100
DAY_MS = 86_400_000


class Upkeep:
    """Deletes what the settings say has been there long enough."""

    def __init__(self, sessions: Sessions, store: Store, settings: Settings) -> None:
        self._sessions = sessions
        self._store = store
        self._retain_days = settings.retain_days
        self._most_bytes = settings.max_store_bytes

    async def run(self) -> None:
        """Look at once, and then every minute, for as long as we live."""
        while self._retain_days or self._most_bytes:
            try:
                await self._retire_old()
                await self._make_room()
            except DragomanError as error:
                log.warning("old sessions are not deleted yet: %s", error)
            await asyncio.sleep(EVERY_S)

    async def _retire_old(self) -> None:
        if not self._retain_days:
            return
        before_ms = now_ms() - int(self._retain_days * DAY_MS)
        while old := await self._store.quiet(before_ms, AT_ONCE):
            for session_id in old:
                await self._delete(session_id, f"nothing happened for {self._retain_days:g} days")

    async def _make_room(self) -> None:
        if not self._most_bytes:
            return
        while (await self._store.space()).used_bytes > self._most_bytes:
            found = await self._store.quiet(now_ms(), 1)
            if not found:
                log.warning("the store is larger than max_store_bytes, and every session is in use")
                return
            await self._delete(found[0], "the store is larger than max_store_bytes")

    async def _delete(self, session_id: str, why: str) -> None:
        await self._sessions.delete(session_id)
        log.info("session deleted: %s", why, extra={"session": session_id})
