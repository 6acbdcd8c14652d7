"""Model, effort and modes: what people change while Claude Code runs, and what it says about it.

Claude Code has one mode where we have two: to plan is one of its permission modes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from dragoman.adapter import Spec
from dragoman.agents.claude import native
from dragoman.agents.claude.launch import native_mode, our_mode
from dragoman.schema.commands import Configure, PermissionMode
from dragoman.schema.events import SessionUpdated
from dragoman.steps import Report, Step, Update

BYPASS = "bypassPermissions"
Request = dict[str, Any]


class Changes:
    """How the session works now, and what was asked for and is not confirmed."""

    def __init__(self, spec: Spec) -> None:
        self.model = spec.model
        self._variant = spec.variant
        self._planning = native_mode(spec.agent_mode, spec.permission_mode) == "plan"
        self._permission: PermissionMode = _lasting(spec.permission_mode) or "default"
        """How it works when it does not plan."""
        self._may_bypass = False
        """The process was started to ask nobody; no other lets itself be told so."""
        self._by_policy = False
        """It was not, and our own policy says yes to everything instead."""
        self._waiting: dict[str, SessionUpdated] = {}

    def wanted(self, change: Configure) -> Iterator[tuple[Request, SessionUpdated]]:
        """What to ask for, and what to take back where it is refused."""
        if change.model is not None:
            before = SessionUpdated(model=self.model or UNSET)
            yield {"subtype": "set_model", "model": change.model}, before
            self.model = change.model
        if change.variant is not None:
            before = SessionUpdated(variant=self._variant or UNSET)
            settings = {"effortLevel": change.variant}
            yield {"subtype": "apply_flag_settings", "settings": settings}, before
            self._variant = change.variant
        if change.mode is not None or change.permission_mode is not None:
            before = SessionUpdated(mode=self._mode, permission_mode=self._shown)
            yield {"subtype": "set_permission_mode", "mode": self._switch(change)}, before

    def _switch(self, change: Configure) -> str:
        """Change the mode; the mode that Claude Code has to be in."""
        self._permission = _lasting(change.permission_mode) or self._permission
        mode = native_mode(change.mode, change.permission_mode or self._permission)
        self._planning = mode == "plan"
        self._by_policy = mode == BYPASS and not self._may_bypass
        return "default" if self._by_policy or mode is None else mode

    @property
    def _mode(self) -> str:
        return "plan" if self._planning else "build"

    @property
    def _shown(self) -> str:
        return "plan" if self._planning else self._permission

    @property
    def _switching(self) -> bool:
        """Another mode was asked for: what is told until the answer was true before it."""
        return any(before.mode is not UNSET for before in self._waiting.values())

    def sent(self, request_id: str, before: SessionUpdated) -> None:
        """A change was asked for."""
        self._waiting[request_id] = before

    def answered(self, answer: native.Answer) -> Iterator[Step]:
        """Claude Code answers; what it refuses is an error, and is taken back."""
        before = self._waiting.pop(answer.request_id, None)
        if before is None or answer.subtype != "error":
            return
        yield Report(message=answer.error or "refused", code=answer.error_code or "refused")
        self.model = before.model or self.model
        self._variant = before.variant or self._variant
        if before != SessionUpdated():
            yield Update(body=before)

    def begun(self, model: str | None, mode: str | None) -> SessionUpdated:
        """A turn begins under this model, in this mode."""
        self.model = model or self.model
        self._may_bypass = self._may_bypass or mode == BYPASS
        told = self.told(mode)
        return SessionUpdated(
            model=model or UNSET, mode=told.mode, permission_mode=told.permission_mode
        )

    def told(self, mode: str | None) -> SessionUpdated:
        """Claude Code is in this mode now, also where it or its plan was the reason."""
        if mode is None or self._switching:
            return SessionUpdated()
        before = self._mode
        self._planning = mode == "plan"
        self._by_policy = self._by_policy and mode == "default"
        shown = "bypass" if self._by_policy else our_mode(mode)
        return SessionUpdated(
            mode=UNSET if self._mode == before else self._mode, permission_mode=shown
        )

    def clear(self) -> None:
        """The process is gone; the next one is started as things are now."""
        self._may_bypass = self._by_policy = False
        self._waiting.clear()


def _lasting(mode: PermissionMode | None) -> PermissionMode | None:
    return None if mode == "plan" else mode
