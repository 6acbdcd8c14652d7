"""Modes, models and variants: what people want, what the agent has, and the switches between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from dragoman.adapter import Spec
from dragoman.dialects.acp import native
from dragoman.dialects.acp.launch import SWITCH_DEADLINE_S
from dragoman.dialects.acp.profile import Profile
from dragoman.schema.commands import Configure
from dragoman.schema.events import SessionUpdated
from dragoman.schema.http import ModeInfo, ModelInfo
from dragoman.steps import Request

CATEGORIES = {"mode": "mode", "model": "model", "thought_level": "variant"}
"""The options that we have words for, by their categories."""


class Switch(Struct, frozen=True):
    """A setting that is on its way to the agent."""

    field: str
    value: str


class SessionSettings:
    """Three settings, each by whichever way the agent has for it.

    `configOptions` is the protocol's; `modes` with `session/set_mode` and `models` with
    `session/set_model` are older, and some agents have only those.
    """

    def __init__(self, spec: Spec, profile: Profile) -> None:
        self._profile = profile
        self.permission = spec.permission_mode
        self._target: dict[str, str] = {}
        self._due: set[str] = set()
        """What is still to be brought to its target. Each once: one setting may change another, and
        an agent may take something else than it is told."""
        self._options: dict[str, native.SelectOption] = {}
        self._modes: native.SessionModes | None = None
        self._models: native.SessionModels | None = None
        self._has_chosen_variant = False
        self.restart(spec)

    def restart(self, spec: Spec) -> None:
        """A process has started; this is what people want by now."""
        self.permission = spec.permission_mode
        wanted = {"model": spec.model, "variant": spec.variant, "mode": spec.agent_mode}
        self._target.update({field: value for field, value in wanted.items() if value})

    # --- What the agent has ---

    def on_open(self, result: native.SessionResult) -> SessionUpdated:
        """A session is open, with these; what it is about to be switched to is told then."""
        self._modes, self._models = result.modes or self._profile.modes, result.models
        self._has_chosen_variant = False
        self._due = {*self._target, *(("mode",) if self._is_planning else ())}
        update = self.on_options(native.options_of(result.config_options))
        return replace(update, **dict.fromkeys(self._due, UNSET))

    def on_options(self, options: tuple[native.SelectOption, ...]) -> SessionUpdated:
        """The options are these now."""
        known = {CATEGORIES[each.category]: each for each in options if each.category in CATEGORIES}
        self._options = known
        return self.current()

    def on_mode(self, mode: str) -> SessionUpdated:
        """The mode is this one now: the agent, or a person by a command of its, has chosen it."""
        self._take("mode", mode)
        if not self._is_planning:
            self._target["mode"] = mode
        elif mode != self._profile.plan_mode:
            self.permission, self._target["mode"] = "default", mode
            return SessionUpdated(mode=mode, permission_mode="default")
        return SessionUpdated(mode=mode)

    @property
    def _is_planning(self) -> bool:
        """Whether the permission mode is one that the agent keeps by a mode of its own."""
        return self.permission == "plan" and self._profile.plan_mode is not None

    def _take(self, field: str, value: str) -> None:
        """The agent uses this now."""
        if field in self._options:
            self._options[field] = replace(self._options[field], current_value=value)
        elif field == "mode" and self._modes is not None:
            self._modes = replace(self._modes, current_mode_id=value)
        elif field == "model" and self._models is not None:
            self._models = replace(self._models, current_model_id=value)

    def current(self) -> SessionUpdated:
        """What the agent says that it uses."""
        return SessionUpdated(
            model=self._current("model"),
            variant=self._current("variant"),
            mode=self._current("mode"),
        )

    def _current(self, field: str) -> str | UnsetType:
        is_known = self._profile.tells_variant or self._has_chosen_variant
        if field == "variant" and not is_known:
            return UNSET
        if (option := self._options.get(field)) is not None:
            return option.current_value
        if field == "mode" and self._modes is not None:
            return self._modes.current_mode_id or UNSET
        if field == "model" and self._models is not None:
            return self._models.current_model_id or UNSET
        return UNSET

    # --- What people want ---

    def configure(self, command: Configure) -> None:
        """Want something else."""
        if command.permission_mode is not None:
            self.permission = command.permission_mode
            self._due.add("mode")
        for field in ("model", "variant", "mode"):
            if value := getattr(command, field):
                self._target[field] = value
                self._due.add(field)

    def next_switch(self, session_id: str) -> tuple[Switch, Request] | None:
        """The next setting that differs from what is wanted; None: all are as they should be.

        The model comes first: which variants there are depends on it.
        """
        for field in ("model", "variant", "mode"):
            if field not in self._due:
                continue
            self._due.remove(field)
            value = self._target_of(field)
            if value is None or value == self._current(field):
                continue
            request = self._request(field, value, session_id)
            if request is not None:  # else the agent has no such setting
                return Switch(field, value), request
        return None

    def _target_of(self, field: str) -> str | None:
        is_plan = field == "mode" and self._is_planning
        return self._profile.plan_mode if is_plan else self._target.get(field)

    def _request(self, field: str, value: str, session_id: str) -> Request | None:
        params: dict[str, Any] = {"sessionId": session_id}
        if (option := self._options.get(field)) is not None:
            method = "session/set_config_option"
            params |= {"configId": option.id, "value": value}
        elif field == "mode" and self._modes is not None:
            method, params["modeId"] = "session/set_mode", value
        elif field == "model" and self._models is not None:
            method, params["modelId"] = "session/set_model", value
        else:
            return None
        return Request(method=method, params=params, tag="switch", deadline_s=SWITCH_DEADLINE_S)

    def on_switched(self, switch: Switch, options: list[msgspec.Raw] | None) -> SessionUpdated:
        """The agent has taken a setting; it may tell all its options with it."""
        self._has_chosen_variant |= switch.field == "variant"
        if options is not None:
            return self.on_options(native.options_of(options))
        self._take(switch.field, switch.value)
        return self.current()

    def on_refused(self, switch: Switch) -> None:
        """The agent has not: it stays as it is."""
        if switch.field == "mode" and self._is_planning:
            self.permission = "default"
        self._target.pop(switch.field, None)


# --- Lists ---


def models_in(result: native.SessionResult) -> Iterator[ModelInfo]:
    """The models that a session can have; the variants are those of the one it has."""
    options = {each.category: each for each in native.options_of(result.config_options)}
    levels = options.get("thought_level")
    variants = None if levels is None else tuple(each.value or "" for each in levels.values)
    if (models := options.get("model")) is not None:
        for each in models.values:
            yield ModelInfo(id=each.value or "", name=each.name or None, variants=variants)
    elif result.models is not None:
        for model in result.models.available_models:
            yield ModelInfo(id=model.model_id, name=model.name, variants=variants)


def default_model_in(result: native.SessionResult) -> str | None:
    """The model that a session has unless it is told otherwise."""
    options = {each.category: each for each in native.options_of(result.config_options)}
    if (models := options.get("model")) is not None:
        return models.current_value
    return None if result.models is None else result.models.current_model_id


def modes_in(result: native.SessionResult) -> Iterator[ModeInfo]:
    """The modes that a session can have."""
    options = {each.category: each for each in native.options_of(result.config_options)}
    if (modes := options.get("mode")) is not None:
        for value in modes.values:
            yield _mode(value.value or "", value.name, value.description)
    elif result.modes is not None:
        for each in result.modes.available_modes:
            yield _mode(each.id, each.name, each.description)


def _mode(id: str, name: str, description: str | None) -> ModeInfo:
    return ModeInfo(id=id, name=name or id, description=description or "")
