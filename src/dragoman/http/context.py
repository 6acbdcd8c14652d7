"""The parts of the daemon that handlers need, found from a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from dragoman.errors import Unavailable
from dragoman.files import Directories, FileService
from dragoman.http.connection_limits import ConnectionLimits
from dragoman.http.request_log import Traffic
from dragoman.runtime.provision.agents import Agents
from dragoman.runtime.session.manager import SessionManager
from dragoman.runtime.webhooks.webhooks import Webhooks
from dragoman.settings import Settings
from dragoman.store import Store


class Daemon(Struct, frozen=True):
    """The daemon's parts."""

    settings: Settings
    store: Store
    agents: Agents
    sessions: SessionManager
    files: FileService
    directories: Directories
    webhooks: Webhooks
    traffic: Traffic = field(default_factory=Traffic)


def daemon_of(scope: Mapping[str, Any]) -> Daemon:
    """The daemon that a request came to."""
    daemon: Daemon | None = getattr(scope["app"].state, "daemon", None)
    if daemon is None:
        # A server with its lifespan switched off, or a transport that has none.
        raise Unavailable("the application was not started: run its ASGI lifespan, or `running()`")
    return daemon


def limits_of(scope: Mapping[str, Any]) -> ConnectionLimits:
    """What connections may take, all of them together."""
    limits: ConnectionLimits = scope["app"].state.connection_limits
    return limits
