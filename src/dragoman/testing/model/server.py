"""Runs the scripted model on loopback, in a thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from dragoman.errors import StartRefused
from dragoman.testing.model.amp import SOCKET, Threads
from dragoman.testing.model.app import App
from dragoman.testing.model.play import TRANSPORT, Gates
from dragoman.testing.model.requests import ModelRequest
from dragoman.testing.model.script import StepLike
from dragoman.testing.model.state import ModelState
from dragoman.testing.model.steps import Step
from dragoman.testing.model.websocket import WebSocket

HOST = "127.0.0.1"
DEADLINE_S = 10.0
KEEP_ALIVE_S = 3600
"""Longer than any test: an agent must never send into a connection that is just being closed."""


class ScriptedModel:
    """A model that says what a script tells it to, in any of the APIs. Thread-safe."""

    def __init__(
        self,
        steps: Iterable[StepLike] = (),
        *,
        port: int = 0,
        on_request: Callable[[ModelRequest], None] | None = None,
        side: Iterable[str] = (),
    ) -> None:
        """Take a script; `on_request` is called in the server's thread.

        A request takes no step if it offers a tool of a name in `side`, or if its last message of
        the user begins with one of these texts.
        """
        self._side = tuple(side)
        self._state = ModelState(on_request)
        self._state.add(steps)
        self._gates = Gates()
        self._threads = Threads(self._state, self._gates)
        self._port = port
        self._uvicorn = ServerState()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._server: asyncio.Server | None = None

    def __enter__(self) -> ScriptedModel:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Stop."""
        self.close()

    def start(self) -> None:
        """Listen. Raise StartRefused if the port is taken."""
        try:
            listener = socket.create_server((HOST, self._port))
        except OSError as error:
            raise StartRefused(
                f"cannot listen on {HOST}:{self._port}: {error.strerror}; choose another port, "
                "or 0 for a free one"
            ) from None
        self._port = listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(listener), self._loop).result(DEADLINE_S)

    def close(self) -> None:
        """Stop at once, and drop every connection."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(DEADLINE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()
        self._loop = self._thread = None

    @property
    def url(self) -> str:
        """Where it listens, without `/v1`."""
        return f"http://{HOST}:{self._port}"

    @property
    def requests(self) -> list[ModelRequest]:
        """All requests so far, in the order of their arrival."""
        return self._state.requests()

    @property
    def mains(self) -> list[ModelRequest]:
        """Those that took a step, or found none."""
        return [request for request in self.requests if request.is_main]

    @property
    def exhausted(self) -> list[ModelRequest]:
        """The main requests that found no step: empty, if the script was right."""
        return self._state.exhausted()

    @property
    def remaining(self) -> list[Step]:
        """The steps that were not served yet."""
        return self._state.remaining()

    def add(self, *steps: StepLike) -> None:
        """Add steps at the end of the script."""
        self._state.add(steps)

    def script(self, *steps: StepLike) -> None:
        """Replace what is left of the script."""
        self._state.replace(steps)

    def open(self, gate: str) -> None:
        """Open a gate, for good. Raise ScriptError if no step has it."""
        self._state.ensure_gate(gate)
        if self._loop is None:
            self._gates.open(gate)
        else:
            self._loop.call_soon_threadsafe(self._gates.open, gate)

    def forget_threads(self) -> None:
        """Lose all conversations that Amp's server keeps."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._threads.forget)

    def wait_for_request(
        self, wanted: int | Callable[[ModelRequest], bool] = 1, timeout_s: float = 30.0
    ) -> ModelRequest:
        """Give the n-th main request, or the first of all that fits, as soon as it is there.

        A predicate is asked again when an outcome becomes known. Raise TimeoutError.
        """
        if callable(wanted):
            return self._state.wait_for(lambda seen: next(filter(wanted, seen), None), timeout_s)
        return self._state.wait_for(lambda seen: _nth_main(seen, wanted), timeout_s)

    async def _listen(self, listener: socket.socket) -> None:
        config = uvicorn.Config(
            App(self._state, self._gates, self._threads, self._side),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Protocol(config, self._uvicorn, self._threads), sock=listener
        )

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self._uvicorn.connections):
            cast(_Protocol, connection).transport.abort()
        await self._threads.close()
        if self._uvicorn.tasks:
            await asyncio.wait(self._uvicorn.tasks)


class _Protocol(HttpToolsProtocol):
    """Uvicorn's, which also tells a request its connection: some answers cut it."""

    def __init__(self, config: uvicorn.Config, state: ServerState, threads: Threads) -> None:
        super().__init__(config, state, {})
        self._threads = threads

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self.parser.should_upgrade() and not self._should_upgrade_to_ws():
            # The parser reads nothing after being asked to upgrade.
            self.cycle.keep_alive = False

    def on_message_begin(self) -> None:
        super().on_message_begin()
        # A scope is a typed dictionary of what uvicorn itself puts into it.
        cast(dict[str, Any], self.scope)[TRANSPORT] = self.transport

    def _should_upgrade_to_ws(self) -> bool:
        return self.url.startswith(SOCKET.encode())

    def handle_websocket_upgrade(self) -> None:
        headers = dict(self.headers)
        url = urlsplit(self.url.decode())
        socket = WebSocket(
            headers[b"sec-websocket-key"],
            headers.get(b"sec-websocket-protocol", b"").partition(b",")[0],
        )
        self.connections.discard(self)
        self.transport.set_protocol(socket)
        socket.connection_made(self.transport)
        self._threads.open(socket, parse_qs(url.query).get("rvt-key", [""])[0])


def _nth_main(requests: list[ModelRequest], number: int) -> ModelRequest | None:
    mains = [request for request in requests if request.is_main]
    return mains[number - 1] if len(mains) >= number else None
