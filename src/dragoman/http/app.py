"""The surface: routes behind the door."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette

from dragoman.http import problems
from dragoman.http.daemon import Daemon
from dragoman.http.door import Door
from dragoman.http.routes import starlette_routes
from dragoman.http.tokens import Guard


def make_app(daemon: Daemon, guard: Guard, port_of: Callable[[], int]) -> Door:
    """Everything that answers, with the door in front of it."""
    app = Starlette(routes=starlette_routes())
    app.router.redirect_slashes = False
    app.state.daemon = daemon
    problems.install(app)
    settings = daemon.settings
    return Door(
        app,
        guard=guard,
        host=settings.host,
        port_of=port_of,
        allow_hosts=settings.allow_host,
        allow_origins=settings.cors_allow_origin,
    )
