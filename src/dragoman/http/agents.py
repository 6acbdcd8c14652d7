"""Handlers for agents, health and the OpenAPI document."""

from __future__ import annotations

import os

from starlette.requests import Request
from starlette.responses import Response

from dragoman.http.context import daemon_of
from dragoman.http.parse import body, query
from dragoman.http.responses import agent_list, answer, nothing
from dragoman.schema import http as schema


async def get_health(request: Request) -> Response:
    """Say that the daemon lives."""
    return answer(schema.Health())


async def list_agents(request: Request) -> Response:
    """All agents, as this machine has them."""
    return answer(await agent_list(daemon_of(request.scope).agents, os.environ))


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
