"""Converts records of the store and runtime to bodies of the HTTP contract."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping

import msgspec
from msgspec import Struct
from starlette.responses import Response

from dragoman import __version__
from dragoman.adapter import Adapter
from dragoman.runtime.provision.agents import PATIENCE_S, Agents
from dragoman.runtime.provision.registry import RegisteredAgent
from dragoman.runtime.session.file_events import file_events_off
from dragoman.schema.http import (
    AgentCapabilities,
    AgentInfo,
    AgentList,
    FeatureSupport,
    SessionInfo,
    to_json,
)
from dragoman.schema.mcp_skills import masked_server, masked_skills
from dragoman.settings import Settings
from dragoman.store import SessionRow


def answer(body: Struct, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(to_json(body), status, headers, media_type="application/json")


def nothing(headers: dict[str, str] | None = None) -> Response:
    """Done, and nothing to say."""
    return Response(status_code=204, headers=headers)


def session_info(row: SessionRow, starting: Container[str], settings: Settings) -> SessionInfo:
    """A session; what is secret in it is never shown."""
    state, create = row.state, row.create
    is_starting = state.status == "idle" and row.session_id in starting
    return SessionInfo(
        session_id=row.session_id,
        agent=create.agent,
        agent_mode=state.agent_mode,
        permission_mode=state.permission_mode,
        model=state.model,
        variant=state.variant,
        native_session_id=state.native_session_id,
        ended=state.ended,
        event_count=row.event_count,
        created_at=row.created_at,
        updated_at=row.updated_at,
        directory=row.directory,
        title=state.title,
        preview=state.preview if settings.previews else None,
        mcp=create.mcp and {name: masked_server(each) for name, each in create.mcp.items()},
        skills=create.skills and masked_skills(create.skills),
        status="starting" if is_starting else state.status,
        last_outcome=state.last_outcome,
        pending_count=row.queued + len(state.permissions) + len(state.questions),
        chain=row.link.hex(),
        continuity=state.continuity,
        **({"usage": state.usage} if state.usage else {}),
        file_events=False if file_events_off(row, settings) else create.file_events,
        changes=state.changes,
    )


async def agent_list(
    agents: Agents, environ: Mapping[str, str], patience_s: float = PATIENCE_S
) -> AgentList:
    """All agents, as this machine has them; each may take so long to tell its version."""
    infos = (agent_info(each, agents, environ, patience_s) for each in agents.registry.all())
    return AgentList(agents=tuple(await asyncio.gather(*infos)))


async def agent_info(
    agent: RegisteredAgent,
    agents: Agents,
    environ: Mapping[str, str],
    patience_s: float = PATIENCE_S,
) -> AgentInfo:
    """One agent, as this machine has it; values of variables are never shown."""
    adapter, settings = agent.adapter, agent.settings
    found = await agents.with_version(adapter, patience_s)
    environ = {**environ, **settings.env}
    return AgentInfo(
        id=adapter.id,
        name=adapter.name,
        source=agent.source,
        adapter=adapter.dialect,
        verified=_verified(adapter),
        env=tuple(sorted(settings.env)),
        fs=settings.fs,
        terminal=settings.terminal,
        installed=found is not None,
        credentials_available=not adapter.credentials
        or any(environ.get(name) for name in adapter.credentials),
        version=found.version if found else None,
        path=found.path if found else None,
        interpreter=found.interpreter if found else None,
        problem=agents.problem(adapter, found) if found else None,
        capabilities=capabilities(adapter, found.version if found else None),
        server_status=agents.servers.status(adapter),
    )


def _verified(adapter: Adapter) -> str | None:
    if adapter.is_built_in:
        return __version__
    if adapter.dialect is not None or adapter.package is None:
        return adapter.verified
    return adapter.package.version


def capabilities(adapter: Adapter, version: str | None) -> AgentCapabilities:
    """What appears in the stream of this version of an agent."""
    known = adapter.capabilities.of_version(version)
    features = {
        field.encode_name: field.name
        for field in msgspec.structs.fields(AgentCapabilities)
        if field.name not in ("stability", "features")
    }
    return AgentCapabilities(
        stability=known.stability,
        features={
            feature: FeatureSupport(native=feature in known.native, shown=feature in known.shown)
            for feature in features
        },
        **{name: feature in known.shown for feature, name in features.items()},
    )
