"""Agents that speak ACP: an adapter for each, from facts instead of code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from dragoman.adapter import Adapter, Spec
from dragoman.dialects.acp.convert import converter_of
from dragoman.dialects.acp.ignored import IGNORED
from dragoman.dialects.acp.listing import catalogue
from dragoman.dialects.acp.profile import Extension, NoExtension, Profile
from dragoman.facts import Capabilities, Feature, IgnoredMessage, Launch, Package, ProbeRecipes
from dragoman.schema.http import ModeInfo

FEATURES: frozenset[Feature] = frozenset(get_args(Feature)) - {
    "sharedProcess", "subagents", "steer", "fork", "planMode",
}  # fmt: skip
"""What the protocol has words for, and an agent of which nothing is known may have."""

TERMS = {
    "session_id": "none",
    "native_session_id": "sessionId",
    "item_id": "none",
    "native_item_id": "toolCallId; messageId where an agent has it",
    "session.started": "none; the reply to session/new names the session",
    "session.ended": "none; a reply that says that the session is gone",
    "turn.started": "none; our session/prompt",
    "turn.ended": "the reply to session/prompt",
    "message (user)": "none, our session/prompt",
    "message (assistant)": "session/update agent_message_chunk, agent_thought_chunk; the last one "
    "ends with the reply to session/prompt",
    "message.delta": "session/update agent_message_chunk, agent_thought_chunk",
    "tool call": "session/update tool_call, tool_call_update; session/request_permission",
    "tool result": "session/update tool_call_update",
    "permission.requested": "session/request_permission",
    "permission.resolved": "none, our response",
    "question.requested": "elicitation/create; session/request_permission with questions in it",
    "question.resolved": "none, our response; elicitation/complete",
    "error": "an error in reply to session/new or session/prompt; a stopReason of failure",
}


def configured(
    id: str,
    *,
    name: str,
    command: tuple[str, ...],
    env: Mapping[str, str] = {},
    package: Package | None = None,
    credentials: tuple[str, ...] = (),
    verified: str | None = None,
    fs: bool = False,
    terminal: bool = False,
    auth_method: str | None = None,
    modes: tuple[ModeInfo, ...] = (),
    features: frozenset[Feature] = FEATURES,
    extension: Callable[[Spec], Extension] = lambda spec: NoExtension(),
    ignored: tuple[IgnoredMessage, ...] = (),
    probe_recipes: ProbeRecipes | None = None,
) -> Adapter:
    """The adapter of an agent, from how it is started and what it is known to have."""
    profile = Profile(
        name=name,
        auth_method=auth_method,
        reads_files=fs,
        uses_terminals=terminal,
        extension=extension,
    )

    def launch(spec: Spec, words: tuple[str, ...]) -> Launch:
        return Launch(argv=words, env={**env, **spec.env}, cwd=spec.directory, wire="jsonrpc")

    return Adapter(
        id=id,
        name=name,
        event_prefix=id,
        # A session starts and ends with us; the protocol has no word for either.
        capabilities=Capabilities(native=features - {"sessionLifecycle"}, shown=features),
        dialect="acp",
        verified=verified,
        command=command,
        package=package,
        credentials=credentials,
        modes=modes,
        catalogue=catalogue(profile),
        permission_modes=("default", "acceptEdits", "bypass"),
        takes_mcp=True,
        ignored=(*IGNORED, *ignored),
        probe_recipes=probe_recipes,
        launch=launch,
        converter=converter_of(profile),
        terms=TERMS,
    )
