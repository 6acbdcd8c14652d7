"""All sessions of the daemon: create, find, list, recover, stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shutil
from collections.abc import Awaitable, Iterator
from pathlib import Path

import msgspec

from dragoman import logs
from dragoman.adapter import Adapter
from dragoman.core.daemon_events import session_started
from dragoman.core.fold import SessionState
from dragoman.core.redaction import Redaction
from dragoman.errors import (
    AgentGone,
    AlreadyResolved,
    Conflict,
    DragomanError,
    InvalidRequest,
    NotFound,
    RequestError,
    SessionEndedError,
    SessionNotFound,
    StorageFull,
    Unavailable,
)
from dragoman.files import Directories, FileService
from dragoman.runtime.processes import linux, stderr
from dragoman.runtime.processes.running import Holder, running_processes
from dragoman.runtime.processes.stale import kill_stale
from dragoman.runtime.provision.agents import Agents, InstalledAgent
from dragoman.runtime.session import attachments
from dragoman.runtime.session.agent_services import TextFiles
from dragoman.runtime.session.concurrency import ConcurrencyLimits
from dragoman.runtime.session.delete_conversation import delete_conversation
from dragoman.runtime.session.file_events import options_of
from dragoman.runtime.session.missing_agent import absent
from dragoman.runtime.session.replies import is_same, one_list_each, winner
from dragoman.runtime.session.session import Session
from dragoman.runtime.session.session_diff import find_diff
from dragoman.runtime.session.validate import ensure_supported, ensure_variant, notes_of
from dragoman.runtime.session.workspaces import Workspaces
from dragoman.schema.commands import AnswerPermission, AnswerQuestion, Configure
from dragoman.schema.events import (
    Event,
    PermissionRequested,
    QuestionRequested,
    QuestionResolved,
    SessionStarted,
)
from dragoman.schema.http import (
    SESSION_ID_PATTERN,
    CreateSession,
    Delivery,
    Message,
    PatchSession,
    ProcessList,
    SessionDiff,
)
from dragoman.settings import Settings
from dragoman.store import MessageRow, Receipt, RequestRow, SessionRow, Store, StoreStats
from dragoman.store.ids import new_id, now_ms

log = logging.getLogger(__name__)
STOP_DEADLINE_S = 10.0
RECOVER_DEADLINE_S = 10.0
OPEN_DEADLINE_S = 10.0
_ID = re.compile(SESSION_ID_PATTERN)
Answer = AnswerPermission | AnswerQuestion


def ensure_id(session_id: str) -> None:
    """Raise InvalidRequest for what no session can be called."""
    if not _ID.fullmatch(session_id):
        raise InvalidRequest(
            "a session id is 1 to 128 of A-Z a-z 0-9 . _ - and not . or ..", field="sessionId"
        )


class SessionManager:
    """The sessions that can be talked to. Reading their history needs only the store."""

    def __init__(
        self, store: Store, agents: Agents, settings: Settings, files: FileService
    ) -> None:
        self.store = store
        self._agents = agents
        self._settings = settings
        self._files = TextFiles(files, Directories(settings))
        self._limits = ConcurrencyLimits(settings.max_processes, settings.max_turns)
        self._mark = linux.mark_of(Path(settings.data_dir))
        self._workspaces = Workspaces(settings, self._mark)
        self._live: dict[str, asyncio.Task[Session]] = {}
        self._deleting: set[str] = set()
        self._recovering: list[asyncio.Task[None]] = []
        self._stopping = False

    async def recover(self) -> None:
        """End what the last daemon's agents left running, and close what it left open, once."""
        left = await kill_stale(self.store, self._mark)
        if left:
            log.warning("ended %d processes that an earlier daemon left", left)
        await self._agents.skills.clear()
        unfinished = await self.store.unfinished()
        self._recovering = [asyncio.create_task(self._recover(each)) for each in unfinished]
        if self._recovering:
            # A store that cannot write now is no reason not to serve what it holds.
            _, late = await asyncio.wait(self._recovering, timeout=RECOVER_DEADLINE_S)
            if late:
                log.warning("%d sessions are still being closed", len(late))
        try:
            await self.store.purge()
        except StorageFull as error:
            log.warning("deleted sessions are not purged yet: %s", error)

    async def _recover(self, session_id: str) -> None:
        try:
            await self._opening(session_id)
        except RequestError as error:
            # That is no reason to start nothing at all.
            log.error("session %s cannot go on: %s", session_id, error)

    async def stop(self) -> None:
        """End all agents, in parallel; turns end as interrupted, sessions go on after a start."""
        self._stopping = True
        closing = [asyncio.create_task(self._close(task)) for task in self._live.values()]
        if closing:
            # A store that cannot write must not hold the daemon up: what is not written stays
            # open in the log, and the next start closes it.
            deadline_s = STOP_DEADLINE_S + self._settings.stop_deadline_s
            _, late = await asyncio.wait(closing, timeout=deadline_s)
            for task in [*late, *self._recovering]:
                task.cancel()
        self._workspaces.close()

    async def _close(self, opening: asyncio.Task[Session]) -> None:
        with contextlib.suppress(DragomanError):
            await (await opening).close()

    # --- Making and finding ---

    async def create(self, session_id: str, wanted: CreateSession, directory: str) -> SessionRow:
        """Make a session in a directory; its agent starts with the first message."""
        ensure_id(session_id)
        if self._stopping:
            raise Unavailable("the daemon is stopping")
        adapter = self._agents.adapter(wanted.agent)
        # Unlike Path's, this one is False also for what cannot be looked at.
        if not await asyncio.to_thread(os.path.isdir, directory):
            raise InvalidRequest(f"there is no directory {directory!r}", field="directory")
        await self._ensure_supported(adapter, wanted, wanted.model)
        env = self._agents.registry.env_of(adapter.id)
        redactor = await self._agents.secrets.of_session(wanted, env)
        state = await self._first_state(adapter, wanted)
        if redactor is not None:
            logs.redact_here(redactor.text)
            state.title = redactor.text(state.title or "") or None
        self._agents.ensure_has(adapter, wanted.agent_version)
        found = await self._agents.ready(adapter, wanted.agent_version)
        now = now_ms()
        row = SessionRow(
            session_id=session_id,
            create=wanted,
            directory=directory,
            state=state,
            event_count=0,
            created_at=now,
            updated_at=now,
        )
        started = SessionStarted(metadata=_metadata(row, found))
        drafts = session_started(started, notes_of(adapter, wanted), new_id)
        if redactor is not None:
            drafts = Redaction(redactor).take(drafts, hold=False)
        row = msgspec.structs.replace(row, event_count=len(drafts))
        given = wanted.skills if adapter.takes_skills else None
        skills = self._agents.skills
        async with skills.prepared(given.sources if given else (), directory) as prepared:
            await self.store.create(row, drafts, most=self._settings.max_sessions)
            await skills.keep(prepared, session_id)
        if options_of(row, self._settings) is not None:
            await (await self._opening(session_id)).watch_files()
        return row

    async def _ensure_supported(
        self, adapter: Adapter, wanted: CreateSession | PatchSession, model: str | None
    ) -> None:
        ours = [each.adapter for each in self._agents.registry.all() if each.source == "built-in"]
        ensure_supported(adapter, wanted, ours)
        if wanted.variant is not None:
            models = await self._agents.models(adapter)
            ensure_variant(adapter, wanted.variant, model or models.default_model, models.models)

    async def _first_state(self, adapter: Adapter, wanted: CreateSession) -> SessionState:
        return SessionState(
            agent_mode=wanted.agent_mode or (adapter.modes[0].id if adapter.modes else ""),
            permission_mode=wanted.permission_mode or "default",
            model=wanted.model,
            variant=wanted.variant,
            title=wanted.title or None,
            native_session_id=await self._native_to_resume(wanted),
        )

    async def _native_to_resume(self, wanted: CreateSession) -> str | None:
        if wanted.resume is None:
            return None
        ours, native = wanted.resume.session_id, wanted.resume.native_session_id
        if native is not None and ours is None:
            return native
        if native is not None or ours is None:
            why = "resume needs sessionId or nativeSessionId, one of the two"
            raise InvalidRequest(why, field="resume")
        row = await self.row(ours)
        if row.create.agent != wanted.agent:
            raise InvalidRequest(
                f"session {row.session_id!r} is one of agent {row.create.agent!r}", field="resume"
            )
        if row.state.native_session_id is None:
            raise InvalidRequest(
                f"session {row.session_id!r} has nothing to resume: its agent never started",
                field="resume",
            )
        return row.state.native_session_id

    async def row(self, session_id: str) -> SessionRow:
        """A session as it is kept. Raise SessionNotFound."""
        if session_id in self._deleting:
            raise SessionNotFound(session_id)
        return await self._row(session_id)

    async def _row(self, session_id: str) -> SessionRow:
        row = await self.store.session(session_id)
        if row is None:
            raise SessionNotFound(session_id)
        return row

    def asks_a_person(self, event: Event) -> bool:
        """Whether an event is a request that waits for a person, and not for one of our rules.

        A rule has decided before the request is stored; that it has is stored only after the agent
        was told.
        """
        match event.data:
            case PermissionRequested(permission_id=found) | QuestionRequested(question_id=found):
                ours = (each for each in self._opened() if each.id == event.session_id)
                return any(session.asks(found) for session in ours)
            case _:
                return False

    def starting(self) -> frozenset[str]:
        """The sessions in which a message waits for its agent's process to come up.

        With those that work: one that is idle in the store has begun, and that is being stored.
        """
        return frozenset(
            session.id
            for session in self._opened()
            if session.is_starting or session.state.status != "idle"
        )

    async def stats(self) -> StoreStats:
        """How the store does; of the sessions that are idle there, some start."""
        stats = await self.store.stats()
        starting = sum(session.is_starting for session in self._opened())
        counts = stats.sessions
        idle = max(counts["idle"] - starting, 0)
        counted = {**counts, "idle": idle, "starting": counts["idle"] - idle}
        return msgspec.structs.replace(stats, sessions=counted)

    async def _open(self, session_id: str) -> Session:
        """The live session, started where it is not. Raise where that takes too long."""
        try:
            return await asyncio.wait_for(self._opening(session_id), OPEN_DEADLINE_S)
        except TimeoutError:
            # What the last daemon left open is closed first, and that needs a store that writes.
            raise StorageFull("the store cannot write at the moment; nothing was done") from None

    def _opening(self, session_id: str) -> Awaitable[Session]:
        """The start of a session, one for one id, whoever waits for it."""
        if self._stopping:
            raise Unavailable("the daemon is stopping")
        task = self._live.get(session_id)
        if task is None or (task.done() and task.exception() is not None):
            task = self._live[session_id] = asyncio.create_task(self._start(session_id))
        return asyncio.shield(task)

    async def _start(self, session_id: str) -> Session:
        row = await self._row(session_id)
        await self.store.watch(session_id)
        agent = row.create.agent
        if self._agents.has(agent):
            adapter = self._agents.adapter(agent)
        else:
            log.warning("session %s is one of agent %r, which is not here", session_id, agent)
            adapter = absent(agent)
        env = self._agents.registry.env_of(agent)
        redactor = await self._agents.secrets.of_session(row.create, env)
        session = Session(
            row,
            adapter,
            self._agents,
            self.store,
            self._settings,
            self._mark,
            redactor,
            self._files,
            self._workspaces,
            self._limits,
            self._forget,
            self._reopen,
        )
        with self.store.urgent(session_id):  # a few words, without which nothing goes on
            await session.recover()
        session.start()
        return session

    def _forget(self, session: Session) -> None:
        """A session that takes nothing more needs no task."""
        if self._is_live(session):
            del self._live[session.id]
        self.store.unwatch(session.id)

    def _is_live(self, session: Session) -> bool:
        """Nobody has taken its place."""
        return any(each is session for each in self._opened() if each.id == session.id)

    def _opened(self) -> Iterator[Session]:
        """The sessions that have a task."""
        for task in list(self._live.values()):
            if task.done() and not task.cancelled() and task.exception() is None:
                yield task.result()

    def agent_changed(self, agent: str) -> None:
        """An agent was added or removed: its sessions go on with what there is now.

        What it works on, it works on; after that its process ends.
        """
        for session in self._opened():
            if session.agent == agent:
                session.look_again()

    def _reopen(self, session: Session) -> None:
        """Open a session anew, for an agent that is not the one it was opened with."""
        if self._is_live(session) and not self._stopping:
            task = asyncio.create_task(self._open_again(session))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._live[session.id] = task

    async def _open_again(self, session: Session) -> Session:
        await session.close("the session's agent was changed; try again")
        if session.state.ended:
            self._live.pop(session.id, None)
            raise SessionEndedError(session.id)
        return await self._start(session.id)

    async def _running(self, session_id: str) -> Session:
        """The live session. Raise SessionEnded where it takes nothing more."""
        if session_id not in self._live and (await self._row(session_id)).state.ended:
            raise SessionEndedError(session_id)
        return await self._open(session_id)

    async def processes(self) -> ProcessList:
        """What runs now, and for whom."""
        holders = self._agents.servers.holders()
        for session in self._opened():
            holder = Holder("session", session.agent, (session.id,))
            holders[f"{self._mark}:{session.id}"] = holder
        return await asyncio.to_thread(running_processes, holders)

    # --- What people may want ---

    async def send(
        self, session_id: str, message: Message, key: str | None, delivery: Delivery = "queue"
    ) -> Receipt:
        """Accept a message, durably; the same key never sends twice."""
        row = MessageRow(
            message_id=new_id("msg"),
            text=message.message,
            attachments=message.attachments or (),
            created_at=now_ms(),
            key=key,
            steer=delivery == "steer",
        )
        try:
            session = await self._running(session_id)
        except SessionEndedError:
            # What was accepted before the end is known by its key; anything else is refused.
            return await self.store.accept(session_id, row)
        if session.degraded:
            raise StorageFull("the store cannot write at the moment; nothing was accepted")
        await attachments.ensure_there(row.attachments)
        with session.accepting(row) as no_room:
            refuse: RequestError | None = no_room or self._gone_error(session)
            if delivery == "reject" and session.busy:
                refuse = Conflict("a turn is running, and delivery is `reject`; use `queue`")
            receipt = await self.store.accept(session_id, row, refuse=refuse)
            session.message_accepted(receipt.message_id)
        if session.closing and not self._stopping:
            # It was opened anew meanwhile, and may have read its queue before this was there.
            with contextlib.suppress(SessionEndedError):
                (await self._running(session_id)).message_accepted(receipt.message_id)
        return receipt

    def _gone_error(self, session: Session) -> AgentGone | None:
        try:
            self._agents.adapter_of(session.id, session.agent)
        except AgentGone as error:
            return error
        return None

    async def cancel_message(self, session_id: str, message_id: str) -> None:
        """Take a waiting message back."""
        session = await self._running(session_id)
        await session.cancel_message(message_id)

    async def diff(self, session_id: str, turn_id: str | None) -> SessionDiff:
        """What has changed in a session's directory since it found it, or in one of its turns."""
        row = await self.row(session_id)
        env = self._agents.registry.env_of(row.create.agent)
        redactor = await self._agents.secrets.of_session(row.create, env)
        diff = await find_diff(row, turn_id, self.store, self._workspaces, self._settings)
        if redactor is None:
            return diff
        return msgspec.structs.replace(diff, diff=redactor.text(diff.diff))

    async def interrupt(self, session_id: str) -> None:
        """End the turn, not the session."""
        session = await self._running(session_id)
        await session.interrupt()

    async def patch(self, session_id: str, wanted: PatchSession) -> SessionRow:
        """Change a session's title, or how it works."""
        session = await self._running(session_id)
        change = Configure(
            model=wanted.model,
            variant=wanted.variant,
            mode=wanted.agent_mode,
            permission_mode=wanted.permission_mode,
        )
        if change != Configure():
            adapter = self._agents.adapter_of(session_id, session.agent)
            await self._ensure_supported(adapter, wanted, wanted.model or session.state.model)
        await session.configure(change, wanted.title)
        return await self.row(session_id)

    async def terminate(self, session_id: str) -> None:
        """End a session; again, where it has ended."""
        with contextlib.suppress(SessionEndedError):
            await (await self._running(session_id)).terminate()

    async def delete(self, session_id: str, quiet_since_ms: int | None = None) -> None:
        """End a session and forget it; raise Conflict where it was in use since then."""
        await self.row(session_id)
        await self.store.ensure_deletable()
        if quiet_since_ms is None:
            # Its end is shown before it is gone: who then asks for it shall not find it.
            self._deleting.add(session_id)
        try:
            await self._end(session_id, quiet_since_ms)
            row = await self._row(session_id)
            await delete_conversation(row, self._agents, self.store)
            await self.store.delete(session_id)
        finally:
            self._deleting.discard(session_id)
        files = Path(self._settings.data_dir) / "files" / session_id
        await asyncio.to_thread(shutil.rmtree, files, ignore_errors=True)
        await asyncio.to_thread(stderr.remove, Path(self._settings.data_dir), session_id)
        await self._agents.skills.remove(session_id)
        await self._workspaces.forget(row.directory, session_id)

    async def _end(self, session_id: str, quiet_since_ms: int | None) -> None:
        with contextlib.suppress(SessionEndedError):
            session = await self._running(session_id)
            try:
                if quiet_since_ms is None:
                    await session.terminate()
                else:
                    await session.delete_conversation(quiet_since_ms)
            except StorageFull as error:
                if quiet_since_ms is not None and "begun" not in error.details:
                    raise  # it may be in use
                # This is how people make room: it must not need any for what nobody will read.
                await session.discard()

    # --- Requests to people ---

    async def answer_permission(
        self, session_id: str, request_id: str, answer: AnswerPermission
    ) -> None:
        """Answer a permission: the first answer wins, the same again is fine."""
        row = await self._request(session_id, request_id, answer)
        if answer.updated_input is not None:
            await self._ensure_changeable(session_id)
        await self._answer(session_id, row, answer)

    async def answer_question(
        self, session_id: str, request_id: str, answer: AnswerQuestion
    ) -> None:
        """Answer or reject a question: the first answer wins, the same again is fine."""
        row = await self._request(session_id, request_id, answer)
        assert isinstance(row.body, QuestionRequested | QuestionResolved)
        answer = one_list_each(row.body, answer)
        await self._answer(session_id, row, answer)

    async def _answer(self, session_id: str, row: RequestRow, answer: Answer) -> None:
        if isinstance(row.body, PermissionRequested | QuestionRequested):
            session = await self._running(session_id)
            if await session.answer(row.request_id, answer):
                return
            row = await self._request(session_id, row.request_id, answer)
        if (await self.row(session_id)).state.ended:
            raise SessionEndedError(session_id)
        if not is_same(row, answer):
            raise AlreadyResolved(row.request_id, winner(row))

    async def _ensure_changeable(self, session_id: str) -> None:
        adapter = self._agents.adapter((await self.row(session_id)).create.agent)
        if not adapter.takes_updated_input:
            raise InvalidRequest(
                f"{adapter.name} would run what it asked for, unchanged; reject it, with a message "
                "that says what to do instead",
                field="updatedInput",
            )

    async def _request(self, session_id: str, request_id: str, answer: Answer) -> RequestRow:
        kind = "permission" if isinstance(answer, AnswerPermission) else "question"
        row = await self.store.request(session_id, request_id)
        if row is None or row.kind != kind:
            await self.row(session_id)
            raise NotFound(f"there is no {kind} {request_id!r} in session {session_id!r}")
        return row


def _metadata(row: SessionRow, found: InstalledAgent) -> dict[str, object]:
    create, state = row.create, row.state
    return {
        "agent": create.agent,
        "agentVersion": found.version,
        "agentMode": state.agent_mode,
        "permissionMode": state.permission_mode,
        "model": state.model,
        "variant": state.variant,
        "directory": row.directory,
    }
