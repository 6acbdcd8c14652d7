"""Moves messages: agent → interpreter → store → effects, in that order.

Message → interpreter → committed → effects, strictly in that order. The session's one task calls;
nobody else does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from dragoman import errors
from dragoman.adapter import Adapter
from dragoman.core.blobs import CopyFile, StoreFile
from dragoman.core.daemon_events import draft
from dragoman.core.interpreter import Interpreter
from dragoman.core.normalize import Output
from dragoman.facts import Exit, Launch
from dragoman.runtime.processes.channel import PATIENCE_S, AgentMessage, Channel, DedicatedProcess
from dragoman.runtime.processes.process import AgentSubprocess
from dragoman.runtime.processes.process_tree import process_tree
from dragoman.runtime.processes.stderr import StderrFile
from dragoman.runtime.provision.agents import Agents, InstalledAgent
from dragoman.runtime.session import agent_files
from dragoman.runtime.session.adapter_defects import report_defect
from dragoman.runtime.session.agent_services import AgentServices, TextFiles
from dragoman.runtime.session.containment import is_beneath
from dragoman.runtime.session.file_events import FileEvents
from dragoman.runtime.session.journal import Journal
from dragoman.runtime.session.message_queue import MessageQueue
from dragoman.runtime.session.spec import spec_of
from dragoman.schema.commands import Command, Prompt
from dragoman.schema.events import Body, Draft, ItemDelta, TurnEnded, TurnStarted
from dragoman.services import Service
from dragoman.settings import Settings, child_environ
from dragoman.steps import Delivered, Outgoing
from dragoman.store import SessionRow, Store
from dragoman.store.ids import new_id
from dragoman.wire.jsonl import Oversize
from dragoman.wire.jsonrpc import IncomingRequest, Response
from dragoman.wire.redactor import Redactor

log = logging.getLogger(__name__)

GONE_S = 1.0
"""How soon the end of a process is seen after that of its input; else it lives, and is deaf."""


class Pump:
    """One session's process, interpreter and journal. `wake` is called when there is news."""

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
        file_events: FileEvents,
        wake: Callable[[], None],
    ) -> None:
        self.process: Channel | None = None
        self._proven = False
        """The process has taken a message."""
        self._resumes = False
        """It was started to go on where another one stopped."""
        self._lifetime = "session"
        self.mail = MessageQueue(store, row.session_id, row.state.queue)
        self._row = row
        self._state = row.state
        self._adapter = adapter
        self._agents = agents
        self._store = store
        self._settings = settings
        self._mark = mark
        self._redactor = redactor
        self._wake = wake
        self.file_events = file_events
        self.interpreter = Interpreter(
            adapter.id,
            adapter.converter(spec_of(row, row.state, agents.registry.env_of(adapter.id))),
            row.state,
            new_id,
            files_dir=str(Path(settings.data_dir) / "files" / row.session_id),
            is_own=partial(is_beneath, row.directory),
            on_defect=partial(report_defect, adapter),
            ignored=adapter.ignored,
            read_file=partial(agent_files.peek, row.directory, settings.data_dir),
            find_file=partial(agent_files.find, row.directory, settings.data_dir),
            loop_limit=settings.loop_limit,
        )
        self._services = AgentServices(
            row.directory, files, mark, wake, store, settings.stop_deadline_s
        )
        self.journal = Journal(store, row.session_id, row.state, redactor, wake)

    @property
    def in_turn(self) -> bool:
        """A turn is running."""
        return self.interpreter.turn_id is not None

    @property
    def steers(self) -> bool:
        """A message that is sent now joins the running turn."""
        return self.process is not None and self.interpreter.steers()

    @property
    def at_work(self) -> bool:
        """The agent does something, or is about to; a subagent may, without a turn."""
        return not self.interpreter.idle or self.mail.on_way

    @property
    def spare(self) -> bool:
        """The process does nothing, nor a command of its, and the next one can go on."""
        is_idle = not self.at_work and not self._services.is_running
        return self.process is not None and is_idle and (self._resumable or self._blank)

    @property
    def _resumable(self) -> bool:
        return self._state.confirmed and "resume" in self._adapter.capabilities.shown

    @property
    def _blank(self) -> bool:
        """Nothing was begun at a process that others use, so nothing is lost with it."""
        return self._lifetime == "shared" and self._state.native_session_id is None

    # --- From the agent ---

    async def receive(self) -> bool:
        """Take some of what the agent said; the write of it goes on while we look for more.

        False: there was nothing but more of a text.
        """
        await self.journal.release()
        await self._tell_of_files()
        process = self.process
        if process is None:
            return True
        self._hear(process)
        self._hear_services()
        if self.interpreter.ended:
            await self.stop()  # whoever reads of the end finds no process left
        outputs = self.interpreter.take()
        try:
            await self._carry_out(outputs)
        except errors.DaemonError as error:
            await self.give_up(error)
            return True
        return await self._settle(process) or not _is_text(outputs)

    async def _settle(self, process: Channel) -> bool:
        """See what becomes of the process next; whether anything did."""
        if self.process is None:
            await self.journal.settle()
        elif process.drained:
            self.process = None
            await self._services.end()
            await self._on_exit(process.exit())
        elif process.waiting or self._services.waiting:
            self._wake()
            return False
        else:
            await self.journal.settle()
            return await self._dismiss()
        return True

    def _hear(self, process: Channel) -> None:
        heard = process.take()
        for number, message in enumerate(heard, start=1):
            self._interpret(message)
            if self.interpreter.take_claims() and process.shared:
                # What was held for a claim was said before the rest of this.
                process.put_back(len(heard) - number)
                return

    def _hear_services(self) -> None:
        for event in self._services.take():
            self.interpreter.on_service(event)

    def _interpret(self, heard: AgentMessage) -> None:
        match heard:
            case bytes():
                self.interpreter.receive(heard)
            case Oversize(size=size, sha256=sha256, head=head):
                self.interpreter.oversize(size, sha256, head)
            case IncomingRequest(key=key, message=line):
                self.interpreter.on_request(key, line)
            case Response(tag=tag, reply=reply, message=reply_line):
                self.interpreter.on_reply(tag, reply, reply_line)
            case _:
                self.interpreter.stray(heard.error, heard.message)

    async def finish_if_exited(self) -> bool:
        """Write what the end of the process means, where that is why it did not hear; else False.

        Its input is closed a moment before its end can be seen.
        """
        process = self.process
        if process is not None and not await process.gone_within(GONE_S):
            return False
        while self.process is not None:
            await self.receive()
        return True

    async def _dismiss(self) -> bool:
        """End a process that lives for one turn and has had it; else False."""
        if self._lifetime != "turn" or not self._proven or self.in_turn:
            return False
        await self.stop(patience_s=PATIENCE_S)
        await self.flush()
        return True

    async def _on_exit(self, exit: Exit) -> None:
        refused = self._resumes and not self._state.confirmed
        if self._proven or refused:
            self.mail.requeue()  # nobody has heard it: the next process does
        else:
            self.take_back_mail()
        self._hear_services()
        self.interpreter.on_close(exit, resumable=self._resumable)
        await self.flush()

    def take_back_mail(self) -> None:
        """What was on its way waits again; without a turn its sending failed, and needs one."""
        lost = self.mail.requeue()
        if lost and not self.in_turn:
            self.interpreter.deliver(lost[0])

    async def _carry_out(self, outputs: Sequence[Output]) -> None:
        """Write and do, in this order. Raise where the agent is deaf; all is written then, too."""
        failure: errors.DaemonError | None = None
        drafts: list[Draft] = []
        delivered: list[str] = []
        for output in outputs:
            match output:
                case Draft(body=TurnStarted()) if self.file_events.needs_turn:
                    await self.file_events.begin_turn()  # one that the agent began by itself
                    drafts.append(output)
                case Draft(body=TurnEnded(turn_id=turn_id)):
                    bodies = await self.file_events.end_turn(turn_id or "")
                    drafts += (draft(body, output.native_session_id) for body in bodies)
                    drafts.append(output)
                case Draft():
                    drafts.append(output)
                case Delivered(message_id=message_id):
                    delivered.append(message_id)
                    self._proven = True
                    self.mail.delivered(message_id)
                case StoreFile(path=path, data=data):
                    await self.journal.store_file(Path(path), data)
                case CopyFile(source=source, path=path):
                    await self._copy_file(source, Path(path))
                case _ if self.process is not None and failure is None:
                    await self.journal.write(drafts, delivered=delivered, last=False)
                    await self.journal.settle()
                    drafts, delivered = [], []
                    try:
                        await self._act(self.process, output)
                    except errors.DaemonError as error:
                        failure = error
        await self.journal.write(drafts, delivered=delivered, idle=self.interpreter.idle)
        if failure is not None:
            raise failure

    async def _act(self, process: Channel, output: Outgoing | Service) -> None:
        """Do something outside; all that was said before is stored."""
        if isinstance(output, Service):
            await self._services.begin(output)
        else:
            await process.send(output)

    async def _copy_file(self, source: str, path: Path) -> None:
        closed = self._settings.data_dir
        data = await asyncio.to_thread(agent_files.read, source, closed, self._redactor)
        if data is not None:
            await self.journal.store_file(path, data)

    async def flush(self) -> None:
        """Write what has come out, and wait until it is stored."""
        await self._carry_out(self.interpreter.take())
        await self.journal.settle()

    async def _tell_of_files(self) -> None:
        bodies, problem = self.file_events.take(), self.file_events.take_problem()
        if self.interpreter.ended:
            return
        if problem is not None:
            self.interpreter.show_status("file events", problem)
        for body in bodies:
            self.interpreter.note(body)
        if bodies or problem is not None:
            await self._carry_out(self.interpreter.take())

    async def note(self, body: Body) -> None:
        """Write an event of our own."""
        self.interpreter.note(body)
        await self._carry_out(self.interpreter.take())

    # --- To the agent ---

    async def command(self, command: Command) -> None:
        """Tell the agent something. Raise DaemonError where it cannot hear."""
        for outputs in self.interpreter.command(command):
            await self._carry_out(outputs)
        await self.journal.settle()

    async def tell(self, prompt: Prompt) -> None:
        """Hand over a message, to a process that is started if there is none."""
        self.mail.mark_sent(prompt.message_id, in_turn=self.in_turn)
        if self.in_turn:
            await self._ensure_process()
        else:
            await self._prepare_turn()
        await self.command(prompt)

    async def _prepare_turn(self) -> None:
        """Look at the directory while the process starts; both take their time."""
        look = asyncio.create_task(self.file_events.begin_turn())
        try:
            await self._ensure_process()
        finally:
            await look

    async def _ensure_process(self) -> None:
        if self.process is not None:
            return
        found = await self._agents.ready(self._adapter, self._row.create.agent_version)
        takes_skills = self._adapter.takes_skills
        skills = await self._agents.skills.folders(self._row) if takes_skills else ()
        env = self._agents.registry.env_of(self._adapter.id)
        spec = spec_of(self._row, self._state, env, skills, self._mark)
        spec = msgspec.structs.replace(spec, agent_version=found.version or spec.agent_version)
        launch = self._adapter.launch(spec, found.command)
        self._lifetime = launch.lifetime
        self._services.env = launch.env
        self.process = process = await self._open(launch, found)
        self._proven, self._resumes = False, self._state.confirmed
        log.info("agent started", extra={"session": self._row.session_id, "pid": process.pid})
        self.interpreter.on_open(spec)
        await self._carry_out(self.interpreter.take())

    async def _open(self, launch: Launch, found: InstalledAgent) -> Channel:
        if launch.lifetime == "shared":
            return await self._agents.servers.connection(
                self._adapter,
                launch,
                found.version,
                self._row.session_id,
                self._wake,
                self._store,
                self._redactor,
            )
        settings = self._settings
        stderr_file = StderrFile(
            Path(settings.data_dir), self._row.session_id, settings.max_stderr_bytes
        )
        process = AgentSubprocess(
            self._wake,
            self._mark,
            settings.max_line_bytes,
            send_deadline_s=settings.send_deadline_s,
            stdout_deadline_s=settings.stdout_deadline_s,
            stop_deadline_s=settings.stop_deadline_s,
            store=self._store,
            stderr_file=stderr_file,
            lives=self._agents.lives[self._adapter.id],
            redactor=lambda: self._redactor,
        )
        await process.start(launch, child_environ())
        return DedicatedProcess(process, launch, self._wake)

    # --- Ends ---

    async def stop(self, *, patience_s: float = 0.0) -> Exit | None:
        """End the process; what it said until then is kept."""
        process = self.process
        if process is None:
            return None
        if process.shared and self.in_turn:
            await self._call_off()
        ending = process.end(
            self._settings.stop_deadline_s, patience_s=patience_s, at_work=self.at_work
        )
        await asyncio.gather(ending, self._services.end())
        if process.shared:
            # It goes on for others; what it has started for this session does not.
            await asyncio.wrap_future(process_tree.submit_sweep(self._mark))
        while not process.drained:
            self._hear(process)
        self._hear_services()
        self.process = None
        self.mail.requeue()
        exit = process.exit()
        self.interpreter.on_close(exit, resumable=True)
        return exit

    async def _call_off(self) -> None:
        """The process goes on without this session: its turn there must not."""
        try:
            for outputs in self.interpreter.call_off():
                await self._carry_out(outputs)
        except errors.DaemonError as error:
            log.info("session %s left in a turn: %s", self._row.session_id, error)

    async def give_up(self, error: errors.DragomanError) -> None:
        """The agent cannot be told anything: the turn fails, and its process ends."""
        blocked = isinstance(error, errors.DeadlinePassed)
        exited = isinstance(error, errors.AgentProcessExited)
        stays = self._resumable or (self._blank and not exited)
        if isinstance(error, errors.AgentProcessExited) and error.exit is not None:
            self.interpreter.process_gone(error.exit, resumable=stays)
        elif not exited or self.process is None:
            code = "stdin_blocked" if blocked else "launch_failed"
            self.interpreter.fail_turn(str(error), code)
        exit = await self.stop()
        if exit is not None:
            self.interpreter.process_gone(exit, resumable=stays)
        if not stays:
            self.interpreter.give_up(str(error), exit)
        await self.flush()

    async def fail(self, error: Exception) -> None:
        """Something that we did not think of: the turn fails, and says so; the session goes on."""
        self.take_back_mail()
        await self.stop()
        if self.in_turn:
            message = f"the daemon failed: {type(error).__name__}: {error}"
            self.interpreter.fail_turn(message, "internal_error")
        await self.flush()

    async def recover(self) -> None:
        """Close what the last daemon left open, once."""
        if self._state.open_since is None:
            return
        open_since = self._state.open_since
        self.interpreter.restore(await self._store.bodies(self._row.session_id, open_since))
        self.interpreter.cut_turn("restart")
        if "resume" not in self._adapter.capabilities.shown:
            message = "the daemon was restarted, and this agent cannot resume a session"
            self.interpreter.give_up(message, None)
        await self.flush()


def _is_text(outputs: Sequence[Output]) -> bool:
    """Whether it is nothing but more of a text.

    What leaves no event at all is more: the agent may be in another state after it.
    """
    if not outputs:
        return False
    return all(type(each) is Draft and type(each.body) is ItemDelta for each in outputs)
