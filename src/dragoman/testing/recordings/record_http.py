"""Records an agent that speaks HTTP, as a reverse proxy on loopback.

Requests and responses go into the same format, a body line by line, with `http` beside it:
`id` joins a response to its request. Of the headers only the content type is kept.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dragoman.testing.recordings.framing import Framer
from dragoman.testing.recordings.record import finish
from dragoman.testing.recordings.secret_variables import secrets_of
from dragoman.testing.recordings.transcript import Dir, Ending, Line, Meta
from dragoman.testing.recordings.writer import Tape

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
STOP_S = 1
_OF_A_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailers",
     "transfer-encoding", "upgrade", "host", "content-length", "accept-encoding", "date", "server")
)  # fmt: skip
"""Headers that are not passed on; without accept-encoding, bodies can be read."""


class Proxy:
    """Passes requests on, and writes down both sides."""

    def __init__(self, url: str, tape: Tape, *, patience_s: float = 0.0) -> None:
        self._patience_s = patience_s
        self._url = url.rstrip("/")
        self._tape = tape
        self._ids = itertools.count(1)
        self._client: httpx2.AsyncClient | None = None

    def app(self) -> Starlette:
        """The proxy as an ASGI application."""
        routes = [Route("/{path:path}", self.handle, methods=list(METHODS))]
        return Starlette(routes=routes, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        # The environment's proxies are not for what is on this machine.
        async with httpx2.AsyncClient(timeout=None, trust_env=False) as self._client:
            yield

    async def handle(self, request: Request) -> Response:
        """One request, and its response as it comes."""
        assert self._client is not None
        id = next(self._ids)
        body = await request.body()
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        about = {"id": id, "method": request.method, "path": target}
        self._note("in", {**about, **_content_type(request.headers.items())}, body)
        try:
            answer = await self._client.send(
                self._client.build_request(
                    request.method,
                    self._url + target,
                    content=body,
                    # Said outright, or the client would ask for what cannot be read.
                    headers=[*_passed(request.headers.items()), ("accept-encoding", "identity")],
                ),
                stream=True,
            )
        except httpx2.HTTPError as error:
            # Where the agent died, whoever started it shall hear of that, and not of us.
            await asyncio.sleep(self._patience_s)
            self._note("out", {"id": id, "status": 502, "error": str(error)}, b"")
            return Response(str(error), 502)
        headers = _passed(answer.headers.items())
        return StreamingResponse(self._body(id, answer), answer.status_code, dict(headers))

    async def _body(self, id: int, answer: httpx2.Response) -> AsyncIterator[bytes]:
        about: dict[str, Any] = {"id": id, "status": answer.status_code}
        self._write("out", {**about, **_content_type(answer.headers.items())}, b"", open=True)
        framer = Framer()
        try:
            async for chunk in answer.aiter_raw():
                for line in framer.feed(chunk):
                    self._write("out", {"id": id}, line)
                yield chunk
        finally:
            self._write("out", {"id": id, "end": True}, framer.close(), open=True)
            await answer.aclose()

    def _note(self, dir: Dir, about: dict[str, Any], body: bytes) -> None:
        """A whole message: the first line tells what it is, the last that it ends."""
        framer = Framer()
        for line in framer.feed(body):
            self._write(dir, about, line)
            about = {"id": about["id"]}
        self._write(dir, {**about, "end": True}, framer.close(), open=True)

    def _write(self, dir: Dir, about: dict[str, Any], line: bytes, *, open: bool = False) -> None:
        self._tape.write(Line(t=self._tape.now(), dir=dir, data=line, open=open, http=about))


def _passed(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in _OF_A_CONNECTION]


def _content_type(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    found = [value for name, value in headers if name.lower() == "content-type"]
    return {"content_type": found[0]} if found else {}


def stand_before(url: str, tape: Tape) -> str:
    """Stand in at a free port of loopback, in a thread, for as long as this process lives."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = Proxy(url, tape, patience_s=STOP_S * 5)
    server = uvicorn.Server(uvicorn.Config(proxy.app(), log_level="critical"))
    work = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    work.start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def serve(
    url: str, port: int, out: Path, *, agent: str | None = None, scrubbed: bool = True
) -> None:
    """Stand in at a port of loopback until stopped by a signal."""
    tape = Tape(out, secrets_of(os.environ) if scrubbed else ())
    tape.write(Meta(agent=agent, url=url))
    with socket.create_server(("127.0.0.1", port)) as listener:
        print(
            f"dragoman record listens on http://127.0.0.1:{listener.getsockname()[1]}", flush=True
        )
        config = uvicorn.Config(
            Proxy(url, tape).app(), log_level="warning", timeout_graceful_shutdown=STOP_S
        )
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            tape.write(Ending(t=tape.now(), code=0, signal=None))
            finish(tape, scrubbed=scrubbed)
