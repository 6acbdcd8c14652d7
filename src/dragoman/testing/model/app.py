"""The scripted model's HTTP surface: which request is which dialect."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dragoman.testing.model import amp
from dragoman.testing.model.chat import CHAT
from dragoman.testing.model.frames import Dialect, Event
from dragoman.testing.model.messages import MESSAGES
from dragoman.testing.model.play import Gates, Play
from dragoman.testing.model.requests import ModelRequest, Unreadable, decoded, is_side
from dragoman.testing.model.responses import RESPONSES
from dragoman.testing.model.state import ModelState
from dragoman.testing.model.steps import HttpError, Usage

DIALECTS = {"/messages": MESSAGES, "/responses": RESPONSES, "/chat/completions": CHAT}
MODEL: Event = {
    "id": "scripted",
    "object": "model",
    "type": "model",
    "display_name": "Scripted",
    "created": 0,
    "created_at": "1970-01-01T00:00:00Z",
    "owned_by": "dragoman",
}
MODELS: Event = {"object": "list", "data": [MODEL], "has_more": False}


class App:
    """Answers requests, as ASGI."""

    def __init__(
        self, state: ModelState, gates: Gates, threads: amp.Threads, side: tuple[str, ...]
    ) -> None:
        self._side = side
        self._state = state
        self._gates = gates
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        http = HttpRequest(scope, receive)
        headers = dict(http.headers)
        request = ModelRequest(http.method, scope["path"], headers, query=http.url.query)
        dialect = _dialect(request)
        try:
            request.body = decoded(await http.body(), headers.get("content-encoding", ""))
        except ClientDisconnect:
            return
        except Unreadable as error:
            status, answer = _refusal(dialect or MESSAGES, 400, str(error))
        else:
            if dialect is not None:
                request.is_main = not is_side(request, self._side)
                step = self._state.take(request)
                await Play(self._state, self._gates, dialect, request, step).run(
                    scope, receive, send
                )
                return
            if request.path.startswith(amp.PATHS):
                await _json(*self._threads.answer(request))(scope, receive, send)
                return
            status, answer = _aside(request)
        self._state.record(request)
        await _json(status, answer)(scope, receive, send)
        self._state.finish(request, "answered")


def _dialect(request: ModelRequest) -> Dialect | None:
    if request.method != "POST":
        return None
    path = request.path.rstrip("/")
    return next((found for end, found in DIALECTS.items() if path.endswith(end)), None)


def _aside(request: ModelRequest) -> tuple[int, Event]:
    above, _, name = request.path.rstrip("/").rpartition("/")
    if request.headers.get("upgrade", "").lower() == "websocket":
        return _refusal(MESSAGES, 426, "there are no web sockets here")
    match request.method:
        case "HEAD":
            return 200, {}
        case "GET" if name == "models":
            return 200, MODELS
        case "GET" if above.endswith("/models"):
            return 200, {**MODEL, "id": name}
        case "POST" if name == "count_tokens":
            return 200, {"input_tokens": Usage().input}
    return _refusal(MESSAGES, 404, f"there is no {request.method} {request.path} here")


def _json(status: int, answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), status, media_type="application/json")


def _refusal(dialect: Dialect, status: int, message: str) -> tuple[int, Event]:
    return status, dialect.error(HttpError(status=status, message=message))
