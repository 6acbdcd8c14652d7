"""Bodies and queries of the HTTP contract."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from dragoman.schema.agents import AddAgent as AddAgent
from dragoman.schema.agents import AgentCapabilities as AgentCapabilities
from dragoman.schema.agents import AgentInfo as AgentInfo
from dragoman.schema.agents import AgentList as AgentList
from dragoman.schema.agents import AgentProcess as AgentProcess
from dragoman.schema.agents import AgentSource as AgentSource
from dragoman.schema.agents import FeatureSupport as FeatureSupport
from dragoman.schema.agents import InstallAgent as InstallAgent
from dragoman.schema.agents import ListingQuery as ListingQuery
from dragoman.schema.agents import ModeInfo as ModeInfo
from dragoman.schema.agents import ModelInfo as ModelInfo
from dragoman.schema.agents import ModeList as ModeList
from dragoman.schema.agents import ModelList as ModelList
from dragoman.schema.agents import ProcessInfo as ProcessInfo
from dragoman.schema.agents import ProcessList as ProcessList
from dragoman.schema.agents import ServerStatus as ServerStatus
from dragoman.schema.camel import Http as Http
from dragoman.schema.commands import Attachment, PermissionMode, PermissionReply
from dragoman.schema.events import (
    Continuity,
    Outcome,
    PermissionRequested,
    QuestionRequested,
    Usage,
)
from dragoman.schema.file_events import ChangeCount as ChangeCount
from dragoman.schema.file_events import DiffQuery as DiffQuery
from dragoman.schema.file_events import FileEventOptions as FileEventOptions
from dragoman.schema.file_events import SessionDiff as SessionDiff
from dragoman.schema.mcp_skills import McpOAuth as McpOAuth
from dragoman.schema.mcp_skills import McpServer as McpServer
from dragoman.schema.mcp_skills import Skills as Skills
from dragoman.schema.mcp_skills import SkillSource as SkillSource
from dragoman.schema.texts import EnvName, NoNul, Word

SESSION_ID_PATTERN = r"^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$"
SessionId = Annotated[str, Meta(pattern=SESSION_ID_PATTERN)]
SessionStatus = Literal["idle", "starting", "running", "waiting", "ended"]
Position = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A sequence, as large as the store can count."""
Link = Annotated[
    str,
    Meta(
        pattern=r"^[0-9A-Fa-f]{32}$(?!\n)",
        description="it must be 32 hexadecimal digits, as a page or a stream told them",
    ),
]
"""What an event is known by in the hash chain of its session's log."""


class Health(Http, frozen=True, kw_only=True, omit_defaults=False):
    """Liveness, nothing else."""

    status: Literal["ok"] = "ok"


class Problem(Http, frozen=True, kw_only=True):
    """An error document (`application/problem+json`)."""

    type: str
    title: str
    status: int
    detail: str | None = None
    instance: str | None = None
    agent: str | None = None
    session_id: str | None = None
    details: dict[str, Any] | None = None


# --- Sessions ---


class Resume(Http, frozen=True, kw_only=True):
    """Go on where another session, ours or the agent's own, stopped."""

    session_id: str | None = None
    native_session_id: Word | None = None
    fork: bool | None = None


class CreateSession(Http, frozen=True, kw_only=True):
    """What a session shall be."""

    agent: str
    agent_mode: str | None = None
    permission_mode: PermissionMode | None = None
    model: Word | None = None
    variant: Word | None = None
    agent_version: Word | None = None
    directory: NoNul | None = None
    """The agent's working directory, absolute; by default the one that the daemon was started in,
    or the first root."""
    title: str | None = None
    env: dict[EnvName, NoNul] | None = None
    """Added to the agent's environment, never returned."""
    mcp: dict[str, McpServer] | None = None
    skills: Skills | None = None
    resume: Resume | None = None
    file_events: FileEventOptions | bool | None = None
    """What it tells of the files in its directory; false: nothing. By default as the settings
    say."""


class Created(Http, frozen=True, kw_only=True):
    """The session exists. Its agent starts with the first message."""

    session_id: str
    healthy: bool
    error: str | None = None
    """Why it is not healthy."""
    native_session_id: str | None = None


class SessionInfo(Http, frozen=True, kw_only=True):
    """A session, as listed."""

    session_id: str
    agent: str
    agent_mode: str
    permission_mode: str
    model: str | None = None
    variant: str | None = None
    native_session_id: str | None = None
    ended: bool
    event_count: int
    created_at: int
    """Milliseconds since the epoch, like `updatedAt`."""
    updated_at: int
    directory: str | None = None
    title: str | None = None
    preview: str | None = None
    """The first words of its first message, to show where there is no title."""
    mcp: dict[str, McpServer] | None = None
    skills: Skills | None = None
    status: SessionStatus
    last_outcome: Outcome | UnsetType | None = UNSET
    pending_count: int
    """Messages that wait, and permissions and questions that nobody answered yet."""
    usage: Usage | UnsetType = UNSET
    """The sum of all turns."""
    chain: str | None = None
    """The link of its last event in the hash chain of its log."""
    continuity: Continuity | UnsetType | None = UNSET
    """The last time that it did not go on from where it was, how that came."""
    file_events: FileEventOptions | bool | None = None
    """As it was created with; false: nothing is told, also where only the settings say so."""
    changes: ChangeCount | None = None
    """How much its directory differs from the commit that its last turn began at; absent: no turn
    has changed anything."""


