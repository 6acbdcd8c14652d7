"""Model, thinking level and permissions: what a running session may change, and the models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from dragoman.adapter import Spec
from dragoman.agents.pi import native
from dragoman.agents.pi.launch import QUIET, level_of
from dragoman.facts import Catalogue, Launch
from dragoman.schema.commands import Configure
from dragoman.schema.events import SessionUpdated
from dragoman.schema.http import ModelInfo, ModelList
from dragoman.steps import Report, Step, Update
from dragoman.wire.decode import decode

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""The words that Pi has (1.5.0). Which of them a model has is Pi's to say: it takes the nearest."""


class SessionSettings:
    """How the session works now, as Pi tells it."""

    def __init__(self, spec: Spec) -> None:
        self._model = spec.model
        self._variant = spec.variant
        self._asks = spec.permission_mode != "bypass"
        self._version = spec.agent_version

    def open(self, spec: Spec) -> None:
        """A process is started with these settings."""
        self._model, self._variant = spec.model, spec.variant
        self._asks = spec.permission_mode != "bypass"
        self._version = spec.agent_version

    def commands_for(self, change: Configure) -> Iterator[dict[str, Any]]:
        """Apply a change: the commands that it takes."""
        if change.model is not None:
            provider, _, model_id = change.model.partition("/")
            yield {"type": "set_model", "provider": provider, "modelId": model_id}
        if change.variant is not None:
            level = level_of(change.variant, self._version)
            yield {"type": "set_thinking_level", "level": level}
        asks = change.permission_mode != "bypass"
        if change.permission_mode is not None and asks and not self._asks:
            # The process was started to ask nothing. The other way round our policy says yes.
            self._asks = True
            yield {"type": "prompt", "message": "/dragoman-permissions ask"}

    def on_state(self, state: native.State) -> Iterator[Step]:
        """Pi tells its model and level, which need not be those that were asked for."""
        model, level = state.model, state.thinking_level
        known = model is not None and model.provider not in ("", "unknown")
        name = f"{model.provider}/{model.id}" if model is not None and known else self._model
        update = SessionUpdated(
            model=UNSET if name in (None, self._model) else name,
            variant=UNSET if level in (None, self._variant) else level,
        )
        self._model, self._variant = name, level or self._variant
        if update != SessionUpdated():
            yield Update(body=update)

    def on_level(self, level: str) -> Iterator[Step]:
        """Pi says that the level changed."""
        if level != self._variant:
            self._variant = level
            yield Update(body=SessionUpdated(variant=level))

    def on_refusal(self, command: str, error: str | None) -> Iterator[Step]:
        """Pi refuses a change: it is an error, and what was before holds."""
        yield Report(message=error or f"Pi refused {command}", code=f"{command}_refused")

    def assume(self, change: Configure) -> Iterator[Step]:
        """What was asked for holds until Pi says otherwise."""
        self._model = change.model or self._model
        self._variant = change.variant or self._variant
        fields = {name: value for name, value in msgspec.structs.asdict(change).items() if value}
        yield Update(body=SessionUpdated(**fields))


# --- Models ---

_MODELS, _STATE = "models", "state"


class _Models(Struct):
    models: tuple[native.Model, ...] = ()


_models = msgspec.json.Decoder(_Models)


def launch_for_models(command: tuple[str, ...], cwd: str) -> Launch:
    """A process that only lists its models: no session, no extensions."""
    argv = (*command, "--mode", "rpc", "--no-session", "--no-extensions", "--no-skills")
    return Launch(argv=argv, env={**QUIET, "PI_OFFLINE": "1"}, cwd=cwd)


def read_models(message: bytes) -> tuple[ModelList, ...]:
    """The models; nothing: another message."""
    line = native.decode(message)
    if not isinstance(line, native.Response) or line.id != _MODELS:
        return ()
    if not line.success:
        return (ModelList(models=()),)
    models = tuple(map(_info, decode(bytes(line.data), _models).models))
    return (ModelList(models=models, default_model=models[0].id if models else None),)


def _info(model: native.Model) -> ModelInfo:
    return ModelInfo(
        id=f"{model.provider}/{model.id}",
        name=model.name or model.id,
        variants=LEVELS if model.reasoning else None,
    )


CATALOGUE = Catalogue(
    launch=launch_for_models,
    ask=msgspec.json.encode({"id": _MODELS, "type": "get_available_models"}),
    read=read_models,
)
"""How Pi's models are listed."""
