"""The facts about Grok Build: ACP with extensions of its own, one process for each session."""

from __future__ import annotations

from typing import get_args

from dragoman.adapter import Adapter
from dragoman.agents.grok.convert import GrokExtension
from dragoman.agents.grok.launch import launch, session_meta
from dragoman.agents.grok.package import PACKAGE
from dragoman.agents.grok.probes import IGNORED, PROBE_RECIPES
from dragoman.agents.grok.settings import EFFORTS, MODES, NATIVE_MODES, catalogue
from dragoman.dialects.acp.convert import converter_of
from dragoman.dialects.acp.profile import Profile
from dragoman.facts import Capabilities, Feature
from dragoman.schema.http import ModelInfo

# A message never joins a running turn, and its sessions are not forked over ACP (1.0.41).
_FEATURES: frozenset[Feature] = frozenset(get_args(Feature)) - {"sharedProcess", "steer", "fork"}

PROFILE = Profile(
    name="Grok Build",
    modes=NATIVE_MODES,
    plan_mode="plan",
    takes_images=True,
    tells_variant=False,
    subagent_sessions=True,
    message_meta=lambda message_id: {"promptId": message_id},
    reads_history=True,
    session_meta=session_meta,
    extension=GrokExtension,
)

ADAPTER = Adapter(
    id="grok",
    name="Grok Build",
    event_prefix="grok-build",
    # A session starts and ends with us; the protocol has no word for either.
    capabilities=Capabilities(native=_FEATURES - {"sessionLifecycle"}, shown=_FEATURES),
    command=("grok",),
    package=PACKAGE,
    folders=("~/.grok/bin", "~/.local/bin"),
    ignored=IGNORED,
    modes=MODES,
    models=(ModelInfo(id="grok-4.5", variants=EFFORTS),),
    default_model="grok-4.5",
    catalogue=catalogue(PROFILE),
    permission_modes=("default", "plan", "bypass", "acceptEdits"),
    takes_mcp=True,
    takes_skills=True,
    credentials=("XAI_API_KEY",),
    probe_recipes=PROBE_RECIPES,
    launch=launch,
    converter=converter_of(PROFILE),
    terms={
        "session_id": "none",
        "native_session_id": "sessionId",
        "item_id": "none",
        "native_item_id": "toolCallId; messages have none",
        "session.started": "none; the reply to session/new names the session",
        "session.ended": "none; a reply that a session is unknown ends it",
        "turn.started": "none, our session/prompt; session/update agent_message_chunk, "
        "agent_thought_chunk or tool_call of a turn of its own",
        "turn.ended": "the reply to session/prompt; _x.ai/session_notification turn_completed",
        "message (user)": "none, our session/prompt",
        "message (assistant)": "session/update agent_message_chunk, agent_thought_chunk; "
        "_x.ai/session_notification tool_call_delta_chunk or the reply to session/prompt "
        "completes it",
        "message.delta": "session/update agent_message_chunk, agent_thought_chunk",
        "tool call": "_x.ai/session_notification tool_call_delta_chunk; session/update tool_call, "
        "tool_call_update; session/request_permission",
        "tool result": "session/update tool_call_update",
        "permission.requested": "session/request_permission",
        "permission.resolved": "none, our response",
        "question.requested": "_x.ai/ask_user_question, _x.ai/exit_plan_mode",
        "question.resolved": "none, our response",
        "error": "an error in reply to session/new or session/prompt",
    },
)
"""Everything that is known about Grok Build."""
