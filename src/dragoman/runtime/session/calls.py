"""Calls to a session from other tasks: queued, and run in the session's own task, in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Call(NamedTuple):
    method: Callable[..., Awaitable[Any]]
    args: tuple[Any, ...]
    future: asyncio.Future[Any]
    patient: bool

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class CallQueue:
    """The calls that wait. `wake` is called when there is one; `over` says why none is run."""

    def __init__(self, wake: Callable[[], None], over: Callable[[], Exception | None]) -> None:
        self._wake = wake
        self._over = over
        self._waiting: deque[_Call] = deque()
        self._current: _Call | None = None

    def put(
        self, method: Callable[[*Ts], Awaitable[T]], *args: *Ts, patient: bool = False
    ) -> asyncio.Future[T]:
        """Queue a call; the future has what comes of it."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Call(method, args, future, patient))
        self._wake()
        return future

    async def work(self) -> None:
        """Run all that waits."""
        while self._waiting:
            call = self._current = self._waiting.popleft()
            over = self._over()
            if over is not None:  # it was made before the end, and comes after it
                call.fail(over)
                continue
            try:
                result = await call.method(*call.args)
            except Exception as error:  # noqa: BLE001 - it belongs to the caller
                call.fail(error)
            else:
                if not call.future.done():
                    call.future.set_result(result)
        self._current = None

    def excuse(self, untouched: Callable[[], Exception], begun: Callable[[], Exception]) -> None:
        """Let nobody wait but the patient: what was not begun is forgotten, the rest goes on."""
        if self._current is not None and not self._current.patient:
            self._current.fail(begun())
        for call in [each for each in self._waiting if not each.patient]:
            self._waiting.remove(call)
            call.fail(untouched())

    def refuse(self, reason: Callable[[], Exception]) -> None:
        """Run nothing of what waits."""
        while self._waiting:
            self._waiting.popleft().fail(reason())
