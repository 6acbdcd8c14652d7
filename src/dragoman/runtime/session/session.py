"""One session: one task owns its agent, its turn, its requests and its queue.

Whatever people want is an action in that task, so nothing is ever decided twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar, TypeVarTuple

import msgspec

from dragoman import errors, logs
from dragoman.adapter import Adapter
from dragoman.core.daemon_events import draft
from dragoman.runtime.provision.agents import Agents
from dragoman.runtime.session.agent_services import TextFiles
from dragoman.runtime.session.attachments import prompt_of
from dragoman.runtime.session.calls import CallQueue
from dragoman.runtime.session.concurrency import ConcurrencyLimits
from dragoman.runtime.session.deadlines import Deadlines
from dragoman.runtime.session.file_events import FileEvents
from dragoman.runtime.session.message_queue import size_of
from dragoman.runtime.session.missing_agent import is_absent
from dragoman.runtime.session.pump import Pump
from dragoman.runtime.session.spec import update_of
from dragoman.runtime.session.workspaces import Workspaces
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
)
from dragoman.schema.events import SessionUpdated
from dragoman.settings import Settings
from dragoman.store import MessageRow, SessionRow, Store
from dragoman.wire.redactor import Redactor

log = logging.getLogger(__name__)
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
WATCH_S = 0.5
"""So long whoever makes a session waits until its directory is watched."""


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
        redactor: Redactor | None,
        files: TextFiles,
        workspaces: Workspaces,
        limits: ConcurrencyLimits,
        on_end: Callable[[Session], None],
        on_outdated: Callable[[Session], None],
    ) -> None:
        self.id = row.session_id
        self.agent = adapter.id
        self._adapter = adapter
        self.state = row.state
        self._store = store
        self._redactor = redactor
        self._limits = limits
        # An agent may repeat a message in one line, where its images take a third more.
        self._image_room_bytes = settings.max_line_bytes // 2
        self._on_end = on_end
        self._on_outdated = on_outdated
        self._news = asyncio.Event()
        self._has_changed = True
        """More has happened than that the agent went on with a text."""
        self._calls = CallQueue(self._wake, self._ended)
        self._file_events = FileEvents(row, workspaces, settings, self._news.set)
        self._pump = Pump(row, adapter, agents, store, settings, f"{mark}:{row.session_id}",
                          redactor, files, self._file_events, self._news.set)  # fmt: skip
        self._mail = self._pump.mail
        self._interpreter = self._pump.interpreter
        self._pump.journal.on_degraded = self._excuse
        self._accepting: dict[str, int] = {}
        """The messages that are being accepted just now, and their sizes."""
        self._deleting_conversation = False
        self._registry = agents.registry
        self._reachable = True
        """Its agent is there, and is the one that this session talks to; else what waits, waits."""
        self._outdated = False
        """Its agent was removed, added or replaced since the session was opened."""
        self._max_queued = settings.max_queued
        self._max_queued_bytes = settings.max_queued_bytes
        self._interrupt_deadline_s = settings.interrupt_deadline_s
        self._deadlines = Deadlines(
            self._pump, settings, self._wake, self._interrupt, self._abandon
        )
        self._interrupt_asked = False
        self._closing = False
        self._closing_reason = "the daemon is stopping"
        self._task: asyncio.Task[None] | None = None

    @property
    def degraded(self) -> bool:
        """The store does not take writes."""
        return self._pump.journal.degraded

    @property
    def busy(self) -> bool:
        """A turn is running, or about to."""
        return self._pump.in_turn or not self._mail.empty

    @property
    def closing(self) -> bool:
        """Its task is about to end, or has ended."""
        return self._closing

    @property
    def is_starting(self) -> bool:
        """A message waits for its agent's process to come up."""
        return self._reachable and self.state.status == "idle" and not self._mail.empty

    def asks(self, request_id: str) -> bool:
        """Whether a request waits for a person."""
        return self._interpreter.request(request_id) is not None

    async def recover(self) -> None:
        """Close what the last daemon left open, once. Called before `start`."""
        await self._pump.recover()

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._run(), name=f"session-{self.id}")
        self.look_again()

    async def watch_files(self) -> None:
        """Tell what happens to its files, from now on."""
        self._file_events.open()
        await self._file_events.ready(WATCH_S)

    # --- What people may want ---

    @contextlib.contextmanager
    def accepting(self, row: MessageRow) -> Iterator[errors.RequestError | None]:
        """While a message is accepted, its place is kept; the error: there is none."""
        size = size_of(row)
        full = (
            errors.SessionEndedError(self.id) if self._deleting_conversation else self._full(size)
        )
        self._accepting[row.message_id] = size
        try:
            claimed = None if self.busy or full else self._limits.claim(self.id, self._wake)
            yield full or claimed
        finally:
            del self._accepting[row.message_id]
            self._wake()

    def _full(self, size: int) -> errors.TooManyRequests | None:
        sizes = {**self._accepting, **self._mail.sizes}
        count, total = len(sizes), sum(sizes.values())
        limit, most, what = "max_queued", self._max_queued, f"{count} messages wait already"
        if not most or count < most:
            limit, most, what = "max_queued_bytes", self._max_queued_bytes, f"{total} bytes wait"
            # One that is larger than all that may wait comes in alone, or it never could.
            if not most or not total or total + size <= most:
                return None
        return errors.TooManyRequests(
            f"{what}, and {limit} is {most}; try again when one has left", limit=limit, most=most
        )

    def message_accepted(self, message_id: str) -> None:
        """A message is in the store; it is delivered when its turn comes."""
        self._mail.accepted(message_id, self._accepting.get(message_id, 0))
        self._wake()

    async def interrupt(self) -> None:
        """End the turn, not the session."""
        await self._in_task(self._interrupt)

    async def configure(self, wanted: Configure, title: str | None) -> None:
        """Change how the session works."""
        await self._in_task(self._configure, wanted, title)

    async def answer(self, request_id: str, answer: AnswerPermission | AnswerQuestion) -> bool:
        """Answer a request, named by our id; False: nobody waits for it any more."""
        return await self._in_task(self._answer, request_id, answer)

    async def cancel_message(self, message_id: str) -> None:
        """Take a waiting message back."""
        await self._in_task(self._cancel, message_id)

    async def terminate(self) -> None:
        """End the session, its agent, and all that the agent started."""
        await self._in_task(self._terminate)

    async def discard(self) -> None:
        """The same without a word: the store cannot write, and is about to forget the session."""
        self._pump.journal.abandon()
        await self._in_task(self._terminate, patient=True)

    async def delete_conversation(self, quiet_since_ms: int) -> None:
        """End the session. Raise Conflict where anything goes on, or has since then."""
        await self._in_task(self._delete_conversation, quiet_since_ms)

    def look_again(self) -> None:
        """Its agent may be another one, or gone: it is opened anew when nothing is at work."""
        self._reachable = self._registry.is_current(self._adapter)
        is_there = self._registry.has(self.agent)
        self._outdated = not self._reachable and (is_there or not is_absent(self._adapter))
        self._wake()

    async def close(self, reason: str = "the daemon is stopping") -> None:
        """Stop to work: the turn ends as interrupted, the session does not end."""
        self._closing_reason = reason
        if self._task is not None and not self._task.done():
            with contextlib.suppress(errors.SessionEndedError):
                await self._in_task(self._suspend, patient=True)
            await self._task

    async def _in_task(
        self, method: Callable[[*Ts], Awaitable[T]], *args: *Ts, patient: bool = False
    ) -> T:
        """Run a method in the session's task."""
        if self._closing:
            raise self._over()
        if self.degraded and not patient:
            raise _untouched()
        return await self._calls.put(method, *args, patient=patient)

    def _wake(self) -> None:
        """Look after everything."""
        self._has_changed = True
        self._news.set()

    def _excuse(self) -> None:
        """The store cannot write, and the task waits for it: nobody else has to."""
        self._calls.excuse(_untouched, _not_finished)

    # --- The one task ---

    async def _run(self) -> None:
        if self._redactor is not None:
            logs.redact_here(self._redactor.text)
        while not self._closing:
            await self._news.wait()
            self._news.clear()
            has_changed, self._has_changed = self._has_changed, False
            await self._calls.work()
            try:
                has_changed = await self._pump.receive() or has_changed
                if not has_changed and self._mail.empty:
                    continue  # by far the most: a text goes on, and nothing else is to be done
                await self._deadlines.work()
                await self._interrupt_if_asked()
                self._take_stock()
                await self._deliver()
                if self._outdated and not self._pump.at_work:
                    self._on_outdated(self)
            except Exception as error:  # the last resort: a defect of ours ends in the log
                log.exception("session %s failed", self.id)
                if self._mail.on_way:
                    self._wake()  # this one fails, and nobody else calls for the next
                await self._pump.fail(error)
            self._closing = self._closing or self._interpreter.ended
            self._take_stock()
        self._file_events.close()
        self._limits.release(self.id)
        self._on_end(self)
        self._calls.refuse(self._over)

    def _over(self) -> errors.DragomanError:
        return self._ended() or errors.Unavailable(self._closing_reason)

    def _ended(self) -> errors.SessionEndedError | None:
        return errors.SessionEndedError(self.id) if self._interpreter.ended else None

    def _take_stock(self) -> None:
        """Start and stop clocks, and give back the places that are not needed."""
        turn = self._pump.in_turn or self._mail.on_way
        more = bool(self._accepting) or self._mail.stale or self._mail.next() is not None
        wants = more and self._reachable and not self._closing
        spare = self._pump.spare and not self._closing
        self._limits.note(
            self.id,
            process=self._pump.process is not None,
            turn=turn,
            wants=wants,
            spare=self._deadlines.rest_soon if spare else None,
        )
        self._deadlines.watch(idle=spare and not wants, closing=self._closing)

    # --- Delivering messages ---

    async def _deliver(self) -> None:
        if self._closing:
            return  # what waits is for the next start
        if self._mail.stale:
            await self._pump.journal.settle()
            await self._mail.refresh()
        message = self._next() if self._reachable else None
        if message is not None and (self._pump.in_turn or self._may_work()):
            await self._hand_over(message)
            self._wake()  # if it failed at once, nobody else calls for the next
        await self._announce_queue()

    def _next(self) -> MessageRow | None:
        """One message after another, unless one wants to join the running turn, and can."""
        if self._interpreter.ended or (self._mail.on_way and not self._pump.in_turn):
            return None
        if self._pump.in_turn:
            return self._mail.next(steer=True) if self._pump.steers else None
        return self._mail.next()

    def _may_work(self) -> bool:
        return self._limits.may_work(self.id, self._wake)

    async def _hand_over(self, message: MessageRow) -> None:
        prompt = await prompt_of(message, self._image_room_bytes)
        self._interpreter.remember(prompt)  # whatever goes wrong, it gets its turn
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
            self._interpreter.deliver(prompt.message_id)
            await self._pump.give_up(error)

    async def _announce_queue(self) -> None:
        """Show the queue whenever it is not what was shown last."""
        if self._interpreter.ended:
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
        left = draft(self._mail.without(message_id), self.state.native_session_id)
        await self._pump.journal.cancel(message_id, [left])
        self._mail.cancelled(message_id)
        self._interpreter.forget(message_id)

    # --- Other actions ---

    async def _interrupt(self) -> None:
        turn = self._interpreter.turn_id
        if self._pump.process is None or (turn is None and not self._mail.on_way):
            return
        loop = asyncio.get_running_loop()
        loop.call_later(self._interrupt_deadline_s, self._insist, turn)
        self._interrupt_asked = True
        await self._interrupt_if_asked()

    async def _interrupt_if_asked(self) -> None:
        """A turn that is about to start is interrupted once it has."""
        if self._interrupt_asked and self._pump.in_turn:
            self._interrupt_asked = False
            if self._pump.process is not None:
                await self._tell_to_stop()

    async def _tell_to_stop(self) -> None:
        try:
            await self._pump.command(Interrupt())
        except errors.DaemonError as error:
            gone = (
                isinstance(error, errors.AgentProcessExited) and await self._pump.finish_if_exited()
            )
            if not gone:
                await self._abandon()  # it hears nobody

    def _insist(self, turn: str | None) -> None:
        """An agent that does not heed an interrupt loses its process."""
        self._deadlines.soon(lambda: self._cut(turn))

    async def _cut(self, turn: str | None) -> None:
        late = self._interrupt_asked if turn is None else self._interpreter.turn_id == turn
        if late:
            await self._abandon()

    async def _abandon(self) -> None:
        """End the turn, and the process with it."""
        self._interrupt_asked = False
        self._pump.take_back_mail()
        await self._pump.stop()
        self._interpreter.cut_turn("interrupt")
        await self._pump.flush()

    async def _configure(self, wanted: Configure, title: str | None) -> None:
        if title is not None:
            await self._pump.note(SessionUpdated(title=title))
        runs = self._pump.process is not None
        if wanted != Configure() and not (runs and await self._tell(wanted)):
            await self._pump.note(update_of(wanted))
        await self._pump.journal.settle()

    async def _answer(self, request_id: str, answer: AnswerPermission | AnswerQuestion) -> bool:
        request = self._interpreter.request(request_id)
        if request is None:
            return False
        return await self._tell(msgspec.structs.replace(answer, key=request.key))

    async def _tell(self, command: Command) -> bool:
        """Tell the agent something; False: it is gone instead, and what this means is written.

        Raise AgentProcessExited where it lives and hears nobody: somebody may try again.
        """
        try:
            await self._pump.command(command)
        except errors.DeadlinePassed as error:
            await self._pump.give_up(error)
        except errors.AgentProcessExited:
            if not await self._pump.finish_if_exited():
                raise
        else:
            return True
        if self._interpreter.ended:
            raise self._over()
        return False

    async def _terminate(self) -> None:
        if self._interpreter.ended:
            return
        self._interpreter.take_back("session_end")
        await self._pump.stop()
        self._mail.clear()
        self._interpreter.terminate()
        await self._pump.flush()

    async def _delete_conversation(self, quiet_since_ms: int) -> None:
        row = await self._store.session(self.id)
        touched = row is None or row.updated_at >= quiet_since_ms
        if touched or self.busy or self._accepting or self.state.status != "idle":
            raise errors.Conflict(f"session {self.id!r} is in use")
        # From here on nobody's message is accepted: it would be lost.
        self._deleting_conversation = True
        try:
            await self._terminate()
        finally:
            self._deleting_conversation = False

    async def _suspend(self) -> None:
        self._closing = True
        self._interpreter.take_back("restart")
        await self._pump.stop()
        self._interpreter.cut_turn("restart")
        await self._pump.flush()


def _untouched() -> errors.StorageFull:
    return errors.StorageFull("the store cannot write at the moment; nothing of this was done")


def _not_finished() -> errors.StorageFull:
    message = "the store cannot write: this was begun, and is finished when it can; ask again then"
    return errors.StorageFull(message, begun=True)
