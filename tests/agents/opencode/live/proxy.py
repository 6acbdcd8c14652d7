"""Stands between the daemon and a real OpenCode, and cuts its event stream when it is told to.

It is started in OpenCode's place, with a file for its own address, then OpenCode's command. While
it holds, the event stream breaks at its next event and is not opened again; calls pass.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dragoman.agents.opencode.launch import SERVER

NOT_PASSED = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding")


class Proxy:
    """Passes calls and events on."""

    def __init__(self, url: str) -> None:
        self._client = httpx2.AsyncClient(base_url=url, timeout=None, trust_env=False)
        self._may_stream = asyncio.Event()
        self._may_stream.set()

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/proxy/{order}", self.order, methods=["POST"]),
                Route("/{path:path}", self.pass_on, methods=["GET", "POST", "PATCH", "DELETE"]),
            ]
        )

    async def order(self, request: Request) -> Response:
        """`hold` or `release` the event stream."""
        if request.path_params["order"] == "hold":
            self._may_stream.clear()
        else:
            self._may_stream.set()
        return Response()

    async def pass_on(self, request: Request) -> Response:
        is_stream = request.url.path == SERVER.events
        if is_stream:
            await self._may_stream.wait()
        headers = [each for each in request.headers.items() if each[0] not in NOT_PASSED]
        target = f"{request.url.path}?{request.url.query}"
        call = self._client.build_request(
            request.method, target, content=await request.body(), headers=headers
        )
        answer = await self._client.send(call, stream=True)
        own = {name: text for name, text in answer.headers.items() if name not in NOT_PASSED}
        return StreamingResponse(self._body(answer, is_stream=is_stream), answer.status_code, own)

    async def _body(self, answer: httpx2.Response, *, is_stream: bool) -> AsyncIterator[bytes]:
        try:
            async for chunk in answer.aiter_raw():
                if is_stream and not self._may_stream.is_set():
                    return
                yield chunk
        finally:
            await answer.aclose()


def serve(url: str, file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = f"http://127.0.0.1:{listener.getsockname()[1]}"
        file.write_text(own)
        sys.stdout.write(f"opencode server listening on {own}\n")
        sys.stdout.flush()
        config = uvicorn.Config(Proxy(url).app(), log_level="critical")
        uvicorn.Server(config).run(sockets=[listener])


def tell(file: Path, order: str) -> None:
    """Give an order to the proxy whose address is in this file."""
    call = urllib.request.Request(f"{file.read_text()}/proxy/{order}", method="POST")
    with urllib.request.urlopen(call, timeout=30):
        pass


def main(file: Path, command: list[str]) -> None:
    if "serve" not in command:
        os.execv(command[0], command)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        lines = iter(agent.stdout.readline, b"")
        url = next(found for line in lines if (found := SERVER.address(line)))
        serve(url, file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
