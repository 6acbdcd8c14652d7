"""The names and values under which front ends know what is particular to agents and sandboxes."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.core.fold import SessionState
from dragoman.schema.events import Body, FileChanged, SandboxFile, SandboxFileDiff

_SANDBOX = (FileChanged, SandboxFile, SandboxFileDiff)

CustomEvent = tuple[str, dict[str, Any]]
"""A name, and its value."""


def session_id_event(prefix: str, native_session_id: str, state: SessionState) -> CustomEvent:
    """The agent's own conversation was opened or resumed: by what name it can be resumed again.

    `prefix` is the adapter's `event_prefix`. Model and tools are there where they are known.
    """
    value: dict[str, Any] = {"sessionId": native_session_id}
    if state.model is not None:
        value["model"] = state.model
    if state.tools is not None:
        value["tools"] = list(state.tools)
    return f"{prefix}.session-id", value


def sandbox_event(body: Body) -> CustomEvent | None:
    """What happened to files, as it stands in the stream; None: it is about something else."""
    return (body.type, msgspec.to_builtins(body)) if isinstance(body, _SANDBOX) else None
