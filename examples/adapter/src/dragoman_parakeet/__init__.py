"""An adapter for Parakeet, an agent that repeats what it is told. See the README."""

from __future__ import annotations

from dragoman.adapter import Adapter
from dragoman.facts import Capabilities, Feature, IgnoredMessage
from dragoman.schema.http import ModeInfo
from dragoman_parakeet.convert import ParakeetConverter
from dragoman_parakeet.launch import COMMAND, launch
from dragoman_parakeet.probes import PROBE_RECIPES

_FEATURES: frozenset[Feature] = frozenset(
    (
        "textMessages",
        "streamingDeltas",
        "itemStarted",
        "interrupt",
        "errorEvents",
    )
)

ADAPTER = Adapter(
    id="parakeet",
    name="Parakeet",
    event_prefix="parakeet",
    capabilities=Capabilities(native=_FEATURES, shown=_FEATURES),
    command=COMMAND,
    modes=(ModeInfo(id="build", name="Build", description="Repeats what it is told."),),
    ignored=(IgnoredMessage(where={"type": "ready"}, why="its process is up; nothing happened"),),
    probe_recipes=PROBE_RECIPES,
    launch=launch,
    converter=ParakeetConverter,
    terms={
        "native_session_id": "none",
        "turn.started": "none; a prompt begins it",
        "turn.ended": "done",
        "message (user)": "prompt (not echoed)",
        "message (assistant)": "start, done",
        "message.delta": "word",
        "error": "done with an error",
    },
)
