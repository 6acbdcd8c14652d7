"""Retries, compaction, commands in the background and MCP servers: status items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.agents.grok import native
from dragoman.dialects.acp.profile import SessionAccess
from dragoman.steps import Step


def retry(session_id: str, state: native.RetryState, session: SessionAccess) -> Iterator[Step]:
    """The model is asked again; that it is asked no more is an error, which ends the turn."""
    if state.type == "retrying":
        yield from session.retract(session_id)
        detail = f"{state.reason or 'error'}: attempt {state.attempt} of {state.max_retries}"
        yield from session.status("retrying", detail, _about(state))


def compaction(kind: str, told: native.Compaction, session: SessionAccess) -> Iterator[Step]:
    """The conversation is made shorter, or could not be."""
    match kind:
        case "auto_compact_started":
            full = f"{told.percentage} % full" if told.percentage is not None else None
            yield from session.status("compacting", full, _about(told))
        case "auto_compact_completed":
            sizes = f"{told.tokens_before} tokens became {told.tokens_after}"
            known = told.tokens_before is not None and told.tokens_after is not None
            yield from session.status("compacted", sizes if known else None, _about(told))
        case _:
            why = told.error or told.reason or kind.removeprefix("auto_compact_")
            yield from session.status("compacting", why, _about(told), "failed")


def task(told: native.TaskCompleted, session: SessionAccess) -> Iterator[Step]:
    """A command in the background has ended."""
    snapshot = told.task_snapshot
    end = "was killed" if snapshot.explicitly_killed else f"ended with {snapshot.exit_code}"
    about = {"command": snapshot.command, "exit_code": snapshot.exit_code,
             "output": snapshot.output}  # fmt: skip
    failed = bool(snapshot.exit_code) or snapshot.explicitly_killed
    detail = f"`{snapshot.command}` {end}"
    yield from session.status("background", detail, about, "failed" if failed else "completed")


class ServerNotices:
    """MCP servers that are not there."""

    def __init__(self) -> None:
        self._progress = native.ServerProgress()
        self.are_up = False
        """Those that are not there by now are not waited for."""

    def note(self, progress: native.ServerProgress) -> None:
        """So many are connected."""
        self._progress = progress

    def initialized(self, session: SessionAccess) -> Iterator[Step]:
        """No more are waited for, at the latest after 30 s. Of one whose program is not there, only
        this is told (1.0.41)."""
        self.are_up = True
        progress, self._progress = self._progress, native.ServerProgress()
        if progress.connected < progress.total:
            detail = f"{progress.connected} of {progress.total} are connected"
            yield from session.status("mcp_server", detail, status="failed")

    def changed(self, server: native.ServerStatus, session: SessionAccess) -> Iterator[Step]:
        """One is there, or is not."""
        if server.status not in ("ready", "connected", "initializing", "connecting"):
            detail = f"{server.name}: {server.detail or server.reason or server.status}"
            yield from session.status("mcp_server", detail, status="failed")


def _about(told: Any) -> Any:
    values = msgspec.structs.asdict(told)
    return {name: value for name, value in values.items() if value is not None}
