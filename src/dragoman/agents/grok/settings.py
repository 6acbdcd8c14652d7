"""Modes, and the list of models that Grok tells before any session is opened."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from dragoman.agents.grok.launch import QUIET, START
from dragoman.dialects.acp.launch import initialize_params
from dragoman.dialects.acp.native import ModeName, SessionModels, SessionModes
from dragoman.dialects.acp.profile import Profile
from dragoman.facts import Catalogue, Launch
from dragoman.schema.http import ModeInfo, ModelInfo, ModeList, ModelList
from dragoman.wire.decode import decode

MODES = (
    ModeInfo(id="default", name="Build", description="Works, and asks where it must."),
    ModeInfo(id="plan", name="Plan", description="Looks, asks and plans; changes only its plan."),
)
NATIVE_MODES = SessionModes(
    available_modes=tuple(ModeName(id=each.id, name=each.name) for each in MODES)
)
"""It takes them by `session/set_mode`, and tells of none. In which one a session is that is opened
again is not told either, so it is always set."""
EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
_GREETING = "dragoman-1"


class _GreetingMeta(Struct, frozen=True, rename="camel"):
    model_state: SessionModels = SessionModels()


class _GreetingResult(Struct, frozen=True):
    meta: _GreetingMeta = msgspec.field(name="_meta", default=_GreetingMeta())


class _Greeting(Struct, frozen=True):
    id: Any = None
    result: _GreetingResult | None = None


_greeting = msgspec.json.Decoder(_Greeting)


def catalogue(profile: Profile) -> Catalogue:
    """Greet a process that does nothing else: no session is left behind."""
    greeting = {"jsonrpc": "2.0", "id": _GREETING, "method": "initialize",
                "params": initialize_params(profile)}  # fmt: skip
    return Catalogue(
        launch=lambda command, cwd: Launch(argv=(*command, *START, "stdio"), env=QUIET, cwd=cwd),
        ask=msgspec.json.encode(greeting),
        read=read_listing,
        patience=2,
    )


def read_listing(message: bytes) -> tuple[ModelList | ModeList, ...]:
    """The models, if this line is the reply to our greeting."""
    try:
        greeting = decode(message, _greeting)
    except msgspec.DecodeError:
        return ()
    if greeting.id != _GREETING or greeting.result is None:
        return ()
    state = greeting.result.meta.model_state
    models = tuple(
        ModelInfo(id=each.model_id, name=each.name, variants=_efforts(each.meta))
        for each in state.available_models
    )
    return (ModelList(models=models, default_model=state.current_model_id),)


def _efforts(meta: Any) -> tuple[str, ...]:
    has_efforts = isinstance(meta, dict) and meta.get("supportsReasoningEffort") is True
    return EFFORTS if has_efforts else ()
