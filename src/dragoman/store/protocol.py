"""The store as others see it: its records, and the `Store` protocol."""

from __future__ import annotations

from asyncio import Future
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from msgspec import Struct

from dragoman.core.fold import SessionState
from dragoman.errors import RequestError
from dragoman.schema.commands import Attachment
from dragoman.schema.events import Body, Draft
from dragoman.schema.http import CreateSession, SessionStatus
from dragoman.store.counters import Counters
from dragoman.store.disk_usage import Space

MessageState = Literal["queued", "delivered", "cancelled"]


class SessionRow(Struct, frozen=True, kw_only=True):
    """A session as it is kept."""

    session_id: str
    create: CreateSession
    directory: str
    state: SessionState
    event_count: int
    created_at: int
    updated_at: int
    queued: int = 0
    position: int = 0
    """Where it stands in the order of creation."""
    link: bytes = b""
    """Of its last event, once it is stored."""


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Which sessions to list, newest first."""

    agent: str | None = None
    status: SessionStatus | None = None
    starting: frozenset[str] = frozenset()
    """Those that are idle in the store, and yet start: only who runs agents knows."""
    text: str | None = None
    before: int | None = None
    limit: int | None = None


class MessageRow(Struct, frozen=True, kw_only=True):
    """A person's message, accepted."""

    message_id: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    created_at: int
    key: str | None = None
    """The idempotency key it came with."""
    steer: bool = False
    """It may join a running turn."""


class Receipt(Struct, frozen=True, kw_only=True):
    """What accepting a message came to."""

    message_id: str
    fresh: bool
    """False: the key was there before, and nothing was stored again."""


class RequestRow(Struct, frozen=True, kw_only=True):
    """A permission or question, as it stands now."""

    request_id: str
    kind: Literal["permission", "question"]
    body: Body
    """`*.requested` while it is open, then `*.resolved`."""


class ProcessRow(Struct, frozen=True, kw_only=True):
    """A process that runs for us, or did when the daemon was killed."""

    mark: str
    """What it carries in its environment, or would; it names the session."""
    pid: int
    started: int
    """When it started, as its system counts."""
    boot: str
    """The run of the machine in which pid and start mean something."""


class WebhookRow(Struct, frozen=True, kw_only=True):
    """A webhook as it is kept: where events are sent, and how far that is."""

    webhook_id: str
    url: str
    types: tuple[str, ...]
    secret: str
    enabled: bool = True
    created_at: int
    position: int
    """Among the events of all sessions: what is before need not be sent any more."""
    last_delivery_at: int | None = None
    failing_since: int | None = None
    attempts: int = 0
    """How often the next event was tried in vain."""
    last_error: str | None = None


class Page(Struct, frozen=True):
    """Events, joined by commas, as they are stored."""

    events: bytes
    last: int
    """The sequence of the last one."""
    has_more: bool
    link: bytes | None
    """Of the last one; of a page without events, at the position that it follows."""


class Batch(Struct, frozen=True):
    """Events as SSE frames, ready to be sent, and links among them; no frames: nothing new."""

    frames: bytes
    last: int


class EventFilter(Struct, frozen=True, kw_only=True):
    """Which events of all sessions to follow; what is empty chooses nothing away."""

    agents: frozenset[str] = frozenset()
    session_ids: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()


class LogEvent(Struct, frozen=True):
    """One event of all, and where it stands; without a line, how far there is none."""

    position: int
    line: bytes


class EventCount(Struct, frozen=True):
    """How many events there are, as far as it was counted."""

    count: int
    is_least: bool
    """There are more behind those that were looked at."""


class StoreStats(Struct, frozen=True, kw_only=True):
    """How the store does."""

    sessions: dict[SessionStatus, int]
    events: int
    queued: int
    """Messages that wait, in all sessions."""
    database_bytes: int
    free_bytes: int
    """Inside the database."""
    log_bytes: int
    """Written ahead, not yet in the database."""
    writing: int
    """So many writes wait for the disk."""
    problem: str | None
    """Why nothing can be written, and what to do."""
    readers: int
    """Who follows a session."""
    position: int
    """Of the newest event among all."""
    all_readers: int
    """Who follows all sessions."""


class GlobalLog(Protocol):
    """The events of all sessions, in the order in which they were committed."""

    @property
    def position(self) -> int:
        """Where the newest event stands; positions only grow, and may have gaps."""

    def follow(
        self,
        after: int,
        which: EventFilter = ...,
        *,
        raw: bool = False,
        sink: Callable[[bytes], bool] | None = None,
    ) -> AsyncGenerator[Batch]:
        """Everything after a position, then whatever comes, until the store lets go.

        What was deleted is left out. A block of an id alone tells how far the reader is.
        """

    async def next_event(self, after: int, which: EventFilter = ...) -> LogEvent:
        """The next chosen event after a position; without a line, there is none up to there.

        It looks at so many events only. Raise Unavailable where the store cannot be read.
        """

    async def count_events(self, after: int, which: EventFilter = ...) -> EventCount:
        """How many chosen events follow a position, among the next ones only."""

    async def wait_after(self, after: int, *, deltas: bool) -> None:
        """Wait until there are events after a position; without `deltas`, other than those."""


class WebhookTable(Protocol):
    """The webhooks, and how far each is."""

    async def all(self) -> list[WebhookRow]:
        """Every webhook, the oldest first."""

    async def add(self, row: WebhookRow) -> None:
        """Keep a new one."""

    async def save(self, row: WebhookRow) -> None:
        """Keep one as it is now; nothing, where it was removed. Raise StorageFull."""

    async def remove(self, webhook_id: str) -> None:
        """Forget one."""


