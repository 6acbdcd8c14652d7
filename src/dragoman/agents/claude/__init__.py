"""Claude Code: one process per session, many turns, stream-json both ways."""

from __future__ import annotations

from typing import get_args

from dragoman.adapter import Adapter, Capabilities, Feature, Noise, Package
from dragoman.agents.claude.convert import ClaudeConverter
from dragoman.agents.claude.launch import launch
from dragoman.schema.http import ModeInfo, ModelInfo

_FEATURES: frozenset[Feature] = frozenset(get_args(Feature)) - {"sharedProcess"}
_EFFORT = ("low", "medium", "high", "xhigh", "max")


def _model(id: str, name: str) -> ModelInfo:
    return ModelInfo(id=id, name=name, variants=_EFFORT)


NOISE = (
    Noise(
        where={"type": "stream_event", "event.type": "content_block_stop"},
        why="The block's own `assistant` line came before it and completed the item.",
    ),
    Noise(
        where={"type": "stream_event", "event.type": "message_delta"},
        why="Its stop reason stands on the message, its counts in the turn's usage and context.",
    ),
    Noise(
        where={"type": "stream_event", "event.delta.type": "signature_delta"},
        why="The vendor's seal on a thought; nobody can read it.",
    ),
    Noise(
        where={"type": "stream_event", "event.delta.type": "citations_delta"},
        why="The block's own `assistant` line repeats it.",
    ),
    Noise(
        where={"type": "stream_event", "event.delta.partial_json": ""},
        why="An empty piece.",
    ),
    Noise(where={"type": "stream_event", "event.delta.text": ""}, why="An empty piece."),
    Noise(where={"type": "stream_event", "event.delta.thinking": ""}, why="An empty piece."),
    Noise(
        where={"type": "stream_event", "event.content_block.type": "text"},
        why="A text is a part of its message, which has started.",
    ),
    Noise(
        where={"type": "assistant", "message.content.0.type": "text"},
        why="Repeats a text whose pieces were shown; the message's completion has the whole.",
    ),
    Noise(
        where={"type": "user", "isReplay": True},
        why="Repeats a person's message that had to be shown before.",
    ),
    Noise(
        where={"type": "command_lifecycle"},
        why="What becomes of a message shows in its item and its turn.",
    ),
    Noise(
        where={"type": "control_response"},
        why="Repeats our own answer, or says yes to a request of ours whose effect is shown.",
    ),
    Noise(
        where={"type": "control_cancel_request"},
        why="Repeats a withdrawal that our own interrupt has made.",
    ),
    Noise(
        where={"type": "system", "subtype": "status", "status": "requesting"},
        why="The model is asked: the running turn says as much.",
    ),
    Noise(
        where={"type": "system", "subtype": "thinking_tokens"},
        why="An estimate of what streams; the turn's usage counts it.",
    ),
    Noise(
        where={"type": "system", "subtype": "background_tasks_changed"},
        why="Lists what task_started and task_notification tell one by one.",
    ),
    Noise(
        where={"type": "system", "subtype": "session_state_changed"},
        why="Idle, running or waiting: turns and requests say it.",
    ),
    Noise(where={"type": "keep_alive"}, why="Nothing."),
    Noise(where={"type": "tool_progress"}, why="A tool still runs: its item is open."),
)

ADAPTER = Adapter(
    id="claude",
    name="Claude Code",
    event_prefix="claude-code",
    capabilities=Capabilities(native=_FEATURES, shown=_FEATURES, stability="stable"),
    command=("claude",),
    package=Package(
        version="2.1.325",
        names={"linux-x64": "@anthropic-ai/claude-code-linux-x64"},
        integrity={
            "linux-x64": "sha512-BqZzMvP/zgLLL34S+7OzbG+cyoFp7gwWHU5koVwsyMlTAz+0zZAmbY+Ukzvt"
            "N2RXxp6AcMenbYIjQJxoXfUY3w=="
        },
        executable="claude",
    ),
    folders=("~/.local/bin", "~/.claude/local"),
    noise=NOISE,
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
    credentials=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    launch=launch,
    converter=ClaudeConverter,
    terms={
        "session_id": "none",
        "native_session_id": "session_id",
        "item_id": "none",
        "native_item_id": "message.id, tool_use id, uuid of a user line, task_id",
        "session.started": "system/init (once a turn)",
        "session.ended": "none",
        "turn.started": "command_lifecycle started, system/init",
        "turn.ended": "result",
        "message (user)": "user with isReplay and our uuid",
        "message (assistant)": "stream_event message_start … message_stop; assistant",
        "message.delta": "stream_event content_block_delta",
        "tool call": "tool_use block",
        "tool result": "user with a tool_result block",
        "permission.requested": "control_request can_use_tool",
        "permission.resolved": "control_response",
        "question.requested": "can_use_tool of AskUserQuestion or ExitPlanMode",
        "question.resolved": "control_response",
        "error": "assistant with is_api_error_message; result with is_error",
    },
)
"""Everything the house knows about Claude Code."""
