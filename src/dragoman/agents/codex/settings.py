"""How a thread works: model, effort, whether it plans, what it may do without asking."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.adapter import Spec
from dragoman.agents.codex import native
from dragoman.schema.commands import Configure, PermissionMode
from dragoman.schema.events import SessionUpdated

_SANDBOX = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}
"""Codex has two words for each sandbox: one for a thread, one for a turn."""


class Stance(Struct, frozen=True):
    """What our two modes are in Codex's words."""

    approval: str
    sandbox: str
    mode: str


WORKS = Stance("untrusted", "workspace-write", "default")
PLANS = Stance("on-request", "read-only", "plan")
FREE = Stance("never", "danger-full-access", "default")


def stance(agent_mode: str, permission_mode: PermissionMode) -> Stance:
    """Codex's stance: who plans changes nothing, who bypasses is asked for nothing.

    `acceptEdits` is `default`, with patches answered by the daemon.
    """
    if "plan" in (agent_mode, permission_mode):
        return PLANS
    return FREE if permission_mode == "bypass" else WORKS


class Manners:
    """What was asked for, and what Codex knows of it."""

    def __init__(self, spec: Spec) -> None:
        self.model = spec.model
        self.variant = spec.variant
        self._agent_mode = spec.agent_mode
        self._permission_mode = spec.permission_mode
        self._told: Stance | None = None
        self._native_model: str | None = None
        self._native_effort: str | None = None

    def configure(self, wanted: Configure) -> SessionUpdated:
        """Work like this from the next turn on."""
        self.model = wanted.model or self.model
        self.variant = wanted.variant or self.variant
        self._agent_mode = wanted.mode or self._agent_mode
        self._permission_mode = wanted.permission_mode or self._permission_mode
        return SessionUpdated(
            model=wanted.model or UNSET,
            variant=wanted.variant or UNSET,
            mode=wanted.mode or UNSET,
            permission_mode=wanted.permission_mode or UNSET,
        )

    def applied(self, spec: Spec) -> Spec:
        """The same session, as it is wanted by now."""
        return replace(spec, model=self.model, variant=self.variant, agent_mode=self._agent_mode,
                       permission_mode=self._permission_mode)  # fmt: skip

    @property
    def _wanted(self) -> Stance:
        return stance(self._agent_mode, self._permission_mode)

    def thread(self) -> dict[str, Any]:
        """For a thread that is opened. Codex forgets its sandbox on every resume."""
        wanted = self._wanted
        params = {"approvalPolicy": wanted.approval, "sandbox": wanted.sandbox}
        return params if self.model is None else {**params, "model": self.model}

    def opened(self, model: str | None, effort: str | None) -> SessionUpdated:
        """The thread is there, and works like this."""
        wanted = self._wanted
        self._told = Stance(wanted.approval, wanted.sandbox, "default")
        return self.heard(model, effort)

    def heard(self, model: str | None, effort: str | None) -> SessionUpdated:
        """Codex says what it works with."""
        self._native_model = model or self._native_model
        self._native_effort = effort
        return SessionUpdated(model=model or UNSET, variant=effort or UNSET)

    def settled(self, settings: native.ThreadSettings) -> SessionUpdated:
        """Codex says how it works from now on."""
        return self.heard(settings.model, settings.effort)

    def turn(self) -> dict[str, Any]:
        """For a turn: only what Codex does not know, so that its user's own settings stay."""
        wanted, params = self._wanted, dict[str, Any]()
        told = self._told
        if told is None or wanted.approval != told.approval:
            params["approvalPolicy"] = wanted.approval
        if told is None or wanted.sandbox != told.sandbox:
            params["sandboxPolicy"] = {"type": _SANDBOX[wanted.sandbox]}
        if self.model is not None and self.model != self._native_model:
            params["model"] = self.model
        if self.variant is not None and self.variant != self._native_effort:
            params["effort"] = self.variant
        model = self.model or self._native_model
        if wanted.mode != (told.mode if told else "default") and model is not None:
            # It goes before the fields above, and brings its own developer's instructions.
            params["collaborationMode"] = {
                "mode": wanted.mode,
                "settings": {
                    "model": model,
                    "reasoning_effort": self.variant or self._native_effort,
                    "developer_instructions": None,
                },
            }
        self._told = wanted
        return params
