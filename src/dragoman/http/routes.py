"""Every route, once: what it does, what it takes and gives. OpenAPI is made from the same table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import Scope

from dragoman.errors import (
    AgentNotInstalled,
    AgentProcessExited,
    AlreadyResolved,
    Conflict,
    DragomanError,
    InstallFailed,
    InternalError,
    InvalidRequest,
    KeyReused,
    ModeNotSupported,
    NotFound,
    PermissionDenied,
    SessionEnded,
    SessionExists,
    SessionNotFound,
    StorageFull,
    TokenInvalid,
    TooLarge,
    TooManyRequests,
    Unavailable,
    UnsupportedAgent,
    UnsupportedMediaType,
)
from dragoman.http import agents, sessions
from dragoman.http.contract import get_openapi, get_schema
from dragoman.http.events import Events, EventStream, TurnStream
from dragoman.runtime.sessions import ensure_id
from dragoman.schema import http as schema
from dragoman.schema.export import Header, Media, Operation

Endpoint = Callable[[Request], Awaitable[Response]] | Any

ANY: tuple[type[DragomanError], ...] = (TokenInvalid, PermissionDenied, InternalError)
"""What any request may get."""
_FIND = (InvalidRequest, SessionNotFound)
_BODY = (InvalidRequest, TooLarge, UnsupportedMediaType)
_CHANGE = (*_FIND, StorageFull, Unavailable)
_WRITE = (*_CHANGE, SessionEnded)
_KEY = Header(name="Idempotency-Key", description="The same key never sends twice.")
_MESSAGE_ID = Header(name="Dragoman-Message-Id", description="The id of the accepted message.")
_LAST_ID = Header(name="Last-Event-ID", description="Resume after this event; wins over offset.")


class Route(Struct, frozen=True):
    """An operation and who carries it out."""

    operation: Operation
    endpoint: Endpoint


def _route(
    method: Any, path: str, endpoint: Endpoint, name: str, summary: str, **more: Any
) -> Route:
    tag = path.split("/")[2].partition("{")[0]
    operation = Operation(method=method, path=path, name=name, summary=summary, tag=tag, **more)
    return Route(operation, endpoint)


_S = "/v1/sessions/{session_id}"

# The most used first: routes are tried in this order.
ROUTES: tuple[Route, ...] = (
    _route("get", f"{_S}/events/sse", EventStream(), "stream_events",
           "Replay a session's events after a position, then follow them live.",
           description="Each frame is `id: SEQUENCE` and `data: EVENT`. Comments keep a silent "
           "stream alive. The stream closes after `session.ended`.",
           query=schema.StreamQuery, request_headers=(_LAST_ID,), response=Media.EVENT_STREAM,
           other_responses={204: "The session has ended and everything was seen."},
           problems=_FIND),
    _route("get", f"{_S}/events", Events(), "get_events", "Read a page of a session's events.",
           description="Events with `sequence > offset`. Large events make a page shorter.",
           query=schema.EventQuery, response=schema.EventPage, problems=_FIND),
    _route("post", f"{_S}/messages", sessions.post_message, "send_message",
           "Accept a person's message, durably.",
           description="During a turn it waits, visibly, and is delivered in order, unless "
           "`delivery` says otherwise.",
           request_headers=(_KEY,), query=schema.MessageQuery, body=schema.Message, status=204,
           response_headers=(_MESSAGE_ID,),
           problems=(*_BODY, *_WRITE, Conflict, KeyReused, TooManyRequests)),
    _route("post", f"{_S}/messages/stream", TurnStream(), "stream_message",
           "Accept a message and stream its turn.",
           description="From the turn's start to its end; an approval is answered beside it. "
           "A reader that goes away does not interrupt the turn.",
           request_headers=(_KEY,), query=schema.TurnStreamQuery, body=schema.Message,
           response=Media.EVENT_STREAM, response_headers=(_MESSAGE_ID,),
           problems=(*_BODY, *_WRITE, Conflict, KeyReused, TooManyRequests)),
    _route("get", "/v1/sessions", sessions.list_sessions, "list_sessions",
           "List sessions, newest first.", query=schema.SessionQuery, response=schema.SessionList,
           problems=(InvalidRequest,)),
    _route("post", "/v1/sessions", sessions.create_session, "create_session",
           "Make a session; we choose its id.", body=schema.CreateSession, status=201,
           response=schema.Created,
           response_headers=(Header(name="Location", description="The session."),),
           problems=(*_BODY, UnsupportedAgent, ModeNotSupported, AgentNotInstalled,
                     InstallFailed, SessionNotFound, Conflict, TooManyRequests, StorageFull,
                     Unavailable)),
    _route("get", _S, sessions.get_session, "get_session", "Get one session.",
           response=schema.SessionInfo, problems=_FIND),
    _route("post", _S, sessions.create_named_session, "create_named_session",
           "Make a session; the client chooses its id.",
           description="An id once used is never free again.",
           body=schema.CreateSession, response=schema.Created,
           problems=(*_BODY, UnsupportedAgent, ModeNotSupported, AgentNotInstalled,
                     InstallFailed, SessionNotFound, SessionExists, Conflict, TooManyRequests,
                     StorageFull,
                     Unavailable)),
    _route("patch", _S, sessions.patch_session, "update_session",
           "Rename a session, or change how it works.", body=schema.PatchSession,
           response=schema.SessionInfo,
           problems=(*_BODY, *_WRITE, ModeNotSupported, AgentProcessExited)),
    _route("delete", _S, sessions.delete_session, "delete_session",
           "End a session and remove everything of it but its id.", status=204, problems=_CHANGE),
    _route("post", f"{_S}/terminate", sessions.terminate_session, "terminate_session",
           "End a session, its agent, and all that the agent started.", status=204,
           problems=(*_BODY, *_CHANGE)),
    _route("post", f"{_S}/interrupt", sessions.interrupt_session, "interrupt_turn",
           "End the running turn, not the session.", status=204,
           description="Without a turn nothing happens.",
           problems=(*_BODY, *_WRITE, AgentProcessExited)),
    _route("get", f"{_S}/pending", sessions.get_pending, "get_pending",
           "What waits: messages for the agent, requests for people.", response=schema.Pending,
           problems=_FIND),
    _route("delete", f"{_S}/pending/{{message_id}}", sessions.delete_pending, "cancel_message",
           "Take a waiting message back.", status=204, problems=(*_WRITE, NotFound, Conflict)),
    _route("post", f"{_S}/permissions/{{permission_id}}/reply", sessions.reply_permission,
           "reply_permission", "Give or refuse a permission.", status=204,
           description="The first answer wins; the same answer again is fine.",
           body=schema.ReplyPermission,
           problems=(*_BODY, *_WRITE, NotFound, AlreadyResolved, AgentProcessExited)),
    _route("post", f"{_S}/questions/{{question_id}}/reply", sessions.reply_question,
           "reply_question", "Answer a question.", status=204,
           description="One list of answers for each question.", body=schema.ReplyQuestion,
           problems=(*_BODY, *_WRITE, NotFound, AlreadyResolved, AgentProcessExited)),
    _route("post", f"{_S}/questions/{{question_id}}/reject", sessions.reject_question,
           "reject_question", "Refuse to answer a question.", status=204,
           problems=(*_BODY, *_WRITE, NotFound, AlreadyResolved, AgentProcessExited)),
    _route("get", "/v1/agents", agents.list_agents, "list_agents",
           "List the agents, as this machine has them.", response=schema.AgentList),
    _route("post", "/v1/agents/{agent}/install", agents.install_agent, "install_agent",
           "Install an agent from npm, at the version it is proven with.", status=204,
           description="Answers when it is done. What is installed already stays, unless "
           "`reinstall` is true. A session's create installs what it needs by itself.",
           body=schema.InstallAgent, body_required=False,
           problems=(*_BODY, UnsupportedAgent, InstallFailed, Unavailable)),
    _route("get", "/v1/agents/{agent}/modes", agents.list_modes, "list_modes",
           "List an agent's modes.", response=schema.ModeList, problems=(UnsupportedAgent,)),
    _route("get", "/v1/agents/{agent}/models", agents.list_models, "list_models",
           "List an agent's models, as the agent itself tells them.",
           description="What it tells is good for ten minutes; `refresh` asks it again. Where it "
           "cannot be asked, these are the models that are known of it.",
           query=schema.ModelQuery, response=schema.ModelList,
           problems=(InvalidRequest, UnsupportedAgent)),
    _route("get", "/v1/processes", agents.list_processes, "list_processes",
           "List the processes that run now: for whom, since when, their trees and cost.",
           response=schema.ProcessList),
    _route("get", "/v1/health", agents.get_health, "get_health", "Say that the daemon lives.",
           response=schema.Health, public=True),
    _route("get", "/v1/schema.json", get_schema, "get_schema", "The JSON Schema of an event.",
           response=Media.JSON_SCHEMA),
    _route("get", "/v1/openapi.json", get_openapi, "get_openapi", "This contract, as OpenAPI.",
           response=Media.JSON),
)  # fmt: skip


class _Strict(StarletteRoute):
    """A route that takes an id only as it can be."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a request. Raise InvalidRequest where a part of its path cannot be an id."""
        if b"%2f" in scope["raw_path"].lower():
            # Decoded, it would be taken for the end of the id that it is a part of.
            raise InvalidRequest("an id cannot hold a slash", field="path")
        match, found = super().matches(scope)
        if match is not Match.NONE and "session_id" in found["path_params"]:
            ensure_id(found["path_params"]["session_id"])
        return match, found


def starlette_routes() -> list[StarletteRoute]:
    """The table as Starlette wants it."""
    return [
        _Strict(route.operation.path, route.endpoint, methods=[route.operation.method.upper()])
        for route in ROUTES
    ]
