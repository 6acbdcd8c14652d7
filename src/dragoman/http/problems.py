"""Problem documents (`application/problem+json`): the one place that makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope, Send

from dragoman import errors, logs
from dragoman.errors import (
    DaemonError,
    DragomanError,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    NotInstallable,
    RangeNotSatisfiable,
    RequestError,
    StartRefused,
    StorageFull,
    TokenInvalid,
    TooLarge,
    TooManyRequests,
    Unavailable,
)
from dragoman.schema.http import Problem, to_json

MEDIA_TYPE = "application/problem+json"
LIMIT = "dragoman.limit"
"""Scope key: the setting that a request was refused for."""
_GROUPS = (DragomanError, RequestError, DaemonError)

PROBLEMS: tuple[type[DragomanError], ...] = tuple(
    error
    for error in vars(errors).values()
    if isinstance(error, type)
    and issubclass(error, DragomanError)
    and error not in (*_GROUPS, NotInstallable)
    and not issubclass(error, StartRefused)
)
"""Every error that can be answered, in the order of the tree."""


def type_of(error: DragomanError | type[DragomanError]) -> str:
    """Name an error by the URN that clients match on."""
    return f"urn:dragoman:error:{error.title.lower().replace(' ', '_')}"


def problem(error: DragomanError, instance: str | None) -> Problem:
    """Tell an error as a document; `instance` is the path that was asked for."""
    details = error.details
    if isinstance(error, InternalError) and (request_id := logs.request_id()):
        # The reason is in the log, under this id.
        details = {**details, "requestId": request_id}
    return Problem(
        type=type_of(error),
        title=error.title,
        status=error.status,
        detail=str(error) or None,
        instance=instance,
        agent=error.agent,
        session_id=error.session_id,
        details=details or None,
    )


def respond(
    error: DragomanError, instance: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with a problem document."""
    return Response(
        to_json(problem(error, instance)),
        status_code=error.status,
        headers={**headers_of(error), **(headers or {})},
        media_type=MEDIA_TYPE,
    )


async def send_problem(
    send: Send,
    error: DragomanError,
    instance: str | None = None,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Answer with a problem document where there is only ASGI."""
    body = to_json(problem(error, instance))
    start = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        *((name.encode(), value.encode()) for name, value in headers_of(error).items()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": error.status, "headers": start})
    await send({"type": "http.response.body", "body": body})


async def refuse(scope: Scope, send: Send, error: DragomanError) -> None:
    """Answer an ASGI request with what went wrong."""
    note_limit(scope, error)
    await send_problem(send, error, instance_of(scope))


def note_limit(scope: Scope, error: DragomanError) -> None:
    """Remember which limit a request was refused for, for those who count."""
    if isinstance(error, TooManyRequests):
        scope[LIMIT] = error.details.get("limit", "other")


def instance_of(scope: Scope) -> str:
    """Give the path of a request as a URI reference."""
    return quote(scope["path"])


def install(app: Starlette) -> None:
    """Make every error of the application a problem document."""
    app.add_exception_handler(DragomanError, _answer_ours)
    app.add_exception_handler(HTTPException, _answer_framework)
    app.add_exception_handler(Exception, _answer_defect)


def headers_of(error: DragomanError) -> dict[str, str]:
    """Give the headers that go with an error."""
    match error:
        case TokenInvalid():
            return {"www-authenticate": "Bearer"}
        case RangeNotSatisfiable():
            return {"content-range": f"bytes */{error.details['size']}"}
        case TooLarge():
            # The rest of the body is not read.
            return {"connection": "close"}
        case StorageFull() | Unavailable() | TooManyRequests():
            return {"retry-after": "1"}
        case _:
            return {}


async def _answer_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, DragomanError)
    note_limit(request.scope, error)
    return respond(error, instance_of(request.scope))


async def _answer_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == MethodNotAllowed.status:
        # The framework names the methods of the first route of this path only.
        headers["Allow"] = _allowed(request)
    translated = _translate(request, error, headers)
    return respond(translated, instance_of(request.scope), headers)


def _allowed(request: Request) -> str:
    methods: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return ", ".join(sorted(methods))


def _translate(request: Request, error: HTTPException, headers: Mapping[str, str]) -> DragomanError:
    if error.status_code == NotFound.status:
        return NotFound(f"there is nothing at {request.scope['path']!r}")
    if error.status_code == MethodNotAllowed.status:
        return MethodNotAllowed(
            f"{request.method} is not possible here; possible: {headers['Allow']}"
        )
    if error.status_code < InternalError.status:
        return InvalidRequest(error.detail)
    return _defect()


async def _answer_defect(request: Request, error: Exception) -> Response:
    # Not logged here: Starlette raises it again once this is sent, and the server logs it.
    return respond(_defect(), instance_of(request.scope))


def _defect() -> InternalError:
    return InternalError("this is a defect of the daemon; its log says more")
