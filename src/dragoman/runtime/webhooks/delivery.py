"""Delivers the log of all sessions to one receiver: in order, one event at a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections import Counter

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import StorageFull, Unavailable
from dragoman.runtime.webhooks.sender import GONE, SendResult, WebhookSender
from dragoman.schema.events import BODIES
from dragoman.schema.webhooks import DELTAS, matching_types
from dragoman.store import EventFilter, LogEvent, Store, WebhookRow
from dragoman.store.ids import now_ms
from dragoman.wire.retry_delay import retry_after_s, retry_delay_s

log = logging.getLogger(__name__)


class DeliveryTimes(Struct, frozen=True, kw_only=True):
    """How long things wait."""

    retry_s: float
    """What failed, the first time."""
    max_retry_s: float
    """What failed, at most."""
    save_s: float = 60.0
    """A position that moved only over events that are not wanted, until it is saved."""
    save_again_s: float = 1.0
    """A position that could not be saved; nothing more is sent until it is."""


class _EventId(Struct):
    event_id: str


_event_id = msgspec.json.Decoder(_EventId)


class WebhookDelivery:
    """One webhook, and the task that serves it.

    It holds no event but the one that is being sent: one that waits to be tried again is read
    again, so it costs nothing, and is gone when its session is deleted.
    """

    def __init__(
        self,
        row: WebhookRow,
        store: Store,
        sender: WebhookSender,
        times: DeliveryTimes,
        counters: Counter[str],
    ) -> None:
        self.row = row
        self.position = row.position
        """How far the log was looked at; ahead of what is saved by what is not wanted."""
        self.next_attempt_at: int | None = None
        types = matching_types(row.types)
        self.event_filter = _filter(types, row)
        self._deltas = DELTAS in types
        self._store = store
        self._sender = sender
        self._times = times
        self._counters = counters
        self._saved_at_s = time.monotonic()
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Deliver from now on, unless the webhook is disabled."""
        if self.row.enabled and self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._on_done)

    async def stop(self) -> None:
        """Deliver nothing more; a request that is under way is given up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
            self._task = None

    def hurry(self) -> None:
        """Try again now what waits to be tried again: the receiver is known to be there."""
        self._hurry.set()

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (defect := task.exception()) is not None:
            self.row = replace(self.row, last_error=f"stopped by a defect of the daemon: {defect}")
            log.error("webhook %s stopped", self.row.webhook_id, exc_info=defect)

    # --- One event after another ---

    async def _run(self) -> None:
        global_log = self._store.global_log
        while self.row.enabled:
            try:
                event = await global_log.next_event(self.position, self.event_filter)
            except Unavailable as error:
                await self._fail(SendResult(error=str(error)))
                continue
            if event.line:
                await self._send(event)
            else:
                self.position = event.position
                await self._save_now_and_then()
                await global_log.wait_after(self.position, deltas=self._deltas)

    async def _send(self, event: LogEvent) -> None:
        webhook_id = _event_id.decode(event.line).event_id
        result = await self._sender.send(self.row.url, self.row.secret, webhook_id, event.line)
        self._counters["delivered" if result.delivered else "failed"] += 1
        if result.delivered:
            await self._move_on(event.position)
        elif result.status == GONE:
            await self._disable(f"{result.error}, so the webhook was disabled")
        else:
            await self._fail(result)

    async def _move_on(self, position: int) -> None:
        if self.row.attempts:
            log.info("webhook %s delivers again", self.row.webhook_id)
        self.position = position
        self.row = replace(
            self.row,
            position=position,
            last_delivery_at=now_ms(),
            failing_since=None,
            attempts=0,
            last_error=None,
        )
        await self._save()

    async def _fail(self, result: SendResult) -> None:
        """Note it, and wait for the next attempt."""
        row = self.row
        if not row.attempts:
            log.warning("webhook %s cannot deliver: %s", row.webhook_id, result.error)
        self.row = row = replace(
            row,
            failing_since=row.failing_since or now_ms(),
            attempts=row.attempts + 1,
            last_error=result.error,
        )
        delay_s = retry_delay_s(
            row.attempts,
            first_s=self._times.retry_s,
            most_s=self._times.max_retry_s,
            chance=random.random(),
            asked_s=retry_after_s(result.retry_after, time.time()),
        )
        self._hurry.clear()
        self.next_attempt_at = now_ms() + int(delay_s * 1000)
        with contextlib.suppress(StorageFull):  # it is for people to see, and the next one tells
            await self._store.webhooks.save(row)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), delay_s)
        self.next_attempt_at = None

    async def _disable(self, why: str) -> None:
        log.warning("webhook %s: %s", self.row.webhook_id, why)
        self.row = replace(self.row, enabled=False, last_error=why)
        await self._save()

    # --- Its position ---

    async def _save_now_and_then(self) -> None:
        """Keep a start from looking again at all that was not wanted."""
        is_time = time.monotonic() >= self._saved_at_s + self._times.save_s
        if is_time and self.position > self.row.position:
            self.row = replace(self.row, position=self.position)
            await self._save()

    async def _save(self) -> None:
        """Save the webhook as it is, however long that takes."""
        while True:
            try:
                await self._store.webhooks.save(self.row)
            except StorageFull:
                await asyncio.sleep(self._times.save_again_s)
            else:
                self._saved_at_s = time.monotonic()
                return


def _filter(types: frozenset[str], row: WebhookRow) -> EventFilter:
    if types == BODIES.keys():
        return EventFilter()
    # A version that has no such types any more must not send everything instead.
    return EventFilter(types=types or frozenset(row.types))
