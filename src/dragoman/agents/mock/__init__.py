"""The record of facts about the built-in mock agent, for tests and for a first look."""

from __future__ import annotations

from typing import get_args

from dragoman.adapter import Adapter
from dragoman.agents.mock.convert import MockConverter
from dragoman.agents.mock.launch import COMMAND, launch
from dragoman.agents.mock.probes import IGNORED, PROBE_RECIPES
from dragoman.facts import Capabilities, Feature
from dragoman.schema.http import ModeInfo, ModelInfo

_FEATURES: frozenset[Feature] = frozenset(get_args(Feature)) - {"sharedProcess", "steer"}
_VARIANTS = ("low", "medium", "high")

ADAPTER = Adapter(
    id="mock",
    name="Mock",
    event_prefix="mock",
    groups_messages=True,
    capabilities=Capabilities(native=_FEATURES, shown=_FEATURES, stability="stable"),
    command=COMMAND,
    modes=(
        ModeInfo(
            id="build", name="Build", description="Answers prompts and pretends to use tools."
        ),
        ModeInfo(id="plan", name="Plan", description="The same, under the name of planning."),
    ),
    models=(
        ModelInfo(id="mock", name="Mock", variants=_VARIANTS, default_variant="medium"),
        ModelInfo(id="mock-large", name="Mock Large", variants=_VARIANTS, default_variant="medium"),
    ),
    default_model="mock",
    permission_modes=("default", "plan", "bypass", "acceptEdits"),
    unused=("mcp", "skills"),
    takes_updated_input=True,
    ignored=IGNORED,
    probe_recipes=PROBE_RECIPES,
    launch=launch,
    converter=MockConverter,
    terms={
        "session_id": "none",
        "native_session_id": "bind.native_session_id",
        "item_id": "none",
        "native_item_id": "start_item.native_id",
        "session.started": "none; bind names the session",
        "session.ended": "end_session",
        "turn.started": "begin_turn",
        "turn.ended": "end_turn",
        "message (user)": "prompt (not echoed)",
        "message (assistant)": "start_item, complete_item",
        "message.delta": "delta",
        "tool call": "start_item, delta, complete_item",
        "tool result": "start_item, delta, complete_item",
        "permission.requested": "ask_permission",
        "permission.resolved": "none, our permission_answer",
        "question.requested": "ask_question",
        "question.resolved": "none, our question_answer",
        "error": "report",
    },
)
"""Everything that is known about the mock agent."""
