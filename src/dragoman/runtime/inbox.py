"""What others want of a task: actions, done inside it, one after another."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Inbox:
    """Actions that wait. `wake` is called when there is one."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._waiting: deque[tuple[Callable[[], Awaitable[Any]], asyncio.Future[Any]]] = deque()

    def put(self, action: Callable[[], Awaitable[T]]) -> asyncio.Future[T]:
        """Ask for something; the future has what comes of it."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((action, future))
        self._wake()
        return future

    async def work(self) -> None:
        """Do all that waits."""
        while self._waiting:
            action, future = self._waiting.popleft()
            try:
                result = await action()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
                if not future.cancelled():
                    future.set_exception(error)
            else:
                if not future.cancelled():
                    future.set_result(result)

    def refuse(self, reason: Callable[[], Exception]) -> None:
        """Do nothing of what waits."""
        while self._waiting:
            _, future = self._waiting.popleft()
            if not future.cancelled():
                future.set_exception(reason())
