"""Facts about an agent that say nothing of how it talks: plain records in its own folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

Feature = Literal[
    "planMode", "permissions", "questions", "toolCalls", "toolResults", "textMessages", "images",
    "fileAttachments", "sessionLifecycle", "errorEvents", "reasoning", "status", "commandExecution",
    "fileChanges", "mcpTools", "streamingDeltas", "itemStarted", "sharedProcess", "variants",
    "subagents", "usage", "resume", "interrupt", "steer", "fork",
]  # fmt: skip


class Capabilities(Struct, frozen=True, kw_only=True):
    """What the agent has (`native`), and what of it appears in the stream (`shown`)."""

    native: frozenset[Feature]
    shown: frozenset[Feature]
    stability: Literal["stable", "experimental"] = "experimental"


class Package(Struct, frozen=True, kw_only=True):
    """Where an agent comes from: npm, one package for each platform."""

    version: str
    """The version that this adapter is proven with."""
    names: Mapping[str, str]
    """`linux-x64` and the like → the package's name."""
    integrity: Mapping[str, str]
    """`linux-x64` and the like → what npm must report for `version`."""
    executable: str
    """Where the executable is, inside the package."""


class Noise(Struct, frozen=True, kw_only=True):
    """Native messages that leave no event, because they carry nothing that one could show."""

    where: Mapping[str, Any]
    """Path in the message, e.g. `event.type` → the value that it has there."""
    why: str


Block = Mapping[str, Any]
"""A tool call in a model's script, e.g. `{"tool": "Bash", "input": {"command": "ls"}}`."""


class Drill(Struct, frozen=True, kw_only=True):
    """How probes make the agent act: by what its model says or, without a model, by prompts."""

    environ: Callable[[str, str], Mapping[str, str]] | None = None
    """Points the agent at the model at this URL, and at this home; None: it has no model."""
    run: Callable[[str], Block] | None = None
    """Run this shell command."""
    write: Callable[[str, str], Block] | None = None
    """Write to the file at this path this text."""
    look: Callable[[str], Block] | None = None
    """Read the image at this path."""
    ask: Callable[[str, tuple[str, ...]], Block] | None = None
    """Ask the person this, with these options."""
    delegate: Callable[[str], Block] | None = None
    """Give this task to a subagent."""
    mcp: Callable[[str, str, Block], Block] | None = None
    """Call, of this MCP server, this tool with these arguments."""
    plan: Callable[[str, str], tuple[Block, ...]] | None = None
    """Hand in this plan; the last request of the agent, as JSON, may say how."""
    variant: str | None = None
    """Where a request to the model names the variant, e.g. `reasoning.effort`."""
    prompts: Mapping[str, str] = {}
    """Without a model: what makes it act, by the names above, and `say`, `think` and others."""
