"""The pump of one session: one task owns its agent, its turn, its requests and its queue.

Message → interpreter → committed → effects, strictly in that order. Whatever people want is an
action in the same task, so nothing is ever decided twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from dragoman import errors
from dragoman.adapter import Adapter, Delivered, EndTurn, Exit, Report, Send
from dragoman.core.advance import Interpreter
from dragoman.core.blobs import StoreFile
from dragoman.core.normalize import Normalizer, Output
from dragoman.core.restore import restore
from dragoman.errors import AgentProcessExited, DeadlinePassed, DragomanError, SessionEnded
from dragoman.runtime import linux
from dragoman.runtime.agents import Agents
from dragoman.runtime.inbox import Inbox
from dragoman.runtime.journal import Journal
from dragoman.runtime.process import AgentProcess
from dragoman.runtime.spec import queue_of, spec_of, update_of
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import Draft, SessionUpdated
from dragoman.settings import Settings, child_environ
from dragoman.store import MessageRow, SessionRow, Store
from dragoman.store.ids import new_id
from dragoman.wire.jsonl import Oversize

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
        self._row = row
        self._adapter = adapter
        self._agents = agents
        self._store = store
        self._settings = settings
        self._mark = f"{mark}:{row.session_id}"
        self._on_end = on_end
        files = Path(settings.data_dir) / "files" / row.session_id
        self._normalizer = Normalizer(new_id, str(files))
        self._normalizer.native_session_id = row.state.native_session_id
        self._normalizer.ended = row.state.ended
        self._interpreter = Interpreter(
            adapter.id, adapter.converter(spec_of(row, row.state)), self._normalizer, self.state
        )
        self._journal = Journal(store, self.id, self.state, lambda: self._normalizer.quiet)
        self._process: AgentProcess | None = None
        self._queue: list[MessageRow] = []
        self._announced: tuple[str, ...] = ()
        self._news = asyncio.Event()
        self._inbox = Inbox(self._news.set)
        self._look_for_messages = True
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    @property
    def degraded(self) -> bool:
        """The store does not take writes."""
        return self._journal.degraded

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._run(), name=f"session-{self.id}")
        self._news.set()

    # --- What people may want ---

    def message_accepted(self) -> None:
        """A message is in the store; it is delivered when its turn comes."""
        self._look_for_messages = True
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
            with contextlib.suppress(SessionEnded):
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
                await self._receive()
                await self._deliver()
            except Exception as error:  # the last resort: a defect of ours ends in the log
                log.exception("session %s failed", self.id)
                await self._fail(error)
            self._closing = self._closing or self._normalizer.ended
        self._on_end(self)
        self._inbox.refuse(self._over)

    def _over(self) -> DragomanError:
        stopping = errors.Unavailable("the daemon is stopping")
        return SessionEnded(self.id) if self._normalizer.ended else stopping

    async def _fail(self, error: Exception) -> None:
        """Something that we did not think of: the turn fails, and says so; the session goes on."""
        await self._stop_process()
        if self._normalizer.turn_id is not None:
            message = f"the daemon failed: {type(error).__name__}: {error}"
            self._normalizer.apply(Report(message=message, code="internal_error"), None)
            self._normalizer.apply(EndTurn(outcome="failed"), None)
        await self._flush()

    async def _receive(self) -> None:
        """Take some of what the agent said; the write of it goes on while we look for more."""
        process = self._process
        if process is None:
            return None
        self._hear(process)
        if self._normalizer.ended:
            await self._stop_process()  # whoever reads of the end finds no process left
        try:
            await self._carry_out(self._interpreter.take())
        except errors.DaemonError as error:
            return await self._give_up(error)
        if self._process is None:
            await self._journal.settle()
        elif process.drained:
            self._process = None
            await self._process_gone(process.exit())
        elif process.waiting:
            self._news.set()
        else:
            await self._journal.settle()
        return None

    def _hear(self, process: AgentProcess) -> None:
        for message in process.take():
            if isinstance(message, Oversize):
                self._interpreter.oversize(message.size, message.sha256, message.head)
            else:
                self._interpreter.receive(message)

    @property
    def _resumable(self) -> bool:
        return self.state.confirmed and "resume" in self._adapter.capabilities.shown

    async def _process_gone(self, exit: Exit) -> None:
        await asyncio.to_thread(linux.sweep, self._mark)
        self._interpreter.closed(exit, resumable=self._resumable)
        await self._flush()

    async def _carry_out(self, outputs: Sequence[Output]) -> None:
        """Write and do, in this order. Raise where the agent is deaf; all is written then, too."""
        failure: errors.DaemonError | None = None
        drafts: list[Draft] = []
        delivered: list[str] = []
        for output in outputs:
            match output:
                case Draft():
                    drafts.append(output)
                case Delivered(message_id=message_id):
                    delivered.append(message_id)
                case StoreFile(path=path, data=data):
                    await self._journal.store_file(Path(path), data)
                case Send(data=data) if self._process is not None and failure is None:
                    await self._journal.write(drafts, delivered=delivered, last=False)
                    await self._journal.settle()
                    drafts, delivered = [], []
                    try:
                        await self._process.send(data)
                    except errors.DaemonError as error:
                        failure = error
        await self._journal.write(drafts, delivered=delivered)
        if failure is not None:
            raise failure

    async def _flush(self) -> None:
        await self._carry_out(self._normalizer.take())
        await self._journal.settle()

    async def _command(self, command: Command) -> None:
        for outputs in self._interpreter.command(command):
            await self._carry_out(outputs)
        await self._journal.settle()

    # --- Delivering messages ---

    async def _deliver(self) -> None:
        if self._closing:
            return  # what waits is for the next start
        if self._look_for_messages:
            self._look_for_messages = False
            self._queue = await self._store.queued(self.id)
        if self._queue and self._normalizer.turn_id is None and not self._normalizer.ended:
            await self._hand_over(self._queue.pop(0))
            self._news.set()  # if it failed at once, nobody else calls for the next
        await self._announce_queue()

    async def _hand_over(self, message: MessageRow) -> None:
        prompt = Prompt(
            message_id=message.message_id, text=message.text, attachments=message.attachments
        )
        idle = self._process
        try:
            try:
                await self._tell(prompt)
            except AgentProcessExited:
                if idle is None:
                    raise
                await self._stop_process()  # it ended unnoticed, and has heard nothing of this
                await self._tell(prompt)
        except DragomanError as error:
            # A message that could not be sent still gets its turn, and the turn says why.
            self._normalizer.remember(prompt)
            self._normalizer.apply(Delivered(message_id=prompt.message_id), None)
            await self._give_up(error)

    async def _tell(self, prompt: Prompt) -> None:
        await self._ensure_process()
        await self._command(prompt)

    async def _give_up(self, error: DragomanError) -> None:
        """The agent cannot be told anything: the turn fails, and its process ends."""
        blocked = isinstance(error, DeadlinePassed)
        if blocked or self._process is None:
            code = "stdin_blocked" if blocked else "launch_failed"
            self._normalizer.apply(Report(message=str(error), code=code), None)
            self._normalizer.apply(EndTurn(outcome="failed"), None)
        exit = await self._stop_process()
        if exit is not None:
            self._normalizer.process_gone(exit, resumable=self._resumable)
        if not self._resumable:
            self._normalizer.never_came_up(str(error), exit)
        await self._flush()

    async def _ensure_process(self) -> None:
        if self._process is not None:
            return
        launch = self._adapter.launch(
            spec_of(self._row, self.state), self._agents.command(self._adapter)
        )
        process = AgentProcess(self._news.set, self._mark, self._settings.max_line_bytes)
        await process.start(launch, child_environ())
        self._process = process
        log.info("agent started", extra={"session": self.id, "pid": process.pid})
        self._interpreter.opened()
        await self._carry_out(self._interpreter.take())

    async def _announce_queue(self) -> None:
        """Show the queue whenever it is not what was shown last."""
        waiting = tuple(message.message_id for message in self._queue)
        if waiting != self._announced and not self._normalizer.ended:
            self._announced = waiting
            await self._journal.write([self._queue_event(self._queue)])
            await self._journal.settle()

    def _queue_event(self, queue: Sequence[MessageRow]) -> Draft:
        return Draft(queue_of(queue), "daemon", self.state.native_session_id)

    async def _cancel(self, message_id: str) -> None:
        self._queue = await self._store.queued(self.id)
        left = [message for message in self._queue if message.message_id != message_id]
        await self._journal.cancel(message_id, [self._queue_event(left)])
        self._queue = left
        self._announced = tuple(message.message_id for message in left)

    # --- Other actions ---

    async def _interrupt(self) -> None:
        turn = self._normalizer.turn_id
        if turn is None or self._process is None:
            return
        loop = asyncio.get_running_loop()
        loop.call_later(INTERRUPT_DEADLINE_S, self._insist, turn)
        await self._command(Interrupt())

    def _insist(self, turn: str) -> None:
        """An agent that does not heed an interrupt loses its process."""
        if self._normalizer.turn_id == turn and not self._closing:
            self._inbox.put(lambda: self._cut(turn))

    async def _cut(self, turn: str) -> None:
        if self._normalizer.turn_id == turn:
            await self._stop_process()
            self._normalizer.interrupted("interrupt")
            await self._flush()

    async def _configure(self, wanted: Configure, title: str | None) -> None:
        if title is not None:
            body = SessionUpdated(title=title)
            await self._journal.write([Draft(body, "daemon", self.state.native_session_id)])
        if wanted == Configure():
            await self._journal.settle()
        elif self._process is not None:
            await self._command(wanted)
        else:
            body = update_of(wanted)
            await self._journal.write([Draft(body, "daemon", self.state.native_session_id)])
            await self._journal.settle()

    async def _answer(self, request_id: str, answer: AnswerPermission | AnswerQuestion) -> bool:
        request = self._normalizer.request(request_id)
        if request is None:
            return False
        await self._command(msgspec.structs.replace(answer, key=request.key))
        return True

    async def _terminate(self) -> None:
        if self._normalizer.ended:
            return
        await self._stop_process()
        self._queue = []
        self._normalizer.terminated()
        await self._flush()

    async def _suspend(self) -> None:
        self._closing = True
        await self._stop_process()
        self._normalizer.interrupted("restart")
        await self._flush()

    async def _stop_process(self) -> Exit | None:
        """End the process; what it said until then is kept."""
        process = self._process
        if process is None:
            return None
        await process.end(self._settings.stop_deadline_s)
        while not process.drained:
            self._hear(process)
        self._process = None
        exit = process.exit()
        self._interpreter.closed(exit, resumable=True)
        return exit

    async def recover(self) -> None:
        """Close what the last daemon left open, once. Called before `start`."""
        if self.state.open_since is None:
            return
        for body in await self._store.bodies(self.id, self.state.open_since):
            restore(self._normalizer, body)
        self._normalizer.interrupted("restart")
        if "resume" not in self._adapter.capabilities.shown:
            message = "the daemon was restarted, and this agent cannot resume a session"
            self._normalizer.never_came_up(message, None)
        await self._flush()
