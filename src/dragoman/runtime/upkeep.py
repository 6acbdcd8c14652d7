"""Keeping house: sessions that nobody has touched for long, and a store that grows too large."""

from __future__ import annotations

import asyncio
import logging

from dragoman.errors import Conflict, DragomanError, SessionNotFound
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
        why = f"nothing happened for {self._retain_days:g} days"
        while old := await self._store.quiet(before_ms, AT_ONCE):
            if not any([await self._delete(each, before_ms, why) for each in old]):
                return

    async def _make_room(self) -> None:
        if not self._most_bytes:
            return
        while (await self._store.space()).used_bytes > self._most_bytes:
            now = now_ms()
            found = await self._store.quiet(now, 1)
            if not found or not await self._delete(found[0], now, "the store is too large"):
                log.warning(
                    "the store is larger than max_store_bytes, and no session can be spared"
                )
                return

    async def _delete(self, session_id: str, quiet_since_ms: int, why: str) -> bool:
        """Delete a session, unless somebody has come back to it; whether it is gone."""
        try:
            await self._sessions.delete(session_id, quiet_since_ms)
        except SessionNotFound:
            return True
        except Conflict:
            return False
        log.info("session deleted: %s", why, extra={"session": session_id})
        return True
