"""A real HTTP server with canned answers, for what speaks to the daemon."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from dragoman.schema.events import (
    Body,
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    SessionEnded,
    TurnEnded,
    TurnStarted,
    encode,
)
from dragoman.schema.http import AgentCapabilities
from dragoman.schema.items import Item, Text

TOKEN = "s3cret-token"


@dataclass
class Answer:
    """One response; `frames` make it an event stream."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    frames: tuple[bytes, ...] = ()
    stream: bool = False
    then: str = "end"
    """How a stream goes on after its frames: it ends, is cut, or is held open."""


@dataclass
class Seen:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        """The body."""
        return msgspec.json.decode(self.content)


class Canned:
    """Answers each path in the order it was told to; the last answer stays."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self._answers: dict[tuple[str, str], list[Answer]] = {}

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """Set the answers of a path."""
        self._answers[method, path] = list(answers)

    def problem(self, method: str, path: str, status: int, title: str, **more: Any) -> None:
        """Answer a path with a problem document."""
        name = title.lower().replace(" ", "_")
        body = {"type": f"urn:dragoman:error:{name}", "title": title, "status": status, **more}
        self.on(method, path, Answer(status, body))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self.seen.append(await _read(scope, receive))
        answers = self._answers.get((scope["method"], scope["raw_path"].decode()))
        answer = Answer(404, {"type": "x", "title": "Not Found", "status": 404})
        if answers:
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        headers = {
            "content-type": "text/event-stream" if answer.stream else "application/json",
            **answer.headers,
        }
        start: Message = {"type": "http.response.start", "status": answer.status}
        start["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send(start)
        if answer.stream:
            await _stream(answer, receive, send)
        else:
            body = answer.body
            content = body if isinstance(body, bytes) else msgspec.json.encode(body)
            content = b"" if answer.status == 204 else content
            await send({"type": "http.response.body", "body": content})


async def _read(scope: Scope, receive: Receive) -> Seen:
    content = b""
    while True:
        message = await receive()
        content += message.get("body", b"")
        if not message.get("more_body"):
            break
    return Seen(
        method=scope["method"],
        path=scope["raw_path"].decode(),
        query=dict(parse_qsl(scope["query_string"].decode())),
        headers={name.decode(): value.decode() for name, value in scope["headers"]},
        content=content,
    )


async def _stream(answer: Answer, receive: Receive, send: Send) -> None:
    for frame in answer.frames:
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    if answer.then == "hold":
        while (await receive())["type"] != "http.disconnect":
            continue
    if answer.then == "end":
        await send({"type": "http.response.body", "body": b""})
    # Else it returns without an end, and the server cuts the connection.


@contextmanager
def serving() -> Iterator[Canned]:
    """A canned daemon on a free port."""
    canned = Canned()
    # An address of its own: another test's reader may look for a daemon that had this port.
    listener = socket.create_server(("127.0.0.2", 0))
    canned.url = f"http://127.0.0.2:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        canned, lifespan="off", ws="none", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield canned
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def stream(*bodies: bytes, then: str = "end") -> Answer:
    """An event stream of these frames."""
    return Answer(stream=True, frames=bodies, then=then)


def frame(event: Event) -> bytes:
    """An event as the daemon frames it."""
    return b"id: %d\ndata: %s\n\n" % (event.sequence, encode(event))


def event(sequence: int, body: Body, session: str = "s1") -> Event:
    """An event with this body."""
    return Event(
        event_id=f"evt_{sequence}",
        sequence=sequence,
        time="2026-01-02T03:04:05.678Z",
        session_id=session,
        synthetic=False,
        source="agent",
        type=body.type,
        data=body,
    )


def delta(sequence: int, text: str, item_id: str = "itm_1") -> Event:
    """A piece of an assistant's message."""
    return event(sequence, ItemDelta(item_id=item_id, delta=text))


def turn(*texts: str, first: int = 1) -> list[Event]:
    """A whole turn in which an assistant says these texts."""
    message = Item(
        item_id="itm_1", kind="message", role="assistant", content=(), status="in_progress"
    )
    whole = msgspec.structs.replace(
        message, content=(Text(text="".join(texts)),), status="completed"
    )
    bodies: list[Body] = [
        TurnStarted(turn_id="turn_1"),
        ItemStarted(item=message),
        *(ItemDelta(item_id="itm_1", delta=text) for text in texts),
        ItemCompleted(item=whole),
        TurnEnded(turn_id="turn_1", outcome="completed"),
    ]
    return [event(first + number, body) for number, body in enumerate(bodies)]


def ended(sequence: int) -> Event:
    """The last event."""
    return event(sequence, SessionEnded(reason="completed", terminated_by="agent"))


def agent_info(agent: str, name: str, **more: Any) -> dict[str, Any]:
    """An agent as the daemon lists it."""
    names = {field.encode_name for field in msgspec.structs.fields(AgentCapabilities)}
    flags = dict.fromkeys(sorted(names - {"stability", "features"}), True)
    return {
        "id": agent,
        "name": name,
        "installed": True,
        "credentialsAvailable": True,
        "capabilities": {**flags, "stability": "stable", "features": {}},
        **more,
    }


def session_info(session_id: str = "s1", **more: Any) -> dict[str, Any]:
    """A session as the daemon lists it."""
    return {
        "sessionId": session_id,
        "agent": "mock",
        "agentMode": "build",
        "permissionMode": "default",
        "ended": False,
        "eventCount": 3,
        "createdAt": 1_700_000_000_000,
        "updatedAt": 1_700_000_000_000,
        "status": "idle",
        "pendingCount": 0,
        **more,
    }
