"""What others want of a task: actions, done inside it, one after another."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Call(NamedTuple):
    action: Callable[[], Awaitable[Any]]
    future: asyncio.Future[Any]
    patient: bool


class CallQueue:
    """Actions that wait. `wake` is called when there is one."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._waiting: deque[_Call] = deque()
        self._current: _Call | None = None

    def put(
        self, action: Callable[[], Awaitable[T]], *, patient: bool = False
    ) -> asyncio.Future[T]:
        """Ask for something; the future has what comes of it."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Call(action, future, patient))
        self._wake()
        return future

    async def work(self) -> None:
        """Do all that waits."""
        while self._waiting:
            wish = self._current = self._waiting.popleft()
            try:
                result = await wish.action()
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
                _fail(wish, error)
            else:
                if not wish.future.done():
                    wish.future.set_result(result)
        self._current = None

    def excuse(self, untouched: Callable[[], Exception], begun: Callable[[], Exception]) -> None:
        """Let nobody wait but the patient: what was not begun is forgotten, the rest goes on."""
        if self._current is not None and not self._current.patient:
            _fail(self._current, begun())
        for wish in [each for each in self._waiting if not each.patient]:
            self._waiting.remove(wish)
            _fail(wish, untouched())

    def refuse(self, reason: Callable[[], Exception]) -> None:
        """Do nothing of what waits."""
        while self._waiting:
            _fail(self._waiting.popleft(), reason())


def _fail(wish: _Call, error: Exception) -> None:
    if not wish.future.done():
        wish.future.set_exception(error)
