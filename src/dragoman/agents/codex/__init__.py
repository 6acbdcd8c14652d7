"""The record of facts about Codex: one app server for all sessions of an environment."""

from __future__ import annotations

from typing import get_args

from dragoman.adapter import Adapter
from dragoman.agents.codex.convert import CodexConverter
from dragoman.agents.codex.launch import HANDSHAKE, delete_request, launch
from dragoman.agents.codex.native import route
from dragoman.agents.codex.package import PACKAGE
from dragoman.agents.codex.probes import IGNORED, PROBE_RECIPES
from dragoman.agents.codex.settings import CATALOGUE
from dragoman.facts import Capabilities, Feature
from dragoman.schema.http import ModeInfo, ModelInfo

_FEATURES: frozenset[Feature] = frozenset(get_args(Feature))
_EFFORT = ("low", "medium", "high", "xhigh")

ADAPTER = Adapter(
    id="codex",
    name="Codex",
    event_prefix="codex",
    capabilities=Capabilities(
        # Codex never says that a session ends; where one does, the daemon says so.
        native=_FEATURES - {"sessionLifecycle"},
        shown=_FEATURES,
        stability="stable",
    ),
    command=("codex",),
    package=PACKAGE,
    least_version="0.101.0",
    folders=("~/.local/bin",),
    ignored=IGNORED,
    modes=(
        ModeInfo(id="build", name="Build", description="Works, and asks where it must."),
        ModeInfo(id="plan", name="Plan", description="Looks, asks and plans; changes nothing."),
    ),
    models=(ModelInfo(id="gpt-5.5", name="GPT-5.5", variants=_EFFORT),),
    default_model="gpt-5.5",
    catalogue=CATALOGUE,
    permission_modes=("default", "plan", "bypass", "acceptEdits"),
    takes_mcp=True,
    takes_skills=True,
    credentials=("OPENAI_API_KEY", "CODEX_API_KEY"),
    probe_recipes=PROBE_RECIPES,
    launch=launch,
    converter=CodexConverter,
    handshake=HANDSHAKE,
    route=route,
    delete_request=delete_request,
    terms={
        "session_id": "none",
        "native_session_id": "thread id",
        "item_id": "none",
        "native_item_id": "item id",
        "session.started": "none; the reply to thread/start names the thread",
        "session.ended": "none; a reply that the thread is unknown ends it",
        "turn.started": "item/started of userMessage; turn/started where a turn has none",
        "turn.ended": "turn/completed",
        "message (user)": "item/started of userMessage, with our clientId",
        "message (assistant)": "item agentMessage, plan, reasoning",
        "message.delta": "item/agentMessage/delta, item/reasoning/*Delta, item/plan/delta",
        "tool call": "item commandExecution, fileChange, mcpToolCall, collabAgentToolCall …",
        "tool result": "item/completed of commandExecution, fileChange, mcpToolCall, "
        "collabAgentToolCall …",
        "permission.requested": "item/*/requestApproval, mcpServer/elicitation/request",
        "permission.resolved": "none, our response; serverRequest/resolved if withdrawn",
        "question.requested": "item/tool/requestUserInput, mcpServer/elicitation/request",
        "question.resolved": "none, our response; serverRequest/resolved if withdrawn",
        "error": "error without willRetry; turn/completed with status failed; a reply that refuses",
    },
)
"""Everything that is known about Codex."""
