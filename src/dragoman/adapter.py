"""The contract between an agent's dialect and the rest of Dragoman. Everyone reads it first.

An adapter is a frozen record of facts and two functions: `launch` says how to start the agent,
`converter` makes a pure translator for one session. A converter turns commands and native
messages into steps (`steps.py`); the normalizer (`core/normalize.py`) turns steps into events and
gives them our ids; the runtime carries out what is left, strictly in the order of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from dragoman.facts import (
    Capabilities,
    Catalogue,
    Exit,
    HttpServer,
    IgnoredMessage,
    Launch,
    Package,
    ProbeRecipes,
)
from dragoman.schema.commands import Command, PermissionMode
from dragoman.schema.http import ModeInfo, ModelInfo
from dragoman.services import ServiceEvent
from dragoman.steps import Notify, Request, Step
from dragoman.wire.jsonrpc import Reply

# --- What a session was asked to be -----------------------------------------------------------


class Spec(Struct, frozen=True, kw_only=True):
    """How a session was created, and the native id to resume once the agent confirmed one."""

    session_id: str
    agent: str
    agent_mode: str
    permission_mode: PermissionMode = "default"
    directory: str
    model: str | None = None
    variant: str | None = None
    agent_version: str | None = None
    """The version that is started, where it is known; before that, the one that was asked for."""
    env: dict[str, str] = {}
    mcp: dict[str, Any] = {}
    skills: tuple[str, ...] = ()
    """Folders that hold the session's skills, each `skills/NAME/SKILL.md`."""
    native_session_id: str | None = None
    tentative_id: str | None = None
    """A native id that the agent named before it had kept anything, if it ever has."""
    fork: bool = False
    marks: dict[str, str] = {}
    """Variables for what a shared process starts on behalf of this session."""
    fresh_id: str = ""
    """A UUID that no other session has, for an agent whose id we may choose."""


class Converter(Protocol):
    """Speaks one agent's dialect, for one session. Pure. Outlives its processes."""

    def command(self, command: Command) -> Iterable[Step]:
        """Translate what a person says. Every command has at least its Send.

        An Interrupt that sends nothing is not known to have failed: the turn goes on until
        `interrupt_deadline_s` is over, and then loses its process.
        """

    def receive(self, message: bytes) -> Iterable[Step]:
        """Translate what the agent says. Raise only msgspec errors, and only before a step.

        A request that comes to nothing, or to Unparsed only, is refused in the agent's own terms.
        """

    def steers(self) -> bool:
        """Whether a message that is sent now joins the running turn."""

    def on_open(self, spec: Spec) -> Iterable[Step]:
        """Greet a process that has just started; `spec` is what is wanted by now."""

    def on_close(self, exit: Exit) -> Iterable[Step]:
        """The process is gone: forget what belonged to it."""


@runtime_checkable
class Requester(Converter, Protocol):
    """A converter that makes requests."""

    def on_reply(self, tag: str, reply: Reply) -> Iterable[Step]:
        """Translate what became of a request. Raise as in `receive`."""


@runtime_checkable
class ServiceUser(Converter, Protocol):
    """A converter that has files read and written, and commands run, by the daemon."""

    def on_service(self, event: ServiceEvent) -> Iterable[Step]:
        """Translate what became of a service that it asked for."""


Unused = Literal["model", "mcp", "skills", "variant"]
EVERYONE = "*"
"""Routes what a shared process says to all its sessions."""


# --- Facts about an agent ---------------------------------------------------------------------


class Adapter(Struct, frozen=True, kw_only=True):
    """Everything that is known about an agent."""

    id: str
    name: str
    event_prefix: str
    """How its own events are called where a surface has names for them, e.g. `claude-code`."""
    capabilities: Capabilities
    groups_messages: bool = False
    """It says which texts, thoughts and calls are one message of the model: a message is a step."""
    command: tuple[str, ...]
    """The executable and its first arguments; `DRAGOMAN_<ID>_COMMAND` replaces it."""
    modes: tuple[ModeInfo, ...]
    models: tuple[ModelInfo, ...] = ()
    default_model: str | None = None
    variants: tuple[str, ...] = ()
    """All the words that it has for variants, where its models tell of none."""
    catalogue: Catalogue | None = None
    """None: `models` and `default_model` are all that is known."""
    permission_modes: tuple[PermissionMode, ...] = ("default",)
    """Those that it, or we by its requests, can keep to. Where it never asks, that is `default`
    alone; another one is refused."""
    takes_model: bool = True
    """A session chooses a model."""
    takes_mcp: bool = False
    """It uses the servers in `Spec.mcp`."""
    takes_skills: bool = False
    """It reads the folders in `Spec.skills`."""
    unused: tuple[Unused, ...] = ()
    """What a session may be given although it makes no use of it: a status item says so. Anything
    else that it does not take is refused."""
    takes_updated_input: bool = False
    """It runs what a person made of its request, not what it asked for."""
    dialect: Literal["acp"] | None = None
    """The protocol by which it needs no code of its own; None: it has an adapter of its own."""
    verified: str | None = None
    """With a dialect: the version that was tried with it; None: none was."""
    package: Package | None = None
    """None: it cannot be installed by us."""
    least_version: str | None = None
    """The oldest version that works; an older one is refused."""
    folders: tuple[str, ...] = ()
    """Where its executable may be, beside PATH; `~` is the home directory."""
    ignored: tuple[IgnoredMessage, ...] = ()
    probe_recipes: ProbeRecipes | None = None
    """None: `dragoman conform` cannot try it."""
    credentials: tuple[str, ...] = ()
    """Environment variables of which one must be set; empty: none is needed."""
    launch: Callable[[Spec, tuple[str, ...]], Launch]
    converter: Callable[[Spec], Converter]
    handshake: tuple[Request | Notify, ...] = ()
    """What a shared process hears first, once. It serves when every request was answered."""
    http: HttpServer | None = None
    """Where its wire is HTTP. A `Request` names verb and path as its method, and its params are
    the body. Events that come once for each stream, at its start, are routed to EVERYONE: whoever
    hears one in the middle of its work has missed something, and asks for it."""
    route: Callable[[bytes], tuple[str, ...]] | None = None
    """The native keys of a message of a shared process: the first that is claimed decides; none:
    it is about the process; EVERYONE: each session hears it. Raise only msgspec errors. Pure."""
    delete_request: Callable[[str, bool], Request | None] | None = None
    """What a shared process hears of a native key whose session leaves; True: for good. None: it
    need not know. Pure."""
    terms: Mapping[str, str]
    """The universal term → the agent's own word for it, for the conversion table."""

    @property
    def is_built_in(self) -> bool:
        """It comes with its adapter, and has the version of Dragoman."""
        return self.package is None and self.dialect is None
