"""The facts about Claude Code: one process for each session, stream-json both ways."""

from __future__ import annotations

from typing import get_args

from dragoman.adapter import Adapter
from dragoman.agents.claude.convert import ClaudeConverter
from dragoman.agents.claude.launch import launch
from dragoman.agents.claude.package import PACKAGE
from dragoman.agents.claude.probes import IGNORED, PROBE_RECIPES
from dragoman.agents.claude.settings import CATALOGUE
from dragoman.facts import Capabilities, Feature
from dragoman.schema.http import ModeInfo, ModelInfo

_FEATURES: frozenset[Feature] = frozenset(get_args(Feature)) - {"sharedProcess"}
_EFFORT = ("low", "medium", "high", "xhigh", "max")


def _model(id: str, name: str) -> ModelInfo:
    return ModelInfo(id=id, name=name, variants=_EFFORT)


ADAPTER = Adapter(
    id="claude",
    name="Claude Code",
    event_prefix="claude-code",
    groups_messages=True,
    capabilities=Capabilities(
        # It never says that a session ends; that event is ours.
        native=_FEATURES - {"sessionLifecycle"},
        shown=_FEATURES,
        stability="stable",
    ),
    command=("claude",),
    package=PACKAGE,
    least_version="2.1.113",
    folders=("~/.local/bin", "~/.claude/local"),
    ignored=IGNORED,
    modes=(
        ModeInfo(id="build", name="Build", description="Works, and asks where it must."),
        ModeInfo(
            id="plan", name="Plan", description="Looks and plans; asks before it changes anything."
        ),
    ),
    models=(
        _model("default", "Default"),
        _model("opus", "Opus"),
        _model("fable", "Fable"),
        _model("sonnet", "Sonnet"),
        _model("haiku", "Haiku"),
    ),
    default_model="default",
    catalogue=CATALOGUE,
    permission_modes=("default", "plan", "bypass", "acceptEdits"),
    takes_mcp=True,
    takes_skills=True,
    takes_updated_input=True,
    credentials=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    probe_recipes=PROBE_RECIPES,
    launch=launch,
    converter=ClaudeConverter,
    terms={
        "session_id": "none",
        "native_session_id": "session_id",
        "item_id": "none",
        "native_item_id": "message.id, tool_use id, uuid of a user line, task_id",
        "session.started": "none; system/init names the session, once a turn",
        "session.ended": "none",
        "turn.started": "command_lifecycle started; system/init of a turn that it begins itself",
        "turn.ended": "result",
        "message (user)": "command_lifecycle started, with our uuid; user with isReplay",
        "message (assistant)": "stream_event content_block_start, content_block_delta and "
        "message_stop; assistant",
        "message.delta": "stream_event content_block_delta",
        "tool call": "tool_use block: stream_event content_block_start, then assistant",
        "tool result": "user with a tool_result block",
        "permission.requested": "control_request can_use_tool",
        "permission.resolved": "none, our control_response; control_cancel_request if withdrawn",
        "question.requested": "control_request can_use_tool of AskUserQuestion or ExitPlanMode",
        "question.resolved": "none, our control_response; control_cancel_request if withdrawn",
        "error": "assistant with is_api_error_message; result with is_error",
    },
)
"""Everything that is known about Claude Code."""
