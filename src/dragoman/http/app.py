"""The daemon as an ASGI application: routes behind authentication, with the daemon's lifespan."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dragoman import logs
from dragoman.agents import adapters, load_problems
from dragoman.files import Directories, FileService
from dragoman.http import problems
from dragoman.http.auth.authenticator import Authenticator
from dragoman.http.auth.middleware import AuthMiddleware
from dragoman.http.auth.peers import Peers
from dragoman.http.auth.tickets import Logins
from dragoman.http.auth.tokens import Keyring, is_exposed, load_token
from dragoman.http.compress import Compress
from dragoman.http.connection import CONNECTION, Dropped, PlainConnection
from dragoman.http.connection_limits import ConnectionLimits, connection_settings
from dragoman.http.context import Daemon
from dragoman.http.metrics import get_metrics
from dragoman.http.request_log import RequestLog, Traffic
from dragoman.http.routes import ROUTES, starlette_routes
from dragoman.http.ui import built_page, page_routes
from dragoman.runtime.callbacks import run_callbacks
from dragoman.runtime.processes.stale import end_all, watch
from dragoman.runtime.provision.agents import Agents
from dragoman.runtime.session.manager import SessionManager
from dragoman.runtime.session.retention import Upkeep
from dragoman.runtime.webhooks.webhooks import Webhooks
from dragoman.schema.callbacks import Callbacks
from dragoman.settings import Settings
from dragoman.store import open_store

log = logging.getLogger(__name__)


def create_app(settings: Settings, callbacks: Callbacks | None = None) -> DragomanApp:
    """Make an application for any ASGI server. Its lifespan opens and closes the data folder.

    The callbacks are called in this process, with every event from its start on.
    """
    return DragomanApp(settings, callbacks)


class DragomanApp:
    """Everything that answers, and the daemon behind it.

    Under `dragoman serve` each request comes by a connection of ours, which bounds what strangers
    can take (`uvicorn_protocol`). Under another server that is the server's business.
    """

    def __init__(self, settings: Settings, callbacks: Callbacks | None = None) -> None:
        self.settings = settings
        self._callbacks = callbacks
        self.port = 0
        """Where it is served; 0: as the first request says."""
        self.token = load_token(settings)
        if self.token is not None:
            logs.redact(self.token)
        data_dir = Path(settings.data_dir)
        self.authenticator = Authenticator(
            self.token,
            Keyring(data_dir / "tokens.json"),
            Logins(data_dir / "logins.json"),
            is_exposed=is_exposed(settings),
        )
        self.connection_limits = ConnectionLimits(connection_settings(settings))
        self._traffic = Traffic()
        self._app = self._routes()
        self._entry = RequestLog(self._auth(), self._traffic, settings.access_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or live from start to stop."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif CONNECTION in scope or scope["type"] != "http":
            await self._entry(scope, receive, send)
        else:
            await self._answer_plain(scope, receive, send)

    async def _answer_plain(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.port:
            self.port = (scope.get("server") or ("", 0))[1] or self.settings.port
        connection = scope[CONNECTION] = PlainConnection(receive)
        self.connection_limits.busy(connection)
        try:
            await self._entry(scope, receive, send)
        except asyncio.CancelledError:
            if not connection.is_dropped:
                raise
        finally:
            self.connection_limits.leave(connection)
        if connection.is_dropped:
            raise Dropped

    def _routes(self) -> Starlette:
        routes = [*self._open_routes(), *starlette_routes(), *page_routes(built_page())]
        app = Starlette(routes=routes, lifespan=self._lifespan)
        app.router.redirect_slashes = False
        app.state.authenticator = self.authenticator
        app.state.connection_limits = self.connection_limits
        app.state.peers = Peers()
        app.state.port_of = lambda: self.port
        problems.install(app)
        return app

    def _auth(self) -> AuthMiddleware:
        settings = self.settings
        return AuthMiddleware(
            Compress(self._app),
            authenticator=self.authenticator,
            host=settings.host,
            port_of=lambda: self.port,
            allow_hosts=settings.allow_host,
            allow_origins=settings.cors_allow_origin,
            public=(
                "/ui",
                "/ui/",
                *(r.operation.path for r in ROUTES if r.operation.public),
                *(route.path for route in self._open_routes()),
            ),
        )

    def _open_routes(self) -> list[Route]:
        """What is served without a token because the settings say so."""
        return [Route("/metrics", get_metrics)] if self.settings.open_metrics else []

    # --- From start to stop ---

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with self.running() as daemon:
            yield
            await stop(daemon)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Daemon]:
        """Open the data folder and go on where the last daemon stopped."""
        settings = self.settings
        store = open_store(Path(settings.data_dir), synchronous=settings.synchronous)
        try:
            files = FileService(settings)
            for problem in load_problems():
                log.error("%s", problem)
            agents = Agents(adapters(), settings, self.token)
            for name, value in agents.secrets.daemon_secrets():
                logs.redact(value, name)
            sessions = SessionManager(store, agents, settings, files)
            start = store.global_log.position
            await sessions.recover()
            webhooks = Webhooks(store, settings)
            await webhooks.start()
            directories = Directories(settings)
            daemon = Daemon(
                settings, store, agents, sessions, files, directories, webhooks, self._traffic
            )
            self._app.state.daemon = daemon
            tasks = [
                asyncio.create_task(watch(store)),
                asyncio.create_task(Upkeep(sessions, store, settings).run()),
                asyncio.create_task(self._beat(daemon)),
            ]
            if self._callbacks is not None:
                tasks.append(asyncio.create_task(run_callbacks(self._callbacks, store, start)))
            try:
                yield daemon
            finally:
                files.close()
                for task in tasks:
                    task.cancel()
                await webhooks.stop()
                # A session that waits for its disk could not end its agent.
                await end_all(store, Path(settings.data_dir))
        finally:
            await store.close()

    async def _beat(self, daemon: Daemon) -> None:
        while True:
            await asyncio.sleep(self.settings.heartbeat_s)
            self.authenticator.turn_out()
            await self.authenticator.logins.keep_now_and_then()
            daemon.store.notify_all()


async def stop(daemon: Daemon) -> None:
    """End agents, then sessions, then the streams of those who read."""
    daemon.agents.stop()
    await daemon.sessions.stop()
    await daemon.agents.stopped()
    daemon.store.end_followers()
