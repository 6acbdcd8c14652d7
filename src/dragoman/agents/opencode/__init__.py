"""The record of facts about OpenCode: one HTTP server for all sessions of an environment."""

from __future__ import annotations

from typing import get_args

from dragoman.adapter import Adapter
from dragoman.agents.opencode.convert import OpenCodeConverter
from dragoman.agents.opencode.launch import HANDSHAKE, SERVER, delete_request, launch
from dragoman.agents.opencode.native import route
from dragoman.agents.opencode.package import PACKAGE
from dragoman.agents.opencode.probes import IGNORED, PROBE_RECIPES
from dragoman.agents.opencode.settings import CATALOGUE
from dragoman.facts import Capabilities, Feature
from dragoman.schema.http import ModeInfo, ModelInfo

_FEATURES: frozenset[Feature] = frozenset(get_args(Feature))

ADAPTER = Adapter(
    id="opencode",
    name="OpenCode",
    event_prefix="opencode",
    groups_messages=True,
    capabilities=Capabilities(
        # `session.deleted` comes only where another client deletes the session.
        native=_FEATURES - {"itemStarted", "sessionLifecycle"},
        # A message that joins a turn is not answered if the turn is aborted; so it waits.
        shown=_FEATURES - {"steer"},
    ),
    command=("opencode",),
    package=PACKAGE,
    least_version="1.15.13",
    folders=("~/.opencode/bin", "~/.local/bin"),
    ignored=IGNORED,
    modes=(
        ModeInfo(id="build", name="Build", description="Works, and asks where it must."),
        ModeInfo(id="plan", name="Plan", description="Looks, asks and plans; changes nothing."),
    ),
    # What it takes where nobody has configured a provider (1.18.33).
    models=(ModelInfo(id="opencode/big-pickle", name="Big Pickle"),),
    default_model="opencode/big-pickle",
    catalogue=CATALOGUE,
    permission_modes=("default", "plan", "bypass", "acceptEdits"),
    takes_mcp=True,
    takes_skills=True,
    probe_recipes=PROBE_RECIPES,
    launch=launch,
    converter=OpenCodeConverter,
    handshake=HANDSHAKE,
    http=SERVER,
    route=route,
    delete_request=delete_request,
    terms={
        "session_id": "none",
        "native_session_id": "session id",
        "item_id": "none",
        "native_item_id": "message id; part id of a tool call or a thought",
        "session.started": "none; the reply to POST /session names the session",
        "session.ended": "session.deleted; a reply that the session is unknown ends it",
        "turn.started": "message.part.updated with the person's words",
        "turn.ended": "session.status idle, session.idle",
        "message (user)": "message.part.updated with the person's words, and our id beside them",
        "message (assistant)": "message.updated, message.part.updated, message.part.delta",
        "message.delta": "message.part.delta",
        "tool call": "message.part.updated of a tool: pending, running",
        "tool result": "message.part.updated of a tool: running, completed, error",
        "permission.requested": "permission.asked; message.part.updated of the call, if it came "
        "before that",
        "permission.resolved": "none, our reply; permission.replied if another client answered",
        "question.requested": "question.asked",
        "question.resolved": "none, our reply; question.replied if another client answered",
        "error": "session.error; the error of a message; session.status retry, many times; a reply "
        "that refuses a call",
    },
)
"""Everything that is known about OpenCode."""
