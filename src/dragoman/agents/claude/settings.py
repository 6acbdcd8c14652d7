"""Model, effort and modes: what a running session may change, and which models there are.

Claude Code has one mode where we have two: its permission mode `plan` is our agent mode `plan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from dragoman.adapter import Spec
from dragoman.agents.claude import native
from dragoman.facts import Catalogue, Launch
from dragoman.schema.commands import Configure, PermissionMode
from dragoman.schema.events import SessionUpdated
from dragoman.schema.http import ModelInfo, ModelList
from dragoman.steps import Report, Step, Update
from dragoman.wire.decode import decode

# --- Modes ---

BYPASS = "bypassPermissions"
_NATIVE_MODES: dict[PermissionMode, str] = {
    "default": "default",
    "plan": "plan",
    "bypass": BYPASS,
    "acceptEdits": "acceptEdits",
}
_OUR_MODES = {native_mode: ours for ours, native_mode in _NATIVE_MODES.items()}


def native_mode(agent_mode: str | None, permission_mode: PermissionMode | None) -> str | None:
    """Claude Code's one mode for our two."""
    if agent_mode == "plan" or permission_mode == "plan":
        return "plan"
    if permission_mode is not None:
        return _NATIVE_MODES[permission_mode]
    return None if agent_mode is None else "default"


def our_mode(native: str) -> str:
    """Our name for a mode of Claude Code; one that we do not have keeps its own."""
    return _OUR_MODES.get(native, native)


def _without_plan(mode: PermissionMode | None) -> PermissionMode | None:
    return None if mode == "plan" else mode


# --- Changes in a running session ---


class SessionSettings:
    """How the session works now, and which changes Claude Code has not confirmed."""

    def __init__(self, spec: Spec) -> None:
        self._model = spec.model
        self._variant = spec.variant
        self._is_planning = native_mode(spec.agent_mode, spec.permission_mode) == "plan"
        self._permission: PermissionMode = _without_plan(spec.permission_mode) or "default"
        """The permission mode of the session while it does not plan."""
        self._may_bypass = False
        """The process was started with bypass; no other accepts a switch to it."""
        self._bypass_by_policy = False
        """It was not, and our own policy answers every request instead."""
        self._unconfirmed_changes: dict[str, SessionUpdated] = {}
        """By request id: what to go back to where the request is refused."""

    def requests_for(self, change: Configure) -> Iterator[tuple[dict[str, Any], SessionUpdated]]:
        """Apply a change: what to request for it, and what to go back to."""
        if change.model is not None:
            before = SessionUpdated(model=self._model or UNSET)
            yield {"subtype": "set_model", "model": change.model}, before
            self._model = change.model
        if change.variant is not None:
            before = SessionUpdated(variant=self._variant or UNSET)
            settings = {"effortLevel": change.variant}
            yield {"subtype": "apply_flag_settings", "settings": settings}, before
            self._variant = change.variant
        if change.mode is not None or change.permission_mode is not None:
            before = SessionUpdated(mode=self._mode, permission_mode=self._permission_mode)
            yield {"subtype": "set_permission_mode", "mode": self._switch(change)}, before

    def _switch(self, change: Configure) -> str:
        """Change the mode, and return the one that Claude Code has to be in."""
        self._permission = _without_plan(change.permission_mode) or self._permission
        mode = native_mode(change.mode, change.permission_mode or self._permission)
        self._is_planning = mode == "plan"
        self._bypass_by_policy = mode == BYPASS and not self._may_bypass
        return "default" if self._bypass_by_policy or mode is None else mode

    @property
    def _mode(self) -> str:
        return "plan" if self._is_planning else "build"

    @property
    def _permission_mode(self) -> str:
        return "plan" if self._is_planning else self._permission

    @property
    def _is_switching_mode(self) -> bool:
        """Another mode was requested: what is reported before the response is out of date."""
        return any(before.mode is not UNSET for before in self._unconfirmed_changes.values())

    def await_response(self, request_id: str, before: SessionUpdated) -> None:
        """A change was requested under this id."""
        self._unconfirmed_changes[request_id] = before

    def on_response(self, response: native.ControlResponseBody) -> Iterator[Step]:
        """Claude Code responds; a change that it refuses is an error, and is undone."""
        before = self._unconfirmed_changes.pop(response.request_id, None)
        if before is None or response.subtype != "error":
            return
        yield Report(message=response.error or "refused", code=response.error_code or "refused")
        self._model = before.model or self._model
        self._variant = before.variant or self._variant
        if before != SessionUpdated():
            yield Update(body=before)

    def begin_turn(
        self, model: str | None, mode: str | None, tools: tuple[str, ...]
    ) -> SessionUpdated:
        """A turn begins with this model, in this mode, with these tools."""
        self._model = model or self._model
        self._may_bypass = self._may_bypass or mode == BYPASS
        update = self.report_mode(mode)
        return SessionUpdated(
            model=model or UNSET,
            mode=update.mode,
            permission_mode=update.permission_mode,
            tools=tools or UNSET,
        )

    def report_mode(self, mode: str | None) -> SessionUpdated:
        """Claude Code reports its mode, which it may also have changed itself."""
        if mode is None or self._is_switching_mode:
            return SessionUpdated()
        before = self._mode
        self._is_planning = mode == "plan"
        self._bypass_by_policy = self._bypass_by_policy and mode == "default"
        permission_mode = "bypass" if self._bypass_by_policy else our_mode(mode)
        return SessionUpdated(
            mode=UNSET if self._mode == before else self._mode, permission_mode=permission_mode
        )

    def clear(self) -> None:
        """The process is gone; the next one is started with the settings of now."""
        self._may_bypass = self._bypass_by_policy = False
        self._unconfirmed_changes.clear()


