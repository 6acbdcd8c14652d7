"""Deletes sessions that are old, or when the store grows too large."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from dragoman.errors import Conflict, DragomanError, SessionNotFound
from dragoman.runtime.processes import linux
from dragoman.runtime.session import age
from dragoman.runtime.session.manager import SessionManager
from dragoman.settings import Settings
from dragoman.store import Store
from dragoman.store.ids import now_ms

log = logging.getLogger(__name__)
EVERY_S = 60.0
AT_ONCE = 100
DAY_MS = 86_400_000
UNSEEN_MS = 7 * DAY_MS
"""So much counts of a time in which no daemon ran, or half of `retain_days`: it may be a clock that
was set wrong."""
NOTE = "clock.json"


class Upkeep:
    """Deletes what the settings say has been there long enough."""

    def __init__(
        self,
        sessions: SessionManager,
        store: Store,
        settings: Settings,
        *,
        wall_ms: Callable[[], int] = now_ms,
        uptime_ms: Callable[[], int] = linux.uptime_ms,
    ) -> None:
        self._sessions = sessions
        self._store = store
        self._retain_ms = int(settings.retain_days * DAY_MS)
        self._most_bytes = settings.max_store_bytes
        self._wall_ms = wall_ms
        self._uptime_ms = uptime_ms
        self._looked_at_ms: int | None = None
        """By the clock that nobody can set; None: not yet."""
        self._note_path = Path(settings.data_dir) / NOTE
        self._note: age.ClockNote | None = None

    async def run(self) -> None:
        """Look at once, and then every minute, for as long as we live."""
        while self._retain_ms or self._most_bytes:
            try:
                await self.look()
            except DragomanError as error:
                log.warning("old sessions are not deleted yet: %s", error)
            await asyncio.sleep(EVERY_S)

    async def look(self) -> None:
        """Delete what has to go now."""
        if self._retain_ms:
            await self._retire_old(await self._since_ms())
        if self._most_bytes:
            await self._make_room()

    async def _since_ms(self) -> int:
        """The time before which everything is old, by time that has really passed."""
        uptime_ms, wall_ms = self._uptime_ms(), self._wall_ms()
        seen_ms = None if self._looked_at_ms is None else uptime_ms - self._looked_at_ms
        note = self._note or age.load(self._note_path)
        if note is None:  # the last thing that happened was before now, whatever the clock says
            note = age.ClockNote(await self._store.touched_at() or wall_ms)
        limit_ms = min(UNSEEN_MS, self._retain_ms // 2)
        found = age.look(note, wall_ms, seen_ms, limit_ms)
        if found.skips != note.skips and wall_ms > note.looked_at_ms:
            log.warning(
                "the clock is %.1f days ahead of the last look, and no daemon has seen that much "
                "pass; what it has not makes no session old",
                (wall_ms - note.looked_at_ms) / DAY_MS,
            )
        self._note, self._looked_at_ms = found, uptime_ms
        try:
            await asyncio.to_thread(age.save, self._note_path, found)
        except OSError as error:
            log.warning("the time of this look could not be written down: %s", error.strerror)
        return age.since_ms(found, self._retain_ms)

    async def _retire_old(self, before_ms: int) -> None:
        why = f"nothing happened for {self._retain_ms / DAY_MS:g} days"
        while old := await self._store.quiet(before_ms, AT_ONCE):
            if not any([await self._delete(each, before_ms, why) for each in old]):
                return

    async def _make_room(self) -> None:
        while (await self._store.space()).used_bytes > self._most_bytes:
            now = self._wall_ms()
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
