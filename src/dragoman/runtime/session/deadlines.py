"""Timeouts of a session: turns, requests to people, idle processes.

The clock is the loop's, which no change of the time of day moves.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from types import MappingProxyType

from dragoman.core.policy import overdue
from dragoman.core.requests import OpenRequest
from dragoman.errors import DaemonError
from dragoman.runtime.session.pump import Pump
from dragoman.settings import Settings

log = logging.getLogger(__name__)

Action = Callable[[], Awaitable[None]]
_NONE: Mapping[str, float] = MappingProxyType({})
_ON_ITS_WAY = ""
"""Stands for the turn of a message that the agent has not accepted."""


class Alarms:
    """Rings once for everything that lasts too long; 0 seconds: nothing ever does."""

    def __init__(self, seconds: float, ring: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._expire = ring
        self._set: dict[str, asyncio.TimerHandle] = {}

    def keep(
        self, lasting: Collection[str], sooner: Mapping[str, float] = MappingProxyType({})
    ) -> None:
        """This is what lasts now: the clock of what is new starts, of what is over it stops. What
        `sooner` names has seconds of its own."""
        if not self._seconds and not sooner and not self._set:
            return
        for subject in [each for each in self._set if each not in lasting]:
            self._set.pop(subject).cancel()
        loop = asyncio.get_running_loop()
        for subject in lasting:
            seconds = sooner.get(subject) or self._seconds
            if seconds and subject not in self._set:
                self._set[subject] = loop.call_later(seconds, self._expire, subject)


class Deadlines:
    """The clocks of one session, and what is done when one has run down."""

    def __init__(
        self,
        pump: Pump,
        settings: Settings,
        wake: Callable[[], None],
        interrupt: Action,
        abandon: Action,
    ) -> None:
        self._pump = pump
        self._settings = settings
        self._wake = wake
        self._interrupt = interrupt
        self._abandon = abandon
        self._due: list[Action] = []
        self._turns = Alarms(
            settings.turn_timeout_s, lambda turn: self.soon(lambda: self._end_turn(turn))
        )
        self._requests = Alarms(
            settings.hitl_timeout_s, lambda asked: self.soon(lambda: self._answer(asked))
        )
        self._idle = Alarms(settings.idle_process_s, lambda _: self.rest_soon())

    def watch(self, *, idle: bool, closing: bool) -> None:
        """Start the clocks of what has begun, and stop those of what is over."""
        pump = self._pump
        working = not closing and (pump.in_turn or pump.mail.on_way)
        self._turns.keep([pump.interpreter.turn_id or _ON_ITS_WAY] if working else ())
        self._idle.keep(["idle"] if idle else ())
        asked = () if closing else pump.interpreter.requests
        self._requests.keep([request.id for request in asked], self._agents_own(asked))

    def _agents_own(self, asked: Iterable[OpenRequest]) -> dict[str, float]:
        """The requests that the agent waits for less long than we would, and how long."""
        limit = self._settings.hitl_timeout_s or math.inf
        timeouts = {request.id: request.timeout_s or math.inf for request in asked}
        return {each: seconds for each, seconds in timeouts.items() if seconds < limit}

    def soon(self, action: Action) -> None:
        """Do this in the session's task."""
        self._due.append(action)
        self._wake()

    def rest_soon(self) -> None:
        """End the process, if it still does nothing by then."""
        self.soon(self._rest)

    async def work(self) -> None:
        """Do what is due."""
        due, self._due = self._due, []
        for action in due:
            try:
                if not self._pump.interpreter.ended:
                    await action()
            except DaemonError as error:
                await self._pump.give_up(error)

    async def _end_turn(self, turn: str) -> None:
        """A turn takes too long: it ends as if a person had interrupted it."""
        pump = self._pump
        if (pump.interpreter.turn_id or _ON_ITS_WAY) != turn:
            return
        if turn == _ON_ITS_WAY:
            pump.take_back_mail()  # so that there is a turn in which to say it
        message = f"the turn took longer than {self._settings.turn_timeout_s:g} s"
        pump.interpreter.report(message, "turn_timeout")
        await pump.flush()
        await (self._abandon() if turn == _ON_ITS_WAY else self._interrupt())

    async def _rest(self) -> None:
        """End a process that does nothing. Nothing is written: the next message resumes."""
        if self._pump.spare:
            await self._pump.stop()
            self._pump.interpreter.cut_turn("process_exit")  # should it have begun something
            await self._pump.flush()
            self._pump.file_events.close()

    async def _answer(self, request_id: str) -> None:
        """Nobody has answered a request in time."""
        request = self._pump.interpreter.request(request_id)
        if request is None:
            return
        own = self._agents_own([request]).get(request_id)
        seconds = own or self._settings.hitl_timeout_s
        log.warning("nobody has answered %s within %g s", request_id, seconds)
        if own or self._settings.hitl_on_timeout == "reject":
            await self._pump.command(overdue(request.key, request.body, seconds))
