"""Handlers for agents, health and the OpenAPI document."""

from __future__ import annotations

import logging
import os

from starlette.requests import Request
from starlette.responses import Response

from dragoman.http.context import daemon_of
from dragoman.http.parse import body, query
from dragoman.http.responses import agent_info, agent_list, answer, nothing
from dragoman.schema import http as schema

log = logging.getLogger(__name__)


async def get_health(request: Request) -> Response:
    """Say that the daemon lives."""
    return answer(schema.Health())


async def list_agents(request: Request) -> Response:
    """All agents, as this machine has them."""
    return answer(await agent_list(daemon_of(request.scope).agents, os.environ))


async def add_agent(request: Request) -> Response:
    """Add an agent that needs no code."""
    daemon = daemon_of(request.scope)
    wanted = await body(request, schema.AddAgent, daemon.settings.max_body_bytes)
    added = await daemon.agents.registry.add(wanted)
    daemon.sessions.agent_changed(wanted.id)
    log.info("agent %s was added", wanted.id)
    return answer(await agent_info(added, daemon.agents, os.environ), 201)


async def remove_agent(request: Request) -> Response:
    """Remove an agent that was added."""
    daemon, agent = daemon_of(request.scope), request.path_params["agent"]
    await daemon.agents.registry.remove(agent)
    daemon.sessions.agent_changed(agent)
    log.info("agent %s was removed", agent)
    return nothing()


async def install_agent(request: Request) -> Response:
    """Install an agent, and answer when it is done."""
    daemon = daemon_of(request.scope)
    adapter = daemon.agents.adapter(request.path_params["agent"])
    wanted = await body(
        request, schema.InstallAgent, daemon.settings.max_body_bytes, absent=schema.InstallAgent()
    )
    await daemon.agents.install(adapter, reinstall=bool(wanted.reinstall))
    return nothing()


async def list_processes(request: Request) -> Response:
    """What runs now, and for whom."""
    return answer(await daemon_of(request.scope).sessions.processes())


async def list_modes(request: Request) -> Response:
    """An agent's modes."""
    agents = daemon_of(request.scope).agents
    adapter = agents.adapter(request.path_params["agent"])
    wanted = query(schema.ListingQuery, request.scope["query_string"])
    modes = {mode.id: mode for mode in adapter.modes}
    if adapter.catalogue is not None and adapter.catalogue.tells_modes:
        listing = await agents.listing(adapter, refresh=wanted.refresh)
        modes |= {mode.id: mode for mode in (listing.modes.modes if listing.modes else ())}
    return answer(schema.ModeList(modes=tuple(modes.values())))


async def list_models(request: Request) -> Response:
    """An agent's models."""
    agents = daemon_of(request.scope).agents
    adapter = agents.adapter(request.path_params["agent"])
    wanted = query(schema.ListingQuery, request.scope["query_string"])
    return answer(await agents.models(adapter, refresh=wanted.refresh))
