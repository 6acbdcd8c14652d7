"""Agents and their processes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from dragoman.schema.camel import Http
from dragoman.schema.texts import AgentId, EnvName, Label, NoNul

AgentSource = Literal["built-in", "package", "catalogue", "settings", "api"]
"""Where an agent comes from: Dragoman, another Python package, the catalogue of well-known ones,
the settings file, or `POST /v1/agents`."""


class FeatureSupport(Struct, frozen=True, kw_only=True):
    """Whether the agent has a feature, and whether the stream shows it."""

    native: bool
    shown: bool


class AgentCapabilities(Http, frozen=True, kw_only=True, omit_defaults=False):
    """What appears in the stream of this agent."""

    plan_mode: bool
    permissions: bool
    questions: bool
    tool_calls: bool
    tool_results: bool
    text_messages: bool
    images: bool
    file_attachments: bool
    session_lifecycle: bool
    error_events: bool
    reasoning: bool
    status: bool
    command_execution: bool
    file_changes: bool
    mcp_tools: bool
    streaming_deltas: bool
    item_started: bool
    shared_process: bool
    variants: bool
    subagents: bool
    usage: bool
    resume: bool
    interrupt: bool
    steer: bool
    fork: bool
    stability: Literal["stable", "experimental"]
    features: dict[str, FeatureSupport]


class ServerStatus(Http, frozen=True, kw_only=True):
    """The state of a process that many sessions share."""

    status: Literal["running", "stopped", "error"]
    base_url: str | None = None
    uptime_ms: int | None = None
    restart_count: int
    last_error: str | None = None
    unrouted: int
    """So many of its messages were for no session; the log of the process has them."""


class AgentInfo(Http, frozen=True, kw_only=True):
    """An agent, as this machine has it."""

    id: str
    name: str
    source: AgentSource | None = None
    """Where it comes from; always there. Only one from `api` can be removed over HTTP."""
    adapter: Literal["acp"] | None = None
    """The protocol by which it needs no code of its own."""
    verified: str | None = None
    """The version that was tried with this Dragoman; none: not verified."""
    env: tuple[str, ...] = ()
    """The names of the variables that its settings give it; their values are never shown."""
    fs: bool = False
    """It may read and write files through the daemon."""
    terminal: bool = False
    """It may run commands through the daemon."""
    installed: bool
    credentials_available: bool
    version: str | None = None
    path: str | None = None
    interpreter: str | None = None
    """What runs it, where Dragoman has installed that beside it."""
    problem: str | None = None
    """Why it cannot be used as it is, and what mends it."""
    capabilities: AgentCapabilities
    server_status: ServerStatus | None = None


class AgentList(Http, frozen=True, kw_only=True):
    """All agents."""

    agents: tuple[AgentInfo, ...]


class AddAgent(Http, frozen=True, kw_only=True):
    """An agent that needs no code: how it is called, and how it is started."""

    id: AgentId
    command: NoNul | Annotated[tuple[NoNul, ...], Meta(min_length=1, max_length=256)]
    """A list of words, or a text that is split like a shell does."""
    name: Label | None = None
    """How people see it called; by default its id."""
    adapter: Literal["acp"] = "acp"
    """How it is spoken to."""
    env: dict[EnvName, NoNul] | None = None
    """Variables for its processes, beneath those of a session; never returned."""
    fs: bool = False
    """Offer it to read and write files through the daemon."""
    terminal: bool = False
    """Offer it to run commands through the daemon."""


class ProcessInfo(Http, frozen=True, kw_only=True):
    """One process of a tree."""

    pid: int
    parent_pid: int
    command: str
    """As it was started, cut at 200 characters."""
    state: str
    """As the system calls it: `R` runs, `S` sleeps, `T` is stopped, `Z` waits to be reaped."""
    started_at: int
    memory_bytes: int
    cpu_ms: int


class AgentProcess(Http, frozen=True, kw_only=True):
    """A process that the daemon runs for an agent, with all that it has started."""

    pid: int
    purpose: Literal["session", "shared", "other"]
    """For one session, for several, or to ask an agent for its models or its version."""
    agent: str | None = None
    session_ids: tuple[str, ...] = ()
    started_at: int
    memory_bytes: int
    """Of all of its tree, as `cpuMs`."""
    cpu_ms: int
    tree: tuple[ProcessInfo, ...]
    """The process itself first."""


class ProcessList(Http, frozen=True, kw_only=True):
    """What runs now."""

    processes: tuple[AgentProcess, ...]


class InstallAgent(Http, frozen=True, kw_only=True):
    """How to install an agent; the body may be left out."""

    reinstall: bool | None = None
    """Fetch it anew, also where it is installed already."""


class ModeInfo(Http, frozen=True, kw_only=True):
    """One of an agent's modes."""

    id: str
    name: str
    description: str


class ModeList(Http, frozen=True, kw_only=True):
    """An agent's modes."""

    modes: tuple[ModeInfo, ...]


class ModelInfo(Http, frozen=True, kw_only=True):
    """One of an agent's models."""

    id: str
    name: str | None = None
    variants: tuple[str, ...] | None = None
    default_variant: str | None = None


class ListingQuery(Http, frozen=True, kw_only=True):
    """How to list an agent's models or modes."""

    refresh: bool = False
    """Ask the agent again, also where its answer is known."""


class ModelList(Http, frozen=True, kw_only=True):
    """An agent's models."""

    models: tuple[ModelInfo, ...]
    default_model: str | None = None