class SessionList(Http, frozen=True, kw_only=True):
    """Sessions, newest first; `nextCursor` where there are more."""

    sessions: tuple[SessionInfo, ...]
    next_cursor: str | None = None


class SessionQuery(Http, frozen=True, kw_only=True):
    """Which sessions to list; all unless `limit` is given."""

    agent: str | None = None
    status: SessionStatus | None = None
    q: str | None = None
    """A part of the id, the title or, where there is none, the first words, in any case."""
    limit: Annotated[int, Meta(ge=1, le=10000)] | None = None
    cursor: str | None = None


class DeleteQuery(Http, frozen=True, kw_only=True):
    """Whether a session may be in use when it is deleted."""

    quiet_since: Position | None = None
    """Milliseconds since the epoch: refused (409) where anything happened since, or goes on."""


class PatchSession(Http, frozen=True, kw_only=True):
    """What to change; what is absent, or null, stays."""

    title: str | None = None
    """Empty: it has none any more."""
    model: Word | None = None
    variant: Word | None = None
    agent_mode: str | None = None
    permission_mode: PermissionMode | None = None


# --- Messages and events ---


class Message(Http, frozen=True, kw_only=True):
    """A person's message."""

    message: str
    attachments: tuple[Attachment, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what says nothing."""
        if not self.message.strip() and not self.attachments:
            raise ValueError("message needs words, or something attached")


class EventQuery(Http, frozen=True, kw_only=True):
    """Which events of a session: those with `sequence > offset`."""

    offset: Position = 0
    limit: Annotated[int, Meta(ge=1, le=10000)] = 1000
    include_raw: bool = False
    compact: bool = False
    """Leave out the deltas of items that are completed among these events.

    `limit` still counts them: the last event is the same, and so are `hasMore` and `chain`."""
    after_chain: Link | None = None
    """The link of the event at `offset`, as it was read: another one there is refused (409)."""


class StreamQuery(Http, frozen=True, kw_only=True):
    """Where a stream begins: after `offset`."""

    offset: Position = 0
    include_raw: bool = False
    after_chain: Link | None = None
    """The link of the event at `offset`, as it was read: another one there is refused (409)."""


class AguiQuery(Http, frozen=True, kw_only=True):
    """What a stream of AG-UI holds."""

    include_raw: bool = False
    """With the agent's own messages, as `RAW`."""


Delivery = Literal["queue", "steer", "reject"]
"""What becomes of a message while a turn is running."""


class MessageQuery(Http, frozen=True, kw_only=True):
    """How a message is delivered while a turn is running."""

    delivery: Delivery = "queue"
    """It waits, or joins the turn where the agent can, or is refused (409)."""


class TurnStreamQuery(Http, frozen=True, kw_only=True):
    """What the stream of a turn holds, and how its message is delivered."""

    include_raw: bool = False
    delivery: Delivery = "queue"
    """It waits, or joins the turn where the agent can, or is refused (409)."""


class EventPage(Http, frozen=True, kw_only=True):
    """A page of events; `hasMore` where it is not the end."""

    events: tuple[Any, ...]
    has_more: bool
    chain: str | None = None
    """The link of the last event; of an empty page, at `offset`. Beyond the end there is none."""


class PendingMessage(Http, frozen=True, kw_only=True):
    """A message that waits for its turn."""

    message_id: str
    message: str
    created_at: int


class Pending(Http, frozen=True, kw_only=True, omit_defaults=False):
    """What waits: messages for the agent, requests for people."""

    messages: tuple[PendingMessage, ...]
    permissions: tuple[PermissionRequested, ...]
    questions: tuple[QuestionRequested, ...]


class ReplyPermission(Http, frozen=True, kw_only=True):
    """A person's answer to a permission request."""

    reply: PermissionReply
    message: str | None = None
    """Told to the agent with a rejection."""
    updated_input: dict[str, Any] | None = None
    """What to run instead, where the agent takes that; goes with `once`."""

    def __post_init__(self) -> None:
        """Refuse what would make a rule of something that nobody asked about."""
        if self.updated_input is not None and self.reply != "once":
            raise ValueError("updatedInput goes with the reply once only")


class ReplyQuestion(Http, frozen=True, kw_only=True):
    """A person's answers, one list for each question."""

    answers: tuple[tuple[str, ...], ...]


def to_json(body: Struct) -> bytes:
    """Encode a response."""
    return msgspec.json.encode(body)
