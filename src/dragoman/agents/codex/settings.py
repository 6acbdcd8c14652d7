"""Model, effort, permission mode and plan mode of a thread, and the list of Codex's models."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman import __version__
from dragoman.adapter import Spec
from dragoman.agents.codex import native
from dragoman.facts import Catalogue, Launch
from dragoman.schema.commands import Configure, PermissionMode
from dragoman.schema.events import SessionUpdated
from dragoman.schema.http import ModelInfo, ModelList
from dragoman.wire.decode import decode

# --- Modes ---

_SANDBOX_TYPES = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}
"""Codex has two names for each sandbox: one for a thread, one for a turn."""


class Policy(Struct, frozen=True):
    """Our two modes in Codex's words."""

    approval: str
    sandbox: str
    collaboration: str


BUILD = Policy("untrusted", "workspace-write", "default")
PLAN = Policy("on-request", "read-only", "plan")
BYPASS = Policy("never", "danger-full-access", "default")


def policy_for(agent_mode: str, permission_mode: PermissionMode) -> Policy:
    """The policy of a session: planning changes nothing, and bypass asks for nothing.

    `acceptEdits` is `default`, with patches answered by the daemon.
    """
    if "plan" in (agent_mode, permission_mode):
        return PLAN
    return BYPASS if permission_mode == "bypass" else BUILD


# --- Switches in a running session ---


class SessionSettings:
    """The settings that people want, and those that Codex has."""

    def __init__(self, spec: Spec) -> None:
        self.model = spec.model
        self.variant = spec.variant
        self._agent_mode = spec.agent_mode
        self._permission_mode = spec.permission_mode
        self._native_policy: Policy | None = None
        self._native_model: str | None = None
        self._native_effort: str | None = None

    def configure(self, command: Configure) -> SessionUpdated:
        """Change what is wanted, from the next turn on."""
        self.model = command.model or self.model
        self.variant = command.variant or self.variant
        self._agent_mode = command.mode or self._agent_mode
        self._permission_mode = command.permission_mode or self._permission_mode
        return SessionUpdated(
            model=command.model or UNSET,
            variant=command.variant or UNSET,
            mode=command.mode or UNSET,
            permission_mode=command.permission_mode or UNSET,
        )

    def apply_to(self, spec: Spec) -> Spec:
        """The same session with the settings that are wanted by now."""
        return replace(spec, model=self.model, variant=self.variant, agent_mode=self._agent_mode,
                       permission_mode=self._permission_mode)  # fmt: skip

    @property
    def _policy(self) -> Policy:
        return policy_for(self._agent_mode, self._permission_mode)

    def thread_params(self) -> dict[str, Any]:
        """For a request that opens a thread: Codex forgets the sandbox on every resume."""
        policy = self._policy
        params = {"approvalPolicy": policy.approval, "sandbox": policy.sandbox}
        return params if self.model is None else {**params, "model": self.model}

    def on_thread_opened(self, model: str | None, effort: str | None) -> SessionUpdated:
        """The thread has the policy it was opened with, this model and this effort."""
        self._native_policy = replace(self._policy, collaboration="default")
        return self.on_model(model, effort)

    def on_model(self, model: str | None, effort: str | None) -> SessionUpdated:
        """Codex says which model and effort it works with."""
        self._native_model = model or self._native_model
        self._native_effort = effort
        return SessionUpdated(model=model or UNSET, variant=effort or UNSET)

    def turn_params(self) -> dict[str, Any]:
        """For a turn: only what Codex does not have, so that its user's own settings stay."""
        policy, params = self._policy, dict[str, Any]()
        before = self._native_policy
        if before is None or policy.approval != before.approval:
            params["approvalPolicy"] = policy.approval
        if before is None or policy.sandbox != before.sandbox:
            params["sandboxPolicy"] = {"type": _SANDBOX_TYPES[policy.sandbox]}
        if self.model is not None and self.model != self._native_model:
            params["model"] = self.model
        if self.variant is not None and self.variant != self._native_effort:
            params["effort"] = self.variant
        model = self.model or self._native_model
        if policy.collaboration != (before.collaboration if before else "default") and model:
            # It overrides the fields above, and brings its own developer instructions.
            params["collaborationMode"] = {
                "mode": policy.collaboration,
                "settings": {
                    "model": model,
                    "reasoning_effort": self.variant or self._native_effort,
                    "developer_instructions": None,
                },
            }
        self._native_policy = policy
        return params


# --- The list of models ---

_LIST_ID = "models"
_LIST_LIMIT = 1000
"""More than there are, so that they come on one page."""

_model_list_reply = msgspec.json.Decoder(native.ModelListReply)


def launch_for_models(command: tuple[str, ...], cwd: str) -> Launch:
    """Start Codex only to be asked: it loads no plugins, and sends no analytics."""
    argv = (
        *command,
        "app-server",
        "-c", "features.plugins=false",
        "-c", "analytics.enabled=false",
    )  # fmt: skip
    return Launch(argv=argv, cwd=cwd, wire="jsonrpc-bare")


def read_models(message: bytes) -> tuple[ModelList, ...]:
    """The models, if this line is the reply; none where Codex refused."""
    reply = decode(message, _model_list_reply)
    if reply.id != _LIST_ID:
        return ()
    models = tuple(model for model in reply.result.data if not model.hidden)
    default = next((model.id for model in models if model.is_default), None)
    return (ModelList(models=tuple(map(_model_info, models)), default_model=default),)


def _model_info(model: native.ModelEntry) -> ModelInfo:
    efforts = tuple(each.reasoning_effort for each in model.supported_reasoning_efforts)
    return ModelInfo(
        id=model.id,
        name=model.display_name,
        variants=efforts or None,
        default_variant=model.default_reasoning_effort,
    )


def _lines(*messages: dict[str, Any]) -> bytes:
    return b"\n".join(map(msgspec.json.encode, messages))


CATALOGUE = Catalogue(
    launch=launch_for_models,
    ask=_lines(
        {
            "id": "hello",
            "method": "initialize",
            "params": {"clientInfo": {"name": "dragoman", "version": __version__}},
        },
        {"method": "initialized"},
        {"id": _LIST_ID, "method": "model/list", "params": {"limit": _LIST_LIMIT}},
    ),
    read=read_models,
)
"""How Codex is asked for its models."""
