"""Modes, permissions, models and variants of a session, and the list of OpenCode's models."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.adapter import Spec
from dragoman.agents.opencode import native
from dragoman.agents.opencode.launch import HARMLESS, SERVER
from dragoman.facts import Catalogue, Launch
from dragoman.schema.commands import Configure
from dragoman.schema.events import SessionUpdated
from dragoman.schema.http import ModeInfo, ModelInfo, ModeList, ModelList
from dragoman.wire import counts
from dragoman.wire.decode import decode
from dragoman.wire.http import HttpCaller, call_in


def _rule(permission: str, action: str, pattern: str = "*") -> dict[str, str]:
    return {"permission": permission, "pattern": pattern, "action": action}


ASK = (
    _rule("*", "ask"),
    *(_rule(name, "allow") for name in HARMLESS),
    # As OpenCode's own defaults are (1.18.33): whoever comes later in the list decides.
    _rule("read", "allow"),
    _rule("read", "ask", "*.env"),
    _rule("read", "ask", "*.env.*"),
    _rule("read", "allow", "*.env.example"),
)
"""Whatever changes something, or is not known here, is asked for."""
PLAN = (*ASK, _rule("edit", "deny"))
BYPASS = (_rule("*", "allow"),)


class SessionSettings:
    """The settings that people want, and the rules that the session has."""

    def __init__(self, spec: Spec) -> None:
        self.model = spec.model
        self.variant = spec.variant
        self.agent_mode = spec.agent_mode
        self._permission_mode = spec.permission_mode
        self._native_rules: tuple[dict[str, str], ...] | None = None

    def configure(self, command: Configure) -> SessionUpdated:
        """Change what is wanted, from the next turn on."""
        self.model = command.model or self.model
        self.variant = command.variant or self.variant
        self.agent_mode = command.mode or self.agent_mode
        self._permission_mode = command.permission_mode or self._permission_mode
        return SessionUpdated(
            model=command.model or UNSET,
            variant=command.variant or UNSET,
            mode=command.mode or UNSET,
            permission_mode=command.permission_mode or UNSET,
        )

    def apply_to(self, spec: Spec) -> Spec:
        """The same session with the settings that are wanted by now."""
        return replace(spec, model=self.model, variant=self.variant, agent_mode=self.agent_mode,
                       permission_mode=self._permission_mode)  # fmt: skip

    @property
    def plans(self) -> bool:
        """Nothing is to be changed."""
        return "plan" in (self.agent_mode, self._permission_mode)

    @property
    def _rules(self) -> tuple[dict[str, str], ...]:
        if self.plans:
            return PLAN
        return BYPASS if self._permission_mode == "bypass" else ASK

    def new_rules(self) -> list[dict[str, str]] | None:
        """The rules that the session must be given; None: it has them."""
        if self._rules == self._native_rules:
            return None
        self._native_rules = self._rules
        return list(self._rules)

    def forget(self) -> None:
        """What the session has is not known: somebody else may have opened it."""
        self._native_rules = None

    def turn_params(self) -> dict[str, Any]:
        """For a turn: what OpenCode would otherwise choose by itself."""
        params: dict[str, Any] = {"agent": "plan" if self.plans else self.agent_mode}
        provider, _, model = (self.model or "").partition("/")
        if model:
            params["model"] = {"providerID": provider, "modelID": model}
        if self.variant is not None:
            params["variant"] = self.variant
        return params


# --- Models and modes ---

_providers = msgspec.json.Decoder(native.Providers)


def read_windows(body: bytes) -> dict[str, int]:
    """How large the context window of each model is."""
    windows = {}
    for provider in decode(body, _providers).providers:
        for model in provider.models.values():
            window = counts.tokens(model.limit.context)
            if window:
                windows[f"{provider.id}/{model.id}"] = window
    return windows


class _ModelsAnswer(msgspec.Struct, frozen=True):
    body: native.Providers


class _AgentsAnswer(msgspec.Struct, frozen=True):
    body: list[native.AgentInfo]


_caller = HttpCaller[str]()
_ASK_MODELS = _caller.request("GET /config/providers", None, "models")
_ASK_AGENTS = _caller.request("GET /agent", None, "agents")
_MODELS_ANSWER, _AGENTS_ANSWER = (
    b'{"id":%s,' % msgspec.json.encode(call_in(line).id) for line in (_ASK_MODELS, _ASK_AGENTS)
)
_models_answer = msgspec.json.Decoder(_ModelsAnswer)
_agents_answer = msgspec.json.Decoder(_AgentsAnswer)


def launch_for_models(command: tuple[str, ...], cwd: str) -> Launch:
    """Start a server only to be asked."""
    argv = (*command, "serve", "--hostname", "127.0.0.1", "--port", "0")
    return Launch(argv=argv, cwd=cwd, wire="http")


def read_listing(message: bytes) -> tuple[ModelList | ModeList, ...]:
    """The models or the modes, if this line is an answer."""
    if message.startswith(_MODELS_ANSWER):
        return (_models(decode(message, _models_answer).body),)
    if message.startswith(_AGENTS_ANSWER):
        return (_modes(decode(message, _agents_answer).body),)
    return ()


def _modes(agents: list[native.AgentInfo]) -> ModeList:
    """The agents that a person can talk to; others are for subagents, or OpenCode's own work."""
    return ModeList(
        modes=tuple(
            ModeInfo(id=each.name, name=each.name.capitalize(), description=each.description or "")
            for each in agents
            if each.mode != "subagent" and not each.hidden
        )
    )


def _models(body: native.Providers) -> ModelList:
    models = [
        ModelInfo(
            id=f"{provider.id}/{model.id}",
            name=model.name or model.id,
            variants=tuple(model.variants) if model.variants else None,
        )
        for provider in body.providers
        for model in provider.models.values()
    ]
    defaults = [f"{provider}/{model}" for provider, model in body.default.items()]
    return ModelList(models=tuple(models), default_model=defaults[0] if defaults else None)


CATALOGUE = Catalogue(
    launch=launch_for_models,
    ask=b"\n".join((_ASK_MODELS, _ASK_AGENTS)),
    read=read_listing,
    tells_modes=True,
    patience=4,
    http=SERVER,
)
"""How OpenCode is asked for its models, and for its agents, which are modes here."""