# --- Models ---

_MODELS_REQUEST = "models"


class _OfferedModel(Struct, rename="camel"):
    value: str
    display_name: str | None = None
    supported_effort_levels: tuple[str, ...] | None = None


class _ModelsBody(Struct):
    models: tuple[_OfferedModel, ...] = ()


class _ModelsResponse(Struct):
    request_id: str = ""
    subtype: str = ""
    response: Raw = Raw(b"{}")


class _ModelsLine(Struct):
    type: str
    response: Raw = Raw(b"{}")


_line = msgspec.json.Decoder(_ModelsLine)
_response = msgspec.json.Decoder(_ModelsResponse)
_body = msgspec.json.Decoder(_ModelsBody)


def launch_for_models(command: tuple[str, ...], cwd: str) -> Launch:
    """A process that only lists its models: no MCP servers, no hooks, no stored session."""
    argv = (
        *command,
        "-p",
        "--input-format", "stream-json",
        "--output-format", "stream-json",
        "--verbose",
        "--strict-mcp-config",
        "--settings", '{"disableAllHooks":true}',
        "--no-session-persistence",
    )  # fmt: skip
    return Launch(argv=argv, env={"DISABLE_AUTOUPDATER": "1", "CLAUDECODE": ""}, cwd=cwd)


def read_models(message: bytes) -> tuple[ModelList, ...]:
    """The models; an empty list where the request was refused; nothing: another message."""
    line = decode(message, _line)
    if line.type != "control_response":
        return ()
    response = decode(bytes(line.response), _response)
    if response.request_id != _MODELS_REQUEST:
        return ()
    if response.subtype != "success":
        return (ModelList(models=()),)
    models = tuple(map(_info, decode(bytes(response.response), _body).models))
    has_default = any(model.id == "default" for model in models)
    return (ModelList(models=models, default_model="default" if has_default else None),)


def _info(model: _OfferedModel) -> ModelInfo:
    return ModelInfo(
        id=model.value, name=model.display_name, variants=model.supported_effort_levels
    )


CATALOGUE = Catalogue(
    launch=launch_for_models,
    ask=msgspec.json.encode(
        {
            "type": "control_request",
            "request_id": _MODELS_REQUEST,
            "request": {"subtype": "initialize"},
        }
    ),
    read=read_models,
)
"""How Claude Code's models are listed."""
