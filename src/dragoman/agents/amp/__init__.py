"""The facts about Amp: one process for each turn, JSON lines both ways."""

from __future__ import annotations

from typing import get_args

from dragoman.adapter import Adapter
from dragoman.agents.amp.convert import AmpConverter
from dragoman.agents.amp.launch import launch
from dragoman.agents.amp.package import PACKAGE
from dragoman.agents.amp.probes import IGNORED, PROBE_RECIPES
from dragoman.facts import Capabilities, Feature
from dragoman.schema.http import ModeInfo

MODES = ("low", "medium", "high", "ultra")
"""Amp's own modes, which choose model, prompt and tools together. To us they are variants."""

# Without a terminal it asks nothing: what its rules would ask for is refused by Amp itself. What
# its subagents do is told to nobody, nor that its server tries again; an item is told whole, a
# process takes one message, and a thread cannot be forked (0.0.1790142911).
_FEATURES: frozenset[Feature] = frozenset(get_args(Feature)) - {
    "sharedProcess",
    "planMode",
    "permissions",
    "questions",
    "subagents",
    "steer",
    "fork",
    "streamingDeltas",
    "status",
    "itemStarted",
}
_NOT_SHOWN: frozenset[Feature] = frozenset({"subagents", "steer"})

ADAPTER = Adapter(
    id="amp",
    name="Amp",
    event_prefix="amp",
    groups_messages=True,
    capabilities=Capabilities(
        # It never says that a session starts or ends; those events are ours.
        native=_FEATURES.union(_NOT_SHOWN) - {"sessionLifecycle"},
        shown=_FEATURES,
    ),
    command=("amp",),
    package=PACKAGE,
    folders=("~/.local/bin", "~/.amp/bin"),
    ignored=IGNORED,
    modes=(ModeInfo(id="build", name="Build", description="Works, and never asks."),),
    variants=MODES,
    takes_model=False,
    permission_modes=("default", "bypass"),
    takes_mcp=True,
    credentials=("AMP_API_KEY",),
    probe_recipes=PROBE_RECIPES,
    launch=launch,
    converter=AmpConverter,
    terms={
        "session_id": "none",
        "native_session_id": "session_id, the id of the thread",
        "item_id": "none",
        "native_item_id": "id of tool_use; messages have none",
        "session.started": "none",
        "session.ended": "none",
        "turn.started": "none",
        "turn.ended": "result",
        "message (user)": "user with text; none for the first message of a thread",
        "message (assistant)": "assistant",
        "message.delta": "none, one synthetic delta with the whole text of user or assistant",
        "tool call": "assistant with tool_use",
        "tool result": "user with tool_result",
        "permission.requested": "none",
        "permission.resolved": "none",
        "question.requested": "none",
        "question.resolved": "none",
        "error": "result with is_error; a login prompt in plain text",
    },
)
"""Everything that is known about Amp."""
