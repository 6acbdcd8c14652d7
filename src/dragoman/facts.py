"""Facts about an agent that say nothing of how it talks: plain records in its own folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from dragoman.schema.events import Stderr
from dragoman.schema.http import ModeList, ModelList

Feature = Literal[
    "planMode", "permissions", "questions", "toolCalls", "toolResults", "textMessages", "images",
    "fileAttachments", "sessionLifecycle", "errorEvents", "reasoning", "status", "commandExecution",
    "fileChanges", "mcpTools", "streamingDeltas", "itemStarted", "sharedProcess", "variants",
    "subagents", "usage", "resume", "interrupt", "steer", "fork",
]  # fmt: skip


def version_order(version: str) -> tuple[tuple[int, ...], bool, str]:
    """A key that sorts versions, a release after what led to it."""
    numbers, _, rest = version.partition("-")
    return tuple(map(int, re.findall(r"\d+", numbers))), not rest, rest


def is_since(version: str | None, first: str) -> bool:
    """Whether a version is this one or newer; one that is not known is taken for the newest."""
    return version is None or version_order(version) >= version_order(first)


class Capabilities(Struct, frozen=True, kw_only=True):
    """What the agent has (`native`), and what of it appears in the stream (`shown`)."""

    native: frozenset[Feature]
    shown: frozenset[Feature]
    stability: Literal["stable", "experimental"] = "experimental"
    since: Mapping[Feature, str] = {}
    """The first version that has a feature, where older ones that work lack it."""

    def of_version(self, version: str | None) -> Capabilities:
        """What a version has; one that is not known is taken for the newest."""
        newer = {each for each, first in self.since.items() if not is_since(version, first)}
        return Capabilities(
            native=self.native - newer, shown=self.shown - newer, stability=self.stability
        )


class OlderPackage(Struct, frozen=True, kw_only=True):
    """Where versions before one come from: one package for all platforms."""

    before: str
    """The first version that does not."""
    name: str
    executable: str


class Bundle(Struct, frozen=True, kw_only=True):
    """How versions since one are fetched: the package alone, for it holds what it depends on."""

    since: str
    beside: Mapping[str, str] = {}
    """What it needs all the same, and finds beside it: a package's name → its version."""


class Package(Struct, frozen=True, kw_only=True):
    """Where an agent comes from: npm, one package for each platform."""

    version: str
    """The version that this adapter is proven with."""
    names: Mapping[str, str]
    """`linux-x64` and the like → the package's name."""
    integrity: Mapping[str, str]
    """`linux-x64` and the like → what npm must report for `version`."""
    executable: str | Mapping[str, str]
    """Where the executable is, inside the package: everywhere, or by platform."""
    compressed: str = ""
    """Where it is compressed with Brotli, inside the package, until it is installed; empty: it is
    not."""
    former: Mapping[str, str] = {}
    """Where older versions have it, by platform, if elsewhere."""
    suffixes: Mapping[str, str] = {}
    """Where one package has a version for each platform: `linux-x64` → `-linux-x64`."""

    older: OlderPackage | None = None
    """None: all versions come from the packages above."""
    interpreter: Package | None = None
    """What runs the executable, where that is a script: fetched beside it, and always this version.
    """
    bundle: Bundle | None = None
    """None: npm installs it with all that it depends on."""
    tells_version: bool = True
    """Its program tells the version that npm knows; else it has a numbering of its own."""
    installed_as: str = ""
    """The agent that comes from the same package, and whose installation this is; empty: none."""

    def name(self, version: str, platform: str) -> str:
        """The package that a version comes from."""
        older = self._older(version)
        return self.names[platform] if older is None else older.name

    def programs(self, version: str, platform: str) -> tuple[str, ...]:
        """Where the executable may be, inside the package for this platform; the newest first."""
        if (older := self._older(version)) is not None:
            return (older.executable,)
        newest = self.executable if isinstance(self.executable, str) else self.executable[platform]
        return (newest, self.former[platform]) if platform in self.former else (newest,)

    def release(self, version: str, platform: str) -> str:
        """What npm calls a version for this platform."""
        return version + ("" if self._older(version) else self.suffixes.get(platform, ""))

    def is_bundle(self, version: str) -> bool:
        """Whether a version is fetched without what it depends on."""
        return self.bundle is not None and is_since(version, self.bundle.since)

    def _older(self, version: str) -> OlderPackage | None:
        older = self.older
        return None if older is None or is_since(version, older.before) else older


