"""The body of `GET /v1/status`."""

from __future__ import annotations

from dragoman.schema.access import Scope
from dragoman.schema.camel import Http
from dragoman.schema.http import ServerStatus, SessionStatus


class StoreStatus(Http, frozen=True, kw_only=True, omit_defaults=False):
    """The store."""

    path: str
    """The data folder."""
    events: int
    size_bytes: int
    """Of the database, with what is written ahead of it."""
    free_bytes: int
    """Room inside the database that the next events will take."""
    degraded: bool
    """Nothing can be written; what is stored can be read."""
    problem: str | None = None
    """Why it is degraded, and what to do."""
    cursor: str
    """The position of the newest event among all sessions, for `/v1/events/sse`."""


class AgentStatus(Http, frozen=True, kw_only=True):
    """An agent."""

    id: str
    installed: bool
    version: str | None = None
    """Where it is known without asking the agent."""
    server_status: ServerStatus | None = None


class Limit(Http, frozen=True, kw_only=True, omit_defaults=False):
    """A limit, and how much of it is used."""

    used: int
    most: int
    """0: there is no limit."""


class Limits(Http, frozen=True, kw_only=True):
    """The limits of the daemon, by the names of their settings."""

    max_sessions: Limit
    """Sessions that have not ended."""
    max_processes: Limit
    """Processes of sessions; those that several sessions share are not counted."""
    max_turns: Limit
    """Turns that run, or wait for a person."""
    max_connections: Limit
    max_streams: Limit
    max_store_bytes: Limit


class CallerStatus(Http, frozen=True, kw_only=True):
    """Who asks."""

    token: str
    """The name of the token, also where its cookie was shown."""
    scopes: tuple[Scope, ...]
    """All that it may do."""


class DaemonStatus(Http, frozen=True, kw_only=True, omit_defaults=False):
    """How the daemon does."""

    version: str
    caller: CallerStatus
    pid: int
    started_at: int
    """Milliseconds since the epoch."""
    uptime_ms: int
    store: StoreStatus
    sessions: dict[SessionStatus, int]
    """How many there are in each state."""
    queued: int
    """Messages that wait for their turn, in all sessions."""
    readers: int
    """Streams of events that are being followed."""
    agents: tuple[AgentStatus, ...]
    limits: Limits
