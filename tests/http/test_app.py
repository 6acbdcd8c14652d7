"""The application under servers that are not ours: in process, and a plain uvicorn."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from dragoman.http.app import DragomanApp, create_app
from dragoman.settings import Settings
from dragoman.wire.sse import SseParser
from tests.cases.common import eventually
from tests.http import listening

TOKEN = "the-token-of-this-test"
AUTH = {"Authorization": f"Bearer {TOKEN}"}


def make(data_dir: Path) -> DragomanApp:
    files = data_dir.with_name("files")
    files.mkdir(parents=True, exist_ok=True)
    data_dir.mkdir(parents=True, exist_ok=True)
    settings = Settings(data_dir=str(data_dir), token=TOKEN, roots=(str(files),))
    return create_app(settings)


@asynccontextmanager
async def in_process(data_dir: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """The application without a socket; its lifespan is opened as a server would."""
    app = make(data_dir)
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.running(),
        httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:2468", headers=AUTH
        ) as client,
    ):
        yield client


def test_requests_are_answered_in_process(data_dir: Path) -> None:
    async def story() -> None:
        async with in_process(data_dir) as client:
            assert (await client.get("/v1/health")).json() == {"status": "ok"}
            refused = await client.get("/v1/sessions", headers={"Authorization": "Bearer wrong"})
            assert refused.status_code == 401
            assert refused.headers["content-type"] == "application/problem+json"
            directory = str(data_dir.with_name("files"))
            body = {"agent": "mock", "directory": directory}
            assert (await client.post("/v1/sessions/s", json=body)).status_code == 200
            page = (await client.get("/v1/sessions/s/events")).json()
            assert [event["type"] for event in page["events"]] == ["session.started"]
            assert (await client.post("/v1/sessions/s/terminate")).status_code == 204
            stream = await client.get("/v1/sessions/s/events/sse")
            assert [event["type"] for event in events_in(stream.content)] == [
                "session.started",
                "session.ended",
            ]
            assert (await client.get("/v1/status")).json()["limits"]["maxStreams"]["used"] == 0
            assert (await client.get("/v1/nothing")).status_code == 404

    asyncio.run(story())


def test_without_its_lifespan_a_request_is_told_what_is_missing(data_dir: Path) -> None:
    async def story() -> None:
        transport = httpx2.ASGITransport(app=make(data_dir))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:2468", headers=AUTH
        ) as client:
            for path in ("/v1/sessions", "/v1/sessions/s/events"):
                answer = await client.get(path)
                assert answer.status_code == 503
                assert "lifespan" in answer.json()["detail"]

    asyncio.run(story())


def events_in(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(data) for _, data in SseParser().feed(body)]


@contextmanager
def plain_uvicorn(app: DragomanApp, listener: socket.socket) -> Iterator[None]:
    """Uvicorn as anybody starts it, with its own protocol and the application's lifespan."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        eventually(lambda: server.started, "it serves")
        yield
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def served(data_dir: Path) -> Iterator[tuple[DragomanApp, httpx2.Client]]:
    app = make(data_dir)
    with (
        listening() as (listener, port),
        plain_uvicorn(app, listener),
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=AUTH, timeout=30) as client,
    ):
        body = {"agent": "mock", "directory": str(data_dir.with_name("files"))}
        assert client.post("/v1/sessions/s", json=body).status_code == 200
        yield app, client


def test_a_turn_streams_under_any_server(served: tuple[DragomanApp, httpx2.Client]) -> None:
    _, client = served
    path = "/v1/sessions/s/messages/stream"
    with client.stream("POST", path, json={"message": "echo hello"}) as stream:
        types = [event["type"] for event in events_in(b"".join(stream.iter_bytes()))]
    assert (types[0], types[-1]) == ("turn.started", "turn.ended")
    found = client.get("/v1/sessions/s/events").json()["events"]
    assert "hello" in json.dumps(found)


def test_a_reader_that_goes_is_noticed_under_any_server(
    served: tuple[DragomanApp, httpx2.Client],
) -> None:
    app, client = served
    with client.stream("GET", "/v1/sessions/s/events/sse") as stream:
        pieces = stream.iter_bytes()
        next(pieces)
        assert app.connection_limits.streams == 1
    eventually(lambda: app.connection_limits.streams == 0, "the stream is over")


def test_a_revoked_token_ends_a_stream_under_any_server(
    served: tuple[DragomanApp, httpx2.Client],
) -> None:
    _, client = served
    made = client.post("/v1/tokens", json={"name": "phone", "scopes": ["read"]}).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    with client.stream("GET", "/v1/sessions/s/events/sse", headers=headers) as stream:
        pieces = stream.iter_bytes()
        next(pieces)
        assert client.delete("/v1/tokens/phone").status_code == 204
        with pytest.raises(httpx2.RemoteProtocolError):
            list(pieces)