class Launch(Struct, frozen=True, kw_only=True):
    """How to start the agent's process."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = {}
    cwd: str
    wire: Literal["jsonl", "jsonrpc", "jsonrpc-bare", "http"] = "jsonl"
    """`jsonrpc-bare` leaves out the `jsonrpc` member; `http` is for shared processes only."""
    lifetime: Literal["turn", "session", "shared"] = "session"
    """`shared`: sessions with equal launches share a process, so it names nothing of one of them;
    its wire is a JSON-RPC, or HTTP."""


class HttpServer(Struct, frozen=True, kw_only=True):
    """How an agent that serves HTTP on loopback is met."""

    address: Callable[[bytes], str | None]
    """The URL in a line of its stdout; None: the line says something else. Pure."""
    events: str
    """The path of its event stream. It is opened again whenever it breaks."""
    user: str
    """Who we are to it, in basic authentication."""
    password: str
    """The variable by which it gets the password, one for each process."""


class Exit(Struct, frozen=True, kw_only=True):
    """How a process ended."""

    code: int | None
    """None if a signal ended it."""
    signal: int | None
    expected: bool
    """We caused it."""
    stderr: Stderr
    stdout_closed: bool = False
    """It had closed its output and lived on, and was ended for that."""

    @property
    def details(self) -> dict[str, Any]:
        """As an error tells it."""
        return {"exit_code": self.code, "signal": self.signal, "stderr": self.stderr}


class Catalogue(Struct, frozen=True, kw_only=True):
    """How an agent itself is asked for its models, by a process that does nothing else."""

    launch: Callable[[tuple[str, ...], str], Launch]
    """From the command and a working directory."""
    ask: bytes
    """The line that asks, or several."""
    read: Callable[[bytes], tuple[ModelList | ModeList, ...]]
    """What a line answers; nothing: it is about something else. A list without models: the agent
    does not tell. Pure."""
    tells_modes: bool = False
    """It is asked for its modes as well: people can make their own."""
    patience: int = 1
    """How many deadlines it gets: one that first starts a server, or is slow on a busy machine."""
    http: HttpServer | None = None
    """Where the launch's wire is HTTP; then what asks is the line of a call."""


class IgnoredMessage(Struct, frozen=True, kw_only=True):
    """Native messages that leave no event, because they carry nothing that one could show."""

    where: Mapping[str, Any]
    """Path in the message, e.g. `event.type` → the value that it has there; `say*`: what begins so.
    """
    why: str


Block = Mapping[str, Any]
"""A tool call in a model's script, e.g. `{"tool": "Bash", "input": {"command": "ls"}}`."""


class ProbeRecipes(Struct, frozen=True, kw_only=True):
    """How probes make the agent act: by what its model says or, without a model, by prompts."""

    environ: Callable[[str, str], Mapping[str, str]] | None = None
    """Points the agent at the model at this URL, and at this home; None: it has no model."""
    files: Callable[[str], Mapping[str, str]] | None = None
    """What stands in that home for the model at this URL: path in it → text."""
    run: Callable[[str], Block] | None = None
    """Run this shell command."""
    write: Callable[[str, str], Block] | None = None
    """Write to the file at this path this text."""
    look: Callable[[str], Block] | None = None
    """Read the image at this path."""
    ask: Callable[[str, tuple[str, ...]], Block] | None = None
    """Ask the person this, with these options."""
    delegate: Callable[[str], Block | tuple[Block, ...]] | None = None
    """Give this task to a subagent, and wait for it where that is a call of its own."""
    mcp: Callable[[str, str, Block], Block] | None = None
    """Call, of this MCP server, this tool with these arguments."""
    plan: Callable[[str, str], tuple[Block, ...]] | None = None
    """Hand in this plan; the last request of the agent, as JSON, may say how."""
    side: tuple[str, ...] = ()
    """By what a request beside the conversation (a title, a suggestion) is recognised although it
    offers tools: the name of such a tool, or how its message begins."""
    variant: str | None = None
    """Where a request to the model names the variant, e.g. `reasoning.effort`."""
    variants: tuple[str, ...] = ()
    """Variants that the model has, where the adapter lists no models."""
    prompts: Mapping[str, str] = {}
    """Without a model: what makes it act, by the names above, and `say`, `think` and others."""
