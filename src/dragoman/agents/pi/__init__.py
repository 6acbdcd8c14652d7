"""The facts about Pi: one process for each session, JSON lines both ways."""

from __future__ import annotations

from typing import get_args

from dragoman.adapter import Adapter
from dragoman.agents.pi.convert import PiConverter
from dragoman.agents.pi.launch import FIRST_WITH_CLEAR_QUEUE, FIRST_WITH_MCP, launch
from dragoman.agents.pi.package import PACKAGE
from dragoman.agents.pi.probes import IGNORED, PROBE_RECIPES
from dragoman.agents.pi.settings import CATALOGUE, LEVELS
from dragoman.facts import Capabilities, Feature
from dragoman.schema.http import ModeInfo

# Extensions may add plans and subagents of their own, which Pi itself does not have (1.5.0).
_FEATURES: frozenset[Feature] = frozenset(get_args(Feature)) - {
    "sharedProcess",
    "planMode",
    "subagents",
}

ADAPTER = Adapter(
    id="pi",
    name="Pi",
    event_prefix="pi",
    groups_messages=True,
    capabilities=Capabilities(
        # It never says that a session starts or ends, and asks for no permission: our extension
        # does.
        native=_FEATURES - {"sessionLifecycle", "permissions"},
        shown=_FEATURES,
        # Before, a message that waits to join cannot be taken back, and an interrupt loses it.
        since={"mcpTools": FIRST_WITH_MCP, "steer": FIRST_WITH_CLEAR_QUEUE},
    ),
    command=("pi",),
    package=PACKAGE,
    least_version="0.73.1",
    folders=("~/.local/bin",),
    ignored=IGNORED,
    modes=(ModeInfo(id="build", name="Build", description="Works, and asks where it must."),),
    variants=LEVELS,
    catalogue=CATALOGUE,
    permission_modes=("default", "acceptEdits", "bypass"),
    takes_mcp=True,
    takes_skills=True,
    probe_recipes=PROBE_RECIPES,
    launch=launch,
    converter=PiConverter,
    terms={
        "session_id": "none",
        "native_session_id": "get_state sessionId",
        "item_id": "none",
        "native_item_id": "toolCallId; messages have none",
        "session.started": "none",
        "session.ended": "none",
        "turn.started": "agent_start",
        "turn.ended": "agent_settled; before 0.80.4 the response to get_state after "
        "agent_end; response where an extension took the message",
        "message (user)": "message_start with the role user",
        "message (assistant)": "message_start, message_update and message_end with the role "
        "assistant",
        "message.delta": "message_update text_delta, thinking_delta, toolcall_delta",
        "tool call": "message_update toolcall_start and toolcall_end",
        "tool result": "tool_execution_update and tool_execution_end",
        "permission.requested": "extension_ui_request confirm, or input of our own extension",
        "permission.resolved": "none, our extension_ui_response",
        "question.requested": "extension_ui_request select, input or editor",
        "question.resolved": "none, our extension_ui_response",
        "error": "agent_settled after a message_end with stopReason error or length; response "
        "without success",
    },
)
"""Everything that is known about Pi."""
