"""`dragoman status`: how the daemon does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from dragoman.cli.connect import AsJson, DataDir, Url, daemon, say
from dragoman.cli.sanitize import line

if TYPE_CHECKING:
    from dragoman.schema.status import AgentStatus, DaemonStatus, Limit

MIB = 1 << 20


def status(url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show how the daemon does: its store, sessions, agents and limits."""
    with daemon(url, data_dir, as_json) as client:
        found = client.status()
        if as_json:
            say(found)
            return
        for name, value in _rows(found, client.url):
            typer.echo(f"{name:<9} {line(value, 400)}")


def _rows(found: DaemonStatus, url: str) -> Iterator[tuple[str, str]]:
    from dragoman.cli.sessions import age

    up = age(found.started_at, found.started_at + found.uptime_ms)
    yield "daemon", f"{found.version} at {url}, up {up}, pid {found.pid}"
    store = found.store
    size = f"{store.events:,} events, {store.size_bytes / MIB:.1f} MiB in {store.path}"
    yield "store", size + (" (cannot write at the moment)" if store.degraded else "")
    if store.problem is not None:
        yield "problem", store.problem
    by_status = ", ".join(f"{count} {name}" for name, count in found.sessions.items() if count)
    yield "sessions", by_status or "none"
    if found.queued:
        yield "queue", f"{found.queued} messages wait"
    yield "readers", str(found.readers)
    for agent in found.agents:
        yield "agent", _agent(agent)
    for field in found.limits.__struct_fields__:
        limit: Limit = getattr(found.limits, field)
        if limit.most:
            yield "limit", f"{field}: {limit.used:,} of {limit.most:,}"


def _agent(agent: AgentStatus) -> str:
    words = [agent.id, agent.version or ("installed" if agent.installed else "not installed")]
    if (server := agent.server_status) is not None:
        words.append(f"(server {server.status}, {server.restart_count} restarts)")
        if server.last_error is not None:
            words.append(f"last error: {server.last_error}")
    return " ".join(words)