class LogEnd(Protocol):
    """A session's end of the log."""

    end: bytes
    """The frame of `session.ended`, once it came while this was held."""


class Append(Struct, frozen=True):
    """Events for the end of one session's log, and what changes in the same transaction."""

    session_id: str
    drafts: Sequence[Draft]
    state: SessionState | None = None
    """The session as it is then; None: as before."""
    delivered: Sequence[str] = ()
    """Messages that the agent has accepted."""
    cancelled: str | None = None
    """A message that is taken back; it must be waiting still."""


class Store(Protocol):
    """History. What `append` returned from is there after any crash.

    The log is here too: `append` stamps, encodes once, commits, and then rings; a reader is a
    position, and re-reads. An implementation never shows what is not committed.
    """

    @property
    def global_log(self) -> GlobalLog:
        """All sessions' events as one log."""

    @property
    def webhooks(self) -> WebhookTable:
        """Who is sent events."""

    @property
    def counters(self) -> Counters:
        """What was counted since the start."""

    async def stats(self) -> StoreStats:
        """How it does."""

    def lost_files(self) -> str | None:
        """What of it was removed or replaced since it was opened, and what to do."""

    async def create(self, row: SessionRow, drafts: Sequence[Draft], *, most: int = 0) -> None:
        """Keep a new session. Raise SessionExists where the id was ever used, and
        TooManyRequests where so many have not ended; 0: any number may be there."""

    async def session(self, session_id: str) -> SessionRow | None:
        """One session, None if there is none."""

    async def sessions(self, which: SessionFilter) -> list[SessionRow]:
        """Sessions, newest first."""

    async def unfinished(self) -> list[str]:
        """Sessions in which something is open, or a message waits."""

    async def holder(self, agent: str, native_session_id: str) -> str | None:
        """The session that has not ended and goes on under this id of the agent."""

    async def delete(self, session_id: str) -> None:
        """Forget a session, but not its id."""

    async def purge(self) -> None:
        """Finish what a delete began, and give back the room."""

    async def space(self) -> Space:
        """How large it is."""

    def urgent(self, session_id: str) -> AbstractContextManager[None]:
        """What is written to this session meanwhile may use what is kept back for deletes."""

    async def ensure_deletable(self) -> None:
        """Raise StorageFull where not even a session could be deleted."""

    async def touched_at(self) -> int | None:
        """When something last happened in any session; None: there is none."""

    async def quiet(self, before_ms: int, limit: int) -> list[str]:
        """Sessions in which nothing has happened since then, and nothing is open: first those
        that have ended, then the oldest."""

    async def watch(self, session_id: str) -> None:
        """Make a session ready for `append`."""

    def unwatch(self, session_id: str) -> None:
        """The session takes no more events for now."""

    def append(self, append: Append) -> Future[int]:
        """Store events, and what changes with them; resolves, committed, to the last sequence.

        Raise, through the future, StorageFull; nothing of it is stored then.
        """

    def sequence(self, session_id: str) -> int:
        """The last sequence given out in a session that is being watched."""

    async def read(
        self,
        session_id: str,
        after: int,
        limit: int,
        *,
        raw: bool,
        compact: bool = False,
        max_bytes: int,
    ) -> Page:
        """A page of events; shorter than `limit` where they are large, at least one event.

        `compact` leaves out the deltas of items that are completed on it.
        """

    async def position(self, session_id: str) -> tuple[int, bool]:
        """The last committed sequence, and whether the session has ended."""

    async def link(self, session_id: str, sequence: int) -> bytes | None:
        """The link of an event in the hash chain, None beyond the end; 0 is before the first."""

    def end_followers(self) -> None:
        """Let go of every reader that has seen all there is."""

    def notify_all(self) -> None:
        """Wake every reader, so that silent streams can show that they live."""

    async def hold(self, session_id: str) -> LogEnd:
        """A session to follow, also if it is deleted before that begins."""

    def follow(
        self,
        session: str | LogEnd,
        after: int,
        *,
        raw: bool = False,
        sink: Callable[[bytes], bool] | None = None,
    ) -> AsyncGenerator[Batch]:
        """Everything after a sequence, then whatever comes, until the session has ended.

        A batch without events, only with the link of the last one: woken for nothing, a moment to
        show that we live. Who stands at the end and has a `sink` is given the next frames there,
        without being woken; what the sink refuses comes as a batch.
        """

    async def bodies(self, session_id: str, after: int) -> list[Body]:
        """The bodies of all events after a sequence, in order."""

    async def search(self, session_id: str, text: str, after: int, until: int) -> list[Body]:
        """The bodies of the events after one sequence and up to another in which a text stands."""

    async def accept(
        self, session_id: str, message: MessageRow, *, refuse: RequestError | None = None
    ) -> Receipt:
        """Keep a message, once for its key. Raise KeyReused, SessionEnded; `refuse` a new one."""

    async def queued(self, session_id: str) -> list[MessageRow]:
        """The messages that wait, in order."""

    async def request(self, session_id: str, request_id: str) -> RequestRow | None:
        """A permission or question of this session."""

    async def process_started(self, row: ProcessRow) -> None:
        """Remember a process, so that the next daemon can end what this one could not."""

    async def processes_gone(self, mark: str) -> None:
        """Forget the processes of a mark; of all that begin so, where it ends in `:`; "" is all."""

    async def processes(self) -> list[ProcessRow]:
        """The processes that nobody has seen end."""

    async def close(self) -> None:
        """Finish what is being written, and let go."""
