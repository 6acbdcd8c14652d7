"""How the daemon does, for people and their programs."""

from __future__ import annotations

import asyncio
import os

from starlette.requests import Request
from starlette.responses import Response

from dragoman import __version__
from dragoman.adapter import Adapter
from dragoman.http.auth.middleware import CALLER
from dragoman.http.connections import ConnectionLimits
from dragoman.http.context import Daemon, daemon_of
from dragoman.http.responses import answer
from dragoman.http.uvicorn_protocol import CONNECTION
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
    vitals, processes, places = await asyncio.gather(
        daemon.sessions.vitals(),
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
            store=_store(vitals, daemon.settings.data_dir),
            sessions=vitals.sessions,
            queued=vitals.queued,
            readers=vitals.readers + vitals.all_readers,
            agents=tuple(_agent(daemon.agents, *each) for each in places),
            limits=_limits(daemon, vitals, processes, request.scope[CONNECTION].crowd),
        )
    )


def _store(vitals: StoreStats, path: str) -> StoreStatus:
    return StoreStatus(
        path=path,
        events=vitals.events,
        size_bytes=vitals.database_bytes + vitals.log_bytes,
        free_bytes=vitals.free_bytes,
        degraded=vitals.problem is not None,
        problem=vitals.problem,
        cursor=str(vitals.position),
    )


def _places(agents: Agents) -> list[tuple[Adapter, InstalledAgent | None]]:
    """Look for each agent on the disk; none is started to be asked."""
    return [(adapter, agents.find(adapter)) for adapter in agents.all()]


def _agent(agents: Agents, adapter: Adapter, found: InstalledAgent | None) -> AgentStatus:
    """What is known of an agent. On the loop: servers and their clock are the loop's."""
    return AgentStatus(
        id=adapter.id,
        installed=found is not None,
        version=found.version if found else None,
        server_status=agents.servers.status(adapter),
    )


def _limits(
    daemon: Daemon, vitals: StoreStats, processes: ProcessList, crowd: ConnectionLimits
) -> Limits:
    settings, sessions = daemon.settings, vitals.sessions
    running = sum(each.purpose == "session" for each in processes.processes)
    used_bytes = vitals.database_bytes - vitals.free_bytes
    return Limits(
        max_sessions=Limit(
            used=sum(sessions.values()) - sessions["ended"], most=settings.max_sessions
        ),
        max_processes=Limit(used=running, most=settings.max_processes),
        max_turns=Limit(used=sessions["running"] + sessions["waiting"], most=settings.max_turns),
        max_connections=Limit(used=crowd.connections, most=crowd.places),
        max_streams=Limit(used=crowd.streams, most=crowd.stream_places),
        max_store_bytes=Limit(used=used_bytes, most=settings.max_store_bytes),
    )
