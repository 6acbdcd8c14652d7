"""The handler for `GET /v1/status`."""

from __future__ import annotations

import asyncio
import os

from starlette.requests import Request
from starlette.responses import Response

from dragoman import __version__
from dragoman.adapter import Adapter
from dragoman.http.auth.middleware import CALLER
from dragoman.http.connection_limits import ConnectionLimits
from dragoman.http.context import Daemon, daemon_of, limits_of
from dragoman.http.responses import answer
from dragoman.runtime.provision.agents import Agents, InstalledAgent
from dragoman.schema.http import ProcessList
from dragoman.schema.status import (
    AgentStatus,
    CallerStatus,
    DaemonStatus,
    Limit,
    Limits,
    StoreStatus,
)
from dragoman.store import StoreStats


async def get_status(request: Request) -> Response:
    """How the daemon does."""
    daemon, caller = daemon_of(request.scope), request.scope[CALLER]
    stats, processes, places = await asyncio.gather(
        daemon.sessions.stats(),
        daemon.sessions.processes(),
        asyncio.to_thread(_places, daemon.agents),
    )
    return answer(
        DaemonStatus(
            version=__version__,
            caller=CallerStatus(token=caller.token, scopes=caller.allowed),
            pid=os.getpid(),
            started_at=daemon.traffic.started_at_ms,
            uptime_ms=int(daemon.traffic.uptime_s * 1000),
            store=_store(stats, daemon.settings.data_dir),
            sessions=stats.sessions,
            queued=stats.queued,
            readers=stats.readers + stats.all_readers,
            agents=tuple(_agent(daemon.agents, *each) for each in places),
            limits=_limits(daemon, stats, processes, limits_of(request.scope)),
        )
    )


def _store(stats: StoreStats, path: str) -> StoreStatus:
    return StoreStatus(
        path=path,
        events=stats.events,
        size_bytes=stats.database_bytes + stats.log_bytes,
        free_bytes=stats.free_bytes,
        degraded=stats.problem is not None,
        problem=stats.problem,
        cursor=str(stats.position),
    )


def _places(agents: Agents) -> list[tuple[Adapter, InstalledAgent | None]]:
    """Look for each agent on the disk; none is started to be asked. Those of the catalogue that are
    not there are left out."""
    found = ((each, agents.find(each.adapter)) for each in agents.registry.all())
    return [
        (each.adapter, place)
        for each, place in found
        if place is not None or each.source != "catalogue"
    ]


def _agent(agents: Agents, adapter: Adapter, found: InstalledAgent | None) -> AgentStatus:
    """What is known of an agent. On the loop: servers and their clock are the loop's."""
    return AgentStatus(
        id=adapter.id,
        installed=found is not None,
        version=found.version if found else None,
        server_status=agents.servers.status(adapter),
    )


def _limits(
    daemon: Daemon, stats: StoreStats, processes: ProcessList, connection_limits: ConnectionLimits
) -> Limits:
    settings, sessions = daemon.settings, stats.sessions
    running = sum(each.purpose == "session" for each in processes.processes)
    used_bytes = stats.database_bytes - stats.free_bytes
    return Limits(
        max_sessions=Limit(
            used=sum(sessions.values()) - sessions["ended"], most=settings.max_sessions
        ),
        max_processes=Limit(used=running, most=settings.max_processes),
        max_turns=Limit(used=sessions["running"] + sessions["waiting"], most=settings.max_turns),
        max_connections=Limit(used=connection_limits.connections, most=connection_limits.places),
        max_streams=Limit(used=connection_limits.streams, most=connection_limits.stream_places),
        max_store_bytes=Limit(used=used_bytes, most=settings.max_store_bytes),
    )
