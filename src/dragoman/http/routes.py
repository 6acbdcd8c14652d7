"""The table of routes, from which routing, OpenAPI and the reference are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import Message, Receive, Scope, Send

from dragoman.errors import (
    AgentNotInstalled,
    AgentProcessExited,
    AlreadyResolved,
    Conflict,
    DragomanError,
    HistoryDiverged,
    InstallFailed,
    InternalError,
    InvalidRequest,
    KeyReused,
    ModeNotSupported,
    NotFound,
    PermissionDenied,
    RangeNotSatisfiable,
    SessionEndedError,
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
from dragoman.http import agents, files, sessions, webhooks
from dragoman.http.agui import AguiSessionStream
from dragoman.http.all_events import AllEventsStream
from dragoman.http.auth import handlers
from dragoman.http.connection import connection_of
from dragoman.http.context import limits_of
from dragoman.http.events import EventStream, PageEndpoint, TurnStream
from dragoman.http.metrics import get_metrics
from dragoman.http.openapi import get_openapi, get_schema
from dragoman.http.request_log import ROUTE
from dragoman.http.status import get_status
from dragoman.runtime.session.manager import ensure_id
from dragoman.schema import access as access_schema
from dragoman.schema import event_filter as feed_schema
from dragoman.schema import files as files_schema
from dragoman.schema import http as schema
from dragoman.schema import status as status_schema
from dragoman.schema import webhooks as webhook_schema
from dragoman.schema.export import Header, Media, Operation

Endpoint = Callable[[Request], Awaitable[Response]] | Any

ANY: tuple[type[DragomanError], ...] = (TokenInvalid, PermissionDenied, InternalError)
"""What any request may get."""
_FIND = (InvalidRequest, SessionNotFound)
_BODY = (InvalidRequest, TooLarge, UnsupportedMediaType)
_CHANGE = (*_FIND, StorageFull, Unavailable)
_WRITE = (*_CHANGE, SessionEndedError)
_SMALL = 64 * 1024
"""The largest body where only a few words are expected."""
_KEY = Header(name="Idempotency-Key", description="The same key never sends twice.")
_CREATE_KEY = Header(name="Idempotency-Key", description="The same key never makes two.")
_MESSAGE_ID = Header(name="Dragoman-Message-Id", description="The id of the accepted message.")
_LAST_CURSOR = Header(name="Last-Event-ID", description="Resume after this; wins over cursor.")
_LAST_ID = Header(name="Last-Event-ID", description="Resume after this event; wins over offset.")
_LAST_FRAME = Header(name="Last-Event-ID", description="Resume after this frame.")
_AFTER_CHAIN = Header(
    name="Dragoman-After-Chain",
    description="The link of the event that this resumes after, as `after_chain` in the query.",
)

_PATH = (InvalidRequest, SessionNotFound, NotFound, Unavailable)
_PART = (
    Header(name="Range", description="One range of bytes."),
    Header(name="If-Range", description="The `ETag` or `Last-Modified` that the range is of."),
    Header(name="If-None-Match", description="An `ETag` that is known."),
    Header(name="If-Modified-Since", description="A `Last-Modified` that is known."),
)
_VERSION = (
    Header(name="ETag", description="Another one for other content."),
    Header(name="Last-Modified", description="When the file was written."),
)
_OTHER = {206: "The part of the file that was asked for.", 304: "It is as it was."}


class Route(Struct, frozen=True):
    """An operation and who carries it out."""

    operation: Operation
    endpoint: Endpoint


def _route(
    method: Any, path: str, endpoint: Endpoint, name: str, summary: str, **more: Any
) -> Route:
    tag = path.removeprefix("/v1").split("/")[1]
    more.setdefault("scope", "read" if method == "get" else "write")
    operation = Operation(method=method, path=path, name=name, summary=summary, tag=tag, **more)
    return Route(operation, endpoint)


_S = "/v1/sessions/{session_id}"

# The most used first: routes are tried in this order.
ROUTES: tuple[Route, ...] = (
    _route("get", f"{_S}/events/sse", EventStream(), "stream_events",
           "Replay a session's events after a position, then follow them live.",
           description="Each frame is `id: SEQUENCE` and `data: EVENT`. Comments keep a silent "
           "stream alive, and tell links of the hash chain, as `: chain SEQUENCE LINK`. The "
           "stream closes after `session.ended`.",
           query=schema.StreamQuery, request_headers=(_LAST_ID, _AFTER_CHAIN),
           response=Media.EVENT_STREAM,
           other_responses={204: "The session has ended and everything was seen."},
           problems=(*_FIND, HistoryDiverged)),
    _route("get", f"{_S}/events", PageEndpoint(), "get_events",
           "Read a page of a session's events.",
           description="Events with `sequence > offset`. Large events make a page shorter.",
           query=schema.EventQuery, request_headers=(_AFTER_CHAIN,), response=schema.EventPage,
           problems=(*_FIND, HistoryDiverged)),
    _route("post", f"{_S}/messages", sessions.post_message, "send_message",
           "Accept a person's message, durably.",
           description="During a turn it waits, visibly, and is delivered in order, unless "
           "`delivery` says otherwise.",
           request_headers=(_KEY,), query=schema.MessageQuery, body=schema.Message, status=204,
           response_headers=(_MESSAGE_ID,),
           problems=(*_BODY, *_WRITE, UnsupportedAgent, Conflict, KeyReused, TooManyRequests)),
    _route("post", f"{_S}/messages/stream", TurnStream(), "stream_message",
           "Accept a message and stream its turn.",
           description="From the turn's start to its end; an approval is answered beside it. "
           "A reader that goes away does not interrupt the turn.",
           request_headers=(_KEY,), query=schema.TurnStreamQuery, body=schema.Message,
           response=Media.EVENT_STREAM, response_headers=(_MESSAGE_ID,),
           problems=(*_BODY, *_WRITE, UnsupportedAgent, Conflict, KeyReused, TooManyRequests)),
    _route("get", f"{_S}/agui", AguiSessionStream(), "stream_agui",
           "Replay a session as AG-UI 1.0, then follow it live.",
           description="Every turn is a run; what asks a person ends its run with an interrupt, "
           "and another run goes on with the turn when that is answered. Each frame has an `id`. "
           "The stream closes after the end of the session.",
           query=schema.AguiQuery, request_headers=(_LAST_FRAME,), response=Media.EVENT_STREAM,
           other_responses={204: "The session has ended and everything was seen."},
           problems=_FIND),
    _route("get", "/v1/events/sse", AllEventsStream(), "stream_all_events",
           "Follow the events of all sessions, in the order in which they were committed.",
           description="Each frame is `id: CURSOR` and `data: EVENT`; a frame of an `id` alone "
           "says how far the stream is. Begins now, unless a cursor is given; 0 begins with the "
           "first event there is. Ends with the daemon only.",
           query=feed_schema.FeedQuery, request_headers=(_LAST_CURSOR,),
           response=Media.EVENT_STREAM,
           problems=(InvalidRequest, UnsupportedAgent, Unavailable)),
    _route("get", "/v1/sessions", sessions.list_sessions, "list_sessions",
           "List sessions, newest first.", query=schema.SessionQuery, response=schema.SessionList,
           problems=(InvalidRequest,)),
    _route("post", "/v1/sessions", sessions.create_session, "create_session",
           "Make a session; we choose its id.", request_headers=(_CREATE_KEY,),
           body=schema.CreateSession, status=201, response=schema.Created,
           response_headers=(Header(name="Location", description="The session."),),
           problems=(*_BODY, UnsupportedAgent, ModeNotSupported, AgentNotInstalled,
                     InstallFailed, SessionNotFound, Conflict, KeyReused, TooManyRequests,
                     StorageFull, Unavailable)),
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
           problems=(*_BODY, *_WRITE, UnsupportedAgent, ModeNotSupported, AgentProcessExited)),
    _route("delete", _S, sessions.delete_session, "delete_session",
           "End a session and remove everything of it but its id.", query=schema.DeleteQuery,
           status=204, problems=(*_CHANGE, Conflict)),
    _route("post", f"{_S}/terminate", sessions.terminate_session, "terminate_session",
           "End a session, its agent, and all that the agent started.", status=204,
           max_body_bytes=_SMALL,
           problems=(*_BODY, *_CHANGE)),
    _route("post", f"{_S}/interrupt", sessions.interrupt_session, "interrupt_turn",
           "End the running turn, not the session.", status=204, max_body_bytes=_SMALL,
           description="Without a turn nothing happens.",
           problems=(*_BODY, *_WRITE, AgentProcessExited)),
    _route("get", f"{_S}/pending", sessions.get_pending, "get_pending",
           "What waits: messages for the agent, requests for people.", response=schema.Pending,
           problems=_FIND),
    _route("delete", f"{_S}/pending/{{message_id}}", sessions.delete_pending, "cancel_message",
           "Take a waiting message back.", status=204, problems=(*_WRITE, NotFound, Conflict)),
    _route("post", f"{_S}/permissions/{{permission_id}}/reply", sessions.reply_permission,
           "reply_permission", "Give or refuse a permission.", status=204, scope="approve",
           description="The first answer wins; the same answer again is fine.",
           body=schema.ReplyPermission,
           problems=(*_BODY, *_WRITE, NotFound, AlreadyResolved, AgentProcessExited)),
    _route("post", f"{_S}/questions/{{question_id}}/reply", sessions.reply_question,
           "reply_question", "Answer a question.", status=204, scope="approve",
           description="One list of answers for each question.", body=schema.ReplyQuestion,
           problems=(*_BODY, *_WRITE, NotFound, AlreadyResolved, AgentProcessExited)),
    _route("post", f"{_S}/questions/{{question_id}}/reject", sessions.reject_question,
           "reject_question", "Refuse to answer a question.", status=204, scope="approve",
           max_body_bytes=_SMALL,
           problems=(*_BODY, *_WRITE, NotFound, AlreadyResolved, AgentProcessExited)),
    _route("get", f"{_S}/diff", sessions.get_diff, "get_diff",
           "What has changed in a session's directory since the session found it, as a patch.",
           description="With `turn`, what has changed in that turn, as its `turn.diff` says. That "
           "of a session that has ended is up to the end of its last turn that changed anything. "
           "The patch can be applied with `git apply`; files whose diffs have no room in it, and "
           "binary ones, are only named.",
           query=schema.DiffQuery, response=schema.SessionDiff,
           problems=(*_FIND, NotFound, Unavailable)),
    _route("get", f"{_S}/files/{{name}}", files.read_stored_file, "get_session_file",
           "Fetch an image or another file that a session's events name.",
           description="`name` is the last part of the `path` in the event. PNG, JPEG, GIF and "
           "WebP come as what they are, anything else as bytes to be saved.",
           request_headers=_PART, response=Media.IMAGE, response_headers=_VERSION,
           other_responses=_OTHER, problems=(*_FIND, NotFound, RangeNotSatisfiable)),
    _route("get", "/v1/fs/entries", files.list_entries, "list_entries", "List a folder, by name.",
           query=files_schema.FolderQuery, response=files_schema.FsEntry, is_list=True,
           problems=_PATH),
    _route("get", "/v1/fs/file", files.read_file, "read_file", "Fetch a file, or a part of it.",
           query=files_schema.PathQuery, request_headers=_PART, response=Media.BYTES,
           response_headers=_VERSION, other_responses=_OTHER,
           problems=(*_PATH, RangeNotSatisfiable)),
    _route("put", "/v1/fs/file", files.write_file, "write_file",
           "Write a file, and the folders above it.",
           description="It is in its place when all of it has come, and not before. One that is "
           "there is replaced and keeps its mode.",
           query=files_schema.PathQuery, body=Media.BYTES, response=files_schema.FsWritten,
           problems=(*_PATH, Conflict, TooLarge, StorageFull)),
    _route("delete", "/v1/fs/entry", files.remove_entry, "remove_entry",
           "Remove a file, a link or a folder.", query=files_schema.RemoveQuery,
           response=files_schema.FsDone, problems=(*_PATH, Conflict)),
    _route("post", "/v1/fs/mkdir", files.make_folder, "make_folder",
           "Make a folder, and those above it.", description="One that is there is fine.",
           query=files_schema.PathQuery, response=files_schema.FsDone,
           problems=(*_BODY, *_PATH, Conflict, StorageFull)),
    _route("post", "/v1/fs/move", files.move_entry, "move_entry",
           "Move or rename a file, a link or a folder.",
           description="The folders above the new place are made.",
           query=files_schema.MoveQuery, body=files_schema.FsMove, response=files_schema.FsMoved,
           problems=(*_BODY, *_PATH, Conflict, StorageFull)),
    _route("get", "/v1/fs/stat", files.get_stat, "get_stat", "Look at one entry.",
           query=files_schema.PathQuery, response=files_schema.FsStat, problems=_PATH),
    _route("post", "/v1/fs/upload-batch", files.upload_batch, "upload_batch",
           "Unpack a tar archive into a folder.",
           description="It may be compressed with gzip. All of it is refused, or all is put in "
           "its place once it has come; files that are there are replaced.",
           query=files_schema.FolderQuery, body=Media.TAR, response=files_schema.FsUnpacked,
           problems=(*_BODY, *_PATH, Conflict, StorageFull)),
    _route("get", "/v1/agents", agents.list_agents, "list_agents",
           "List the agents, as this machine has them.", response=schema.AgentList),
    _route("post", "/v1/agents", agents.add_agent, "add_agent",
           "Add an agent that speaks ACP: how it is called, and how it is started.",
           description="It is there at once, and after a restart. Its sessions run the command as "
           "the daemon's user: whoever may add agents may run anything. An id that is taken gets "
           "409. Values of `env` are never returned.",
           scope="admin", max_body_bytes=_SMALL, body=schema.AddAgent, status=201,
           response=schema.AgentInfo, problems=(*_BODY, Conflict, StorageFull)),
    _route("delete", "/v1/agents/{agent}", agents.remove_agent, "remove_agent",
           "Remove an agent that was added over HTTP.",
           description="A turn that runs goes on to its end; then its process ends. Its sessions "
           "can be read, ended and deleted, and go on when it is added again. Others cannot be "
           "removed so: 409.",
           scope="admin", status=204, problems=(NotFound, Conflict, StorageFull)),
    _route("post", "/v1/agents/{agent}/install", agents.install_agent, "install_agent",
           "Install an agent from npm, at the version it is proven with.", status=204,
           scope="admin", max_body_bytes=_SMALL,
           description="Answers when it is done. What is installed already stays, unless "
           "`reinstall` is true. A session's create installs what it needs by itself.",
           body=schema.InstallAgent, body_required=False,
           problems=(*_BODY, UnsupportedAgent, InstallFailed, Unavailable)),
    _route("get", "/v1/agents/{agent}/modes", agents.list_modes, "list_modes",
           "List an agent's modes, with those that people have made where it has such.",
           description="An agent that has such is asked, as for its models; those of a project's "
           "own folder are not listed, and can be used in it.",
           query=schema.ListingQuery, response=schema.ModeList,
           problems=(InvalidRequest, UnsupportedAgent)),
    _route("get", "/v1/agents/{agent}/models", agents.list_models, "list_models",
           "List an agent's models, as the agent itself tells them.",
           description="What it tells is good for ten minutes; `refresh` asks it again. Where it "
           "cannot be asked, these are the models that are known of it.",
           query=schema.ListingQuery, response=schema.ModelList,
           problems=(InvalidRequest, UnsupportedAgent)),
    _route("get", "/v1/processes", agents.list_processes, "list_processes",
           "List the processes that run now: for whom, since when, their trees and cost.",
           response=schema.ProcessList),
    _route("get", "/v1/hooks", webhooks.list_webhooks, "list_webhooks",
           "List the webhooks, without their secrets, and how each does.",
           scope="admin", response=webhook_schema.WebhookList),
    _route("post", "/v1/hooks", webhooks.add_webhook, "add_webhook",
           "Send events to a URL: all sessions' from now on, each signed, in order.",
           description="This answer alone shows the secret. An event is sent until the receiver "
           "answers 2xx, and only then the next one. At most 50 can be there (409).",
           scope="admin", max_body_bytes=_SMALL, body=webhook_schema.AddWebhook, status=201,
           response=webhook_schema.AddedWebhook,
           response_headers=(Header(name="Location", description="The webhook."),),
           problems=(*_BODY, Conflict, StorageFull)),
    _route("get", "/v1/hooks/{hook_id}", webhooks.get_webhook, "get_webhook",
           "Get one webhook, and how it does.", scope="admin",
           response=webhook_schema.WebhookInfo, problems=(NotFound,)),
    _route("patch", "/v1/hooks/{hook_id}", webhooks.update_webhook, "update_webhook",
           "Change where events are sent, which, or whether.",
           description="It goes on from where it is, at once. A request that is under way is given "
           "up, and its event is sent again.",
           scope="admin", max_body_bytes=_SMALL, body=webhook_schema.PatchWebhook,
           response=webhook_schema.WebhookInfo, problems=(*_BODY, NotFound, StorageFull)),
    _route("delete", "/v1/hooks/{hook_id}", webhooks.remove_webhook, "remove_webhook",
           "Send nothing more to a receiver.", scope="admin", status=204,
           problems=(NotFound, StorageFull)),
    _route("post", "/v1/hooks/{hook_id}/test", webhooks.test_webhook, "test_webhook",
           "Send a signed request that is no event, now, and tell what the receiver answered.",
           description="Also where the webhook is disabled, or waits to try again; if the receiver "
           "takes it, what waits is tried again at once.",
           scope="admin", max_body_bytes=_SMALL, response=webhook_schema.WebhookTest,
           problems=(*_BODY, NotFound)),
    _route("get", "/v1/tokens", handlers.list_tokens, "list_tokens",
           "List the tokens, without their secrets.",
           description="The daemon's own token is not among them.",
           scope="admin", response=access_schema.TokenList),
    _route("post", "/v1/tokens", handlers.create_token, "create_token",
           "Make a token; this answer alone shows it.", scope="admin",
           body=access_schema.CreateToken, status=201, response=access_schema.CreatedToken,
           problems=(*_BODY, Conflict, StorageFull)),
    _route("delete", "/v1/tokens/{name}", handlers.revoke_token, "revoke_token",
           "Make a token good for nothing, at once.",
           description="Streams that were opened with it end.", scope="admin", status=204,
           problems=(NotFound, StorageFull)),
    _route("post", "/v1/tickets", handlers.create_ticket, "create_ticket",
           "Make a ticket that lets a browser in, once, with the caller's own rights.",
           scope="read", status=201, response=access_schema.Ticket, problems=_BODY),
    _route("post", "/v1/login", handlers.login, "login", "Swap a ticket for a cookie.",
           description="The cookie is `HttpOnly` and `SameSite=Strict`. It outlives the daemon, "
           "and is forgotten when it is not used for a week.",
           public=True, body=access_schema.Login, status=204,
           response_headers=(Header(name="Set-Cookie", description="The cookie."),),
           problems=(*_BODY, TokenInvalid)),
    _route("post", "/v1/logout", handlers.logout, "logout",
           "Forget the cookie that this comes with.", description="Streams that it opened end.",
           scope="read", status=204, problems=_BODY),
    _route("get", "/v1/status", get_status, "get_status",
           "How the daemon does: its store, sessions, agents and limits.",
           response=status_schema.DaemonStatus),
    _route("get", "/metrics", get_metrics, "get_metrics", "Metrics, for Prometheus.",
           description="With the setting `open_metrics` it needs no token.",
           response=Media.TEXT),
    _route("get", "/v1/health", agents.get_health, "get_health", "Say that the daemon lives.",
           response=schema.Health, public=True),
    _route("get", "/v1/schema.json", get_schema, "get_schema", "The JSON Schema of an event.",
           response=Media.JSON_SCHEMA),
    _route("get", "/v1/openapi.json", get_openapi, "get_openapi", "This contract, as OpenAPI.",
           response=Media.JSON),
)  # fmt: skip


class _Strict(StarletteRoute):
    """A route as its operation says: who may, how much, and an id only as it can be."""

    def __init__(self, route: Route) -> None:
        operation = route.operation
        super().__init__(operation.path, route.endpoint, methods=[operation.method.upper()])
        self._operation = operation

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a request. Raise InvalidRequest where a part of its path cannot be an id."""
        if b"%2f" in scope["raw_path"].lower():
            # Decoded, it would be taken for the end of the id that it is a part of.
            raise InvalidRequest("an id cannot hold a slash", field="path")
        match, found = super().matches(scope)
        if match is not Match.NONE:
            found[ROUTE] = self.path
        if match is not Match.NONE and "session_id" in found["path_params"]:
            ensure_id(found["path_params"]["session_id"])
        return match, found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry a request out. Raise PermissionDenied or Unavailable before it is begun."""
        if scope["method"] not in (self.methods or ()):
            return await super().handle(scope, receive, send)
        operation = self._operation
        if not operation.public:
            await handlers.ensure_scope(scope, operation.scope)
        if operation.max_body_bytes is not None:
            receive = _bounded(receive, operation.max_body_bytes)
        if operation.response is not Media.EVENT_STREAM:
            return await super().handle(scope, receive, send)
        with limits_of(scope).streaming(connection_of(scope)):
            return await super().handle(scope, receive, send)


def _bounded(receive: Receive, most: int) -> Receive:
    """The same body, up to a size."""
    size = 0

    async def receive_some() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise TooLarge(f"the body is larger than {most} bytes")
        return message

    return receive_some


def starlette_routes() -> list[StarletteRoute]:
    """The table as Starlette wants it."""
    return [_Strict(route) for route in ROUTES]
