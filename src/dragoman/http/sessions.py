"""Handlers for sessions, messages, permissions and questions."""

from __future__ import annotations

import asyncio
import hashlib

from starlette.requests import Request
from starlette.responses import Response

from dragoman.errors import InvalidRequest, KeyReused, SessionExists
from dragoman.http import parse
from dragoman.http.auth.handlers import ensure_scope
from dragoman.http.auth.middleware import CALLER
from dragoman.http.context import Daemon, daemon_of
from dragoman.http.responses import answer, nothing, session_info
from dragoman.schema import http as schema
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Approver
from dragoman.settings import Settings
from dragoman.store import SessionFilter, SessionRow
from dragoman.store.ids import new_id

MAX_KEY = 255


async def list_sessions(request: Request) -> Response:
    """List sessions, newest first."""
    wanted = parse.query(schema.SessionQuery, request.scope["query_string"])
    before = _cursor(wanted.cursor)
    limit = None if wanted.limit is None else wanted.limit + 1
    daemon = daemon_of(request.scope)
    starting = daemon.sessions.starting()
    rows = await daemon.store.sessions(
        SessionFilter(
            agent=wanted.agent,
            status=wanted.status,
            starting=starting,
            text=wanted.q,
            before=before,
            limit=limit,
        )
    )
    # Off the loop: there may be thousands, and others wait.
    settings = daemon_of(request.scope).settings
    return await asyncio.to_thread(_listed, rows, starting, wanted.limit, settings)


def _listed(
    rows: list[SessionRow], starting: frozenset[str], limit: int | None, settings: Settings
) -> Response:
    """A page of sessions; one row beyond its limit says that there is more."""
    more = limit is not None and len(rows) > limit
    rows = rows[:limit]
    return answer(
        schema.SessionList(
            sessions=tuple(session_info(row, starting, settings) for row in rows),
            next_cursor=str(rows[-1].position) if more else None,
        )
    )


def _cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    position = parse.number(cursor)
    if position is None:
        raise InvalidRequest("cursor must be a nextCursor of this list", field="cursor")
    return position


async def create_session(request: Request) -> Response:
    """Make a session under an id that we choose, once for its key."""
    key = idempotency_key(request)
    if key is None:
        row = await _create(request, new_id("sess"))
    else:
        row = await _create_once(request, _id_for(request.scope[CALLER].token, key))
    return answer(_created(row), 201, {"Location": f"/v1/sessions/{row.session_id}"})


async def create_named_session(request: Request) -> Response:
    """Make a session under an id that the client chooses."""
    return answer(_created(await _create(request, request.path_params["session_id"])))


def _created(row: SessionRow) -> schema.Created:
    return schema.Created(
        session_id=row.session_id, healthy=True, native_session_id=row.state.native_session_id
    )


async def _create(request: Request, session_id: str) -> SessionRow:
    wanted, directory = await _parse_create(request)
    return await daemon_of(request.scope).sessions.create(session_id, wanted, directory)


async def _create_once(request: Request, session_id: str) -> SessionRow:
    """Make the session of a key, or find it. Raise KeyReused for another one."""
    sessions = daemon_of(request.scope).sessions
    wanted, directory = await _parse_create(request)
    row = await sessions.store.session(session_id)
    if row is None:
        try:
            return await sessions.create(session_id, wanted, directory)
        except SessionExists:
            row = await sessions.store.session(session_id)  # the same request was faster
            if row is None:
                raise KeyReused("the session of this Idempotency-Key was deleted") from None
    if (row.create, row.directory) != (wanted, directory):
        raise KeyReused("this Idempotency-Key came with another session before; use a new key")
    return row


def _id_for(token: str, key: str) -> str:
    """The id of the one session that a key makes; keys of other tokens make others."""
    digest = hashlib.blake2b(f"{token}\0{key}".encode(), digest_size=16).hexdigest()
    return f"sess_{digest}"


async def _parse_create(request: Request) -> tuple[schema.CreateSession, str]:
    """What a session is to be, and where it is to work."""
    most = daemon_of(request.scope).settings.max_body_bytes
    wanted = await parse.body(request, schema.CreateSession, most)
    await _ensure_may_loosen(request, wanted.permission_mode)
    return wanted, await _directory(request, wanted.directory)


async def _directory(request: Request, path: str | None) -> str:
    """The directory of a new session; one outside of the usual places is for an admin."""
    directories = daemon_of(request.scope).directories
    is_admin = request.scope[CALLER].acting("admin") is not None
    found = await asyncio.to_thread(
        directories.find, path or directories.default, is_admin=is_admin
    )
    if not found.is_ordinary:
        await ensure_scope(request.scope, "admin")
    return found.path


async def _ensure_may_loosen(request: Request, mode: object) -> None:
    """Who lets an agent do things unasked approves them beforehand."""
    if mode in ("bypass", "acceptEdits"):
        await ensure_scope(request.scope, "approve")


