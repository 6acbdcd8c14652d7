"""All shared processes: one per agent, version and environment."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping

import msgspec

from dragoman.adapter import Adapter
from dragoman.errors import Unavailable
from dragoman.facts import Launch
from dragoman.runtime.processes.process import Lives
from dragoman.runtime.processes.running import Holder
from dragoman.runtime.shared.connection import SharedConnection
from dragoman.runtime.shared.process import SharedProcess
from dragoman.schema.http import ServerStatus
from dragoman.settings import Settings
from dragoman.steps import Request
from dragoman.store import Store
from dragoman.wire.jsonrpc import Reply
from dragoman.wire.redactor import Redactor


class Servers:
    """Shared processes, by what they are started as."""

    def __init__(
        self,
        settings: Settings,
        mark: str,
        lives: Mapping[str, Lives],
        redactor: Redactor | None,
    ) -> None:
        self._settings = settings
        self._mark = mark
        self._lives = lives
        self._redactor = redactor
        self._servers: dict[tuple[str, str | None, bytes], SharedProcess] = {}
        self._stopping = False

    async def connection(
        self,
        adapter: Adapter,
        launch: Launch,
        version: str | None,
        session_id: str,
        wake: Callable[[], None],
        store: Store,
        redactor: Redactor | None,
    ) -> SharedConnection:
        """A session's place at the process that such a launch gives. Raise DaemonError."""
        server = self._server(adapter, launch, version, store)
        server.keep_secret(() if redactor is None else redactor.secrets)
        return await server.connection(session_id, wake)

    async def ask(
        self, adapter: Adapter, launch: Launch, version: str | None, said: Request, store: Store
    ) -> Reply:
        """Ask such a process for something that is about no running session. Raise DaemonError."""
        return await self._server(adapter, launch, version, store).ask(said)

    def _server(
        self, adapter: Adapter, launch: Launch, version: str | None, store: Store
    ) -> SharedProcess:
        if self._stopping:
            raise Unavailable("the daemon is stopping")
        key = adapter.id, version, msgspec.json.encode(launch, order="sorted")
        if key not in self._servers:
            self._servers = {k: s for k, s in self._servers.items() if not s.blank}
            name = self._new_name(adapter.id)
            lives = self._lives[adapter.id]
            self._servers[key] = SharedProcess(
                name, adapter, launch, self._settings, self._mark, store, lives, self._redactor
            )
        return self._servers[key]

    def _new_name(self, agent: str) -> str:
        """The first that is free: each has a log, and there shall not be ever more of them."""
        taken = {server.name for server in self._servers.values()}
        names = (f"{agent}-{number}" for number in itertools.count(1))
        return next(name for name in names if name not in taken)

    def status(self, adapter: Adapter) -> ServerStatus | None:
        """How an agent's processes are, the best of them first; None: it shares none."""
        if "sharedProcess" not in adapter.capabilities.native:
            return None
        order = ("running", "error", "stopped")
        known = [each.status() for each in self._servers.values() if each.agent == adapter.id]
        known.sort(key=lambda status: order.index(status.status))
        if not known:
            return ServerStatus(status="stopped", restart_count=0, unrouted=0)
        errors = [status.last_error for status in known if status.last_error]
        return msgspec.structs.replace(
            known[0],
            restart_count=sum(status.restart_count for status in known),
            unrouted=sum(status.unrouted for status in known),
            last_error=errors[0] if errors else None,
        )

    def holders(self) -> dict[str, Holder]:
        """Whom each process serves, by its mark."""
        return {
            server.mark: Holder("shared", server.agent, server.session_ids)
            for server in self._servers.values()
        }

    def stop(self) -> None:
        """Start nothing more."""
        self._stopping = True

    async def stopped(self) -> None:
        """End them all."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()))
