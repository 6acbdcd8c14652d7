"""The surface: routes behind the door."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.routing import Route

from dragoman.http import problems
from dragoman.http.auth.authenticator import Authenticator
from dragoman.http.auth.middleware import AuthMiddleware
from dragoman.http.auth.peers import Peers
from dragoman.http.compress import Compress
from dragoman.http.context import Daemon
from dragoman.http.metrics import get_metrics
from dragoman.http.request_log import RequestLog
from dragoman.http.routes import ROUTES, starlette_routes
from dragoman.http.ui import built_page, page_routes


def make_app(
    daemon: Daemon, authenticator: Authenticator, port_of: Callable[[], int]
) -> RequestLog:
    """Everything that answers, with the door in front of it, and a register outside."""
    app = Starlette(routes=[*_open(daemon), *starlette_routes(), *page_routes(built_page())])
    app.router.redirect_slashes = False
    app.state.daemon = daemon
    app.state.authenticator = authenticator
    app.state.peers = Peers()
    app.state.port_of = port_of
    problems.install(app)
    settings = daemon.settings
    auth = AuthMiddleware(
        Compress(app),
        authenticator=authenticator,
        host=settings.host,
        port_of=port_of,
        allow_hosts=settings.allow_host,
        allow_origins=settings.cors_allow_origin,
        public=(
            "/ui",
            "/ui/",
            *(r.operation.path for r in ROUTES if r.operation.public),
            *(route.path for route in _open(daemon)),
        ),
    )
    return RequestLog(auth, daemon.traffic, settings.access_log)


def _open(daemon: Daemon) -> list[Route]:
    """What is served without a token because the settings say so."""
    return [Route("/metrics", get_metrics)] if daemon.settings.open_metrics else []