async def get_session(request: Request) -> Response:
    """One session."""
    daemon = daemon_of(request.scope)
    row = await daemon.sessions.row(request.path_params["session_id"])
    return answer(_info(daemon, row))


async def patch_session(request: Request) -> Response:
    """Change a session."""
    daemon = daemon_of(request.scope)
    wanted = await parse.body(request, schema.PatchSession, daemon.settings.max_body_bytes)
    await _ensure_may_loosen(request, wanted.permission_mode)
    row = await daemon.sessions.patch(request.path_params["session_id"], wanted)
    return answer(_info(daemon, row))


def _info(daemon: Daemon, row: SessionRow) -> schema.SessionInfo:
    return session_info(row, daemon.sessions.starting(), daemon.settings)


async def get_diff(request: Request) -> Response:
    """What has changed in a session's directory."""
    query = parse.query(schema.DiffQuery, request.scope["query_string"])
    sessions = daemon_of(request.scope).sessions
    return answer(await sessions.diff(request.path_params["session_id"], query.turn))


async def delete_session(request: Request) -> Response:
    """End a session and forget it."""
    query = parse.query(schema.DeleteQuery, request.scope["query_string"])
    await daemon_of(request.scope).sessions.delete(
        request.path_params["session_id"], query.quiet_since
    )
    return nothing()


async def terminate_session(request: Request) -> Response:
    """End a session."""
    daemon = daemon_of(request.scope)
    await parse.no_body(request, daemon.settings.max_body_bytes)
    await daemon.sessions.terminate(request.path_params["session_id"])
    return nothing()


async def interrupt_session(request: Request) -> Response:
    """End the turn."""
    daemon = daemon_of(request.scope)
    await parse.no_body(request, daemon.settings.max_body_bytes)
    await daemon.sessions.interrupt(request.path_params["session_id"])
    return nothing()


# --- Messages ---


def idempotency_key(request: Request) -> str | None:
    """The key that makes a retry harmless."""
    key = request.headers.get("idempotency-key")
    if key is not None and not 1 <= len(key) <= MAX_KEY:
        raise InvalidRequest(
            f"Idempotency-Key must have 1 to {MAX_KEY} characters", field="Idempotency-Key"
        )
    return key


async def post_message(request: Request) -> Response:
    """Accept a message."""
    daemon = daemon_of(request.scope)
    key = idempotency_key(request)
    wanted = parse.query(schema.MessageQuery, request.scope["query_string"])
    message = await parse.body(request, schema.Message, daemon.settings.max_body_bytes)
    receipt = await daemon.sessions.send(
        request.path_params["session_id"], message, key, wanted.delivery
    )
    return nothing({"Dragoman-Message-Id": receipt.message_id})


async def get_pending(request: Request) -> Response:
    """What waits."""
    daemon = daemon_of(request.scope)
    row = await daemon.sessions.row(request.path_params["session_id"])
    queued = await daemon.store.queued(row.session_id)
    return answer(
        schema.Pending(
            messages=tuple(
                schema.PendingMessage(
                    message_id=message.message_id,
                    message=message.text,
                    created_at=message.created_at,
                )
                for message in queued
            ),
            permissions=tuple(row.state.permissions.values()),
            questions=tuple(row.state.questions.values()),
        )
    )


async def delete_pending(request: Request) -> Response:
    """Take a waiting message back."""
    await daemon_of(request.scope).sessions.cancel_message(
        request.path_params["session_id"], request.path_params["message_id"]
    )
    return nothing()


# --- Requests to people ---


def _approver(request: Request) -> Approver:
    caller = request.scope[CALLER]
    return Approver(token=caller.token, scope=caller.acting("approve"))


async def reply_permission(request: Request) -> Response:
    """Answer a permission."""
    daemon = daemon_of(request.scope)
    given = await parse.body(request, schema.ReplyPermission, daemon.settings.max_body_bytes)
    permission_id = request.path_params["permission_id"]
    answer = AnswerPermission(
        key=permission_id,
        reply=given.reply,
        message=given.message,
        updated_input=given.updated_input,
        approver=_approver(request),
    )
    await daemon.sessions.answer_permission(
        request.path_params["session_id"], permission_id, answer
    )
    return nothing()


async def reply_question(request: Request) -> Response:
    """Answer a question."""
    daemon = daemon_of(request.scope)
    given = await parse.body(request, schema.ReplyQuestion, daemon.settings.max_body_bytes)
    return await _answer_question(request, given.answers)


async def reject_question(request: Request) -> Response:
    """Refuse to answer a question."""
    await parse.no_body(request, daemon_of(request.scope).settings.max_body_bytes)
    return await _answer_question(request, None)


async def _answer_question(
    request: Request, answers: tuple[tuple[str, ...], ...] | None
) -> Response:
    question_id = request.path_params["question_id"]
    answer = AnswerQuestion(key=question_id, answers=answers, approver=_approver(request))
    await daemon_of(request.scope).sessions.answer_question(
        request.path_params["session_id"], question_id, answer
    )
    return nothing()
