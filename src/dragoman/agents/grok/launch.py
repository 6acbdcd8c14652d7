"""The command line and environment of a Grok process, and what a session is opened with."""

from __future__ import annotations

from typing import Any

from dragoman.adapter import Spec
from dragoman.facts import Launch

START = ("agent", "--no-leader")
"""Its own process for each session; what is shared with other clients ends with none of them."""
QUIET = {
    # A daemon's process does not replace itself.
    "GROK_DISABLE_AUTOUPDATER": "1",
    # After each turn it asks the model for a line that only its own dashboard shows (1.0.41).
    "GROK_TURN_SUMMARY": "0",
}


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """How to start a process for this session."""
    skills = (word for folder in spec.skills for word in ("--plugin-dir", folder))
    return Launch(
        argv=(*command, *START, *skills, "stdio"),
        env={**QUIET, **spec.env},
        cwd=spec.directory,
        wire="jsonrpc",
    )


def session_meta(spec: Spec) -> dict[str, Any]:
    """What `_meta` of a session says: whether it asks, whatever the user's own configuration
    prefers. A new session has an id of our choice."""
    asks = {"yoloMode": spec.permission_mode == "bypass", "autoMode": False}
    is_new = spec.native_session_id is None and spec.tentative_id is None
    return {**asks, "sessionId": spec.fresh_id} if is_new and spec.fresh_id else asks
