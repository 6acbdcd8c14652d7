"""Calls functions of the program that the daemon runs in with the events of all sessions."""

from __future__ import annotations

import asyncio
import inspect
import logging

from dragoman.schema.callbacks import Callback, Callbacks
from dragoman.schema.events import Event, decode
from dragoman.store import EventFilter, Store
from dragoman.wire.sse import SseParser

log = logging.getLogger(__name__)


async def run_callbacks(callbacks: Callbacks, store: Store, after: int) -> None:
    """Call them with every event after a position, one after the other, until the store ends.

    Events are read from the log: a slow function is behind, and holds nobody up.
    """
    parser = SseParser()
    async for batch in store.global_log.follow(after, EventFilter(types=callbacks.types)):
        for _, line in parser.feed(batch.frames):
            event = decode(line)
            for callback in callbacks.select(event):
                await _call(callback, event)


async def _call(callback: Callback, event: Event) -> None:
    try:
        if inspect.iscoroutinefunction(callback):
            await callback(event)
        else:
            await asyncio.to_thread(callback, event)  # it may wait for whatever it likes
    except Exception:  # somebody else's function costs only itself
        log.exception("a callback failed for event %s (%s)", event.event_id, event.type)
