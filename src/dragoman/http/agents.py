"""Agents, health, and the contract itself."""

from __future__ import annotations

import os

from starlette.requests import Request
from starlette.responses import Response

from dragoman.http.answers import agent_info, answer
from dragoman.http.daemon import daemon_of
from dragoman.schema import http as schema


async def get_health(request: Request) -> Response:
    """Say that the daemon lives."""
    return answer(schema.Health())


async def list_agents(request: Request) -> Response:
    """All agents, as this machine has them."""
    agents = daemon_of(request.scope).agents
    environ = dict(os.environ)
    found = tuple(agent_info(adapter, agents, environ) for adapter in agents.all())
    return answer(schema.AgentList(agents=found))


async def list_modes(request: Request) -> Response:
    """An agent's modes."""
    adapter = daemon_of(request.scope).agents.adapter(request.path_params["agent"])
    return answer(schema.ModeList(modes=adapter.modes))


async def list_models(request: Request) -> Response:
    """An agent's models."""
    adapter = daemon_of(request.scope).agents.adapter(request.path_params["agent"])
    return answer(schema.ModelList(models=adapter.models, default_model=adapter.default_model))
