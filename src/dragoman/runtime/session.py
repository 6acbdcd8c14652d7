"""One session: one task owns its agent, its turn, its requests and its queue.

Whatever people want is an action in that task, so nothing is ever decided twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from dragoman import errors
from dragoman.adapter import Adapter, Delivered
from dragoman.runtime.agents import Agents
from dragoman.runtime.attachments import prompt_of
from dragoman.runtime.inbox import Inbox
from dragoman.runtime.pump import Pump
from dragoman.runtime.spec import update_of
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Configure,
    Interrupt,
)
from dragoman.schema.events import Draft, SessionUpdated
from dragoman.settings import Settings
from dragoman.store import MessageRow, SessionRow, Store

log = logging.getLogger(__name__)
T = TypeVar("T")
INTERRUPT_DEADLINE_S = 5.0


class Session:
    """A session that can be talked to. Public methods may be called from any task."""

    def __init__(
        self,
        row: SessionRow,
        adapter: Adapter,
        agents: Agents,
        store: Store,
        settings: Settings,
        mark: str,
        on_end: Callable[[Session], None],
    ) -> None:
        self.id = row.session_id
        self.state = row.state
        # An agent may repeat a message in one line, where its images take a third more.
        self._image_room_bytes = settings.max_line_bytes // 2
        self._on_end = on_end
        self._news = asyncio.Event()
        self._inbox = Inbox(self._news.set)
        mark = f"{mark}:{row.session_id}"
        self._pump = Pump(row, adapter, agents, store, settings, mark, self._news.set)
        self._mail = self._pump.mail
        self._normalizer = self._pump.normalizer
        self._interrupt_asked = False
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    @property
    def degraded(self) -> bool:
        """The store does not take writes."""
        return self._pump.journal.degraded

    @property
    def busy(self) -> bool:
        """A turn is running, or about to."""
        return self._pump.in_turn or not self._mail.empty

    async def recover(self) -> None:
        """Close what the last daemon left open, once. Called before `start`."""
        await self._pump.recover()

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._run(), name=f"session-{self.id}")
        self._news.set()

    # --- What people may want ---

    def message_accepted(self) -> None:
        """A message is in the store; it is delivered when its turn comes."""
        self._mail.stale = True
        self._news.set()

    async def interrupt(self) -> None:
        """End the turn, not the session."""
        await self._act(self._interrupt)

    async def configure(self, wanted: Configure, title: str | None) -> None:
        """Change how the session works."""
        await self._act(lambda: self._configure(wanted, title))

    async def answer(self, request_id: str, answer: AnswerPermission | AnswerQuestion) -> bool:
        """Answer a request, named by our id; False: nobody waits for it any more."""
        return await self._act(lambda: self._answer(request_id, answer))

    async def cancel_message(self, message_id: str) -> None:
        """Take a waiting message back."""
        await self._act(lambda: self._cancel(message_id))

    async def terminate(self) -> None:
        """End the session, its agent, and all that the agent started."""
        await self._act(self._terminate)

    async def close(self) -> None:
        """The daemon stops: the turn ends as interrupted, the session does not end."""
        if self._task is not None and not self._task.done():
            with contextlib.suppress(errors.SessionEnded):
                await self._act(self._suspend)
            await self._task

    async def _act(self, action: Callable[[], Awaitable[T]]) -> T:
        if self._closing:
            raise self._over()
        return await self._inbox.put(action)

    # --- The one task ---

    async def _run(self) -> None:
        while not self._closing:
            await self._news.wait()
            self._news.clear()
            await self._inbox.work()
            try:
                await self._pump.receive()
                await self._interrupt_if_asked()
                await self._deliver()
            except Exception as error:  # the last resort: a defect of ours ends in the log
                log.exception("session %s failed", self.id)
                await self._pump.fail(error)
            self._closing = self._closing or self._normalizer.ended
        self._on_end(self)
        self._inbox.refuse(self._over)

    def _over(self) -> errors.DragomanError:
        stopping = errors.Unavailable("the daemon is stopping")
        return errors.SessionEnded(self.id) if self._normalizer.ended else stopping

    # --- Delivering messages ---

    async def _deliver(self) -> None:
        if self._closing:
            return  # what waits is for the next start
        if self._mail.stale:
            await self._pump.journal.settle()
            await self._mail.refresh()
        message = self._next()
        if message is not None:
            await self._hand_over(message)
            self._news.set()  # if it failed at once, nobody else calls for the next
        await self._announce_queue()

    def _next(self) -> MessageRow | None:
        """One message after another, unless one wants to join the running turn, and can."""
        if self._normalizer.ended or (self._mail.on_way and not self._pump.in_turn):
            return None
        if self._pump.in_turn:
            return self._mail.next(steer=True) if self._pump.steers else None
        return self._mail.next()

    async def _hand_over(self, message: MessageRow) -> None:
        prompt = await prompt_of(message, self._image_room_bytes)
        idle = self._pump.process
        try:
            try:
                await self._pump.tell(prompt)
            except errors.AgentProcessExited:
                if idle is None:
                    raise
                await self._pump.stop()  # it ended unnoticed, and has heard nothing of this
                await self._pump.tell(prompt)
        except errors.DragomanError as error:
            # A message that could not be sent still gets its turn, and the turn says why.
            self._normalizer.remember(prompt)
            self._normalizer.apply(Delivered(message_id=prompt.message_id), None)
            await self._pump.give_up(error)

    async def _announce_queue(self) -> None:
        """Show the queue whenever it is not what was shown last."""
        if self._normalizer.ended:
            return
        news = self._mail.news()
        if news is not None:
            await self._pump.note(news)
            await self._pump.journal.settle()

    async def _cancel(self, message_id: str) -> None:
        if self._mail.is_on_way(message_id):
            raise errors.Conflict(f"message {message_id!r} was handed to the agent already")
        await self._pump.journal.settle()
        await self._mail.refresh()
        left = Draft(self._mail.without(message_id), "daemon", self.state.native_session_id)
        await self._pump.journal.cancel(message_id, [left])
        self._mail.cancelled(message_id)

    # --- Other actions ---

    async def _interrupt(self) -> None:
        turn = self._normalizer.turn_id
        if self._pump.process is None or (turn is None and not self._mail.on_way):
            return
        loop = asyncio.get_running_loop()
        loop.call_later(INTERRUPT_DEADLINE_S, self._insist, turn)
        self._interrupt_asked = True
        await self._interrupt_if_asked()

    async def _interrupt_if_asked(self) -> None:
        """A turn that is about to start is interrupted once it has."""
        if self._interrupt_asked and self._pump.in_turn:
            self._interrupt_asked = False
            if self._pump.process is not None:
                await self._pump.command(Interrupt())

    def _insist(self, turn: str | None) -> None:
        """An agent that does not heed an interrupt loses its process."""
        if not self._closing:
            self._inbox.put(lambda: self._cut(turn))

    async def _cut(self, turn: str | None) -> None:
        late = self._interrupt_asked if turn is None else self._normalizer.turn_id == turn
        if late:
            self._interrupt_asked = False
            self._pump.take_back_mail()
            await self._pump.stop()
            self._normalizer.interrupted("interrupt")
            await self._pump.flush()

    async def _configure(self, wanted: Configure, title: str | None) -> None:
        if title is not None:
            await self._pump.note(SessionUpdated(title=title))
        if wanted != Configure():
            if self._pump.process is not None:
                await self._pump.command(wanted)
            else:
                await self._pump.note(update_of(wanted))
        await self._pump.journal.settle()

    async def _answer(self, request_id: str, answer: AnswerPermission | AnswerQuestion) -> bool:
        request = self._normalizer.request(request_id)
        if request is None:
            return False
        await self._pump.command(msgspec.structs.replace(answer, key=request.key))
        return True

    async def _terminate(self) -> None:
        if self._normalizer.ended:
            return
        await self._pump.stop()
        self._mail.clear()
        self._normalizer.terminated()
        await self._pump.flush()

    async def _suspend(self) -> None:
        self._closing = True
        await self._pump.stop()
        self._normalizer.interrupted("restart")
        await self._pump.flush()
