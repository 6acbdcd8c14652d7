"""Handlers of the file API: list, read, write, move, archives."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from urllib.parse import quote

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from dragoman.errors import InvalidRequest, TooLarge, Unavailable, UnsupportedMediaType
from dragoman.files import Directory
from dragoman.http import parse
from dragoman.http.auth.middleware import CALLER
from dragoman.http.context import daemon_of
from dragoman.http.file_response import Download
from dragoman.http.responses import answer
from dragoman.runtime.session.attachments import image_kind
from dragoman.runtime.session.manager import ensure_id
from dragoman.schema import files as schema

ARCHIVES = (
    "application/x-tar", "application/gzip", "application/x-gzip", "application/x-gtar",
    "application/octet-stream",
)  # fmt: skip
_HEAD_BYTES = 12


async def list_entries(request: Request) -> Response:
    """List a folder."""
    wanted = parse.query(schema.FolderQuery, request.scope["query_string"])
    files = daemon_of(request.scope).files
    found = await files.entries(await _directory(request, wanted.session_id), wanted.path)
    body = await files.run(msgspec.json.encode, found)
    return Response(body, media_type="application/json")


async def get_stat(request: Request) -> Response:
    """Look at one entry."""
    wanted = parse.query(schema.PathQuery, request.scope["query_string"])
    files = daemon_of(request.scope).files
    return answer(await files.stat(await _directory(request, wanted.session_id), wanted.path))


async def read_file(request: Request) -> Download:
    """Fetch a file."""
    wanted = parse.query(schema.PathQuery, request.scope["query_string"])
    files = daemon_of(request.scope).files
    opened = await files.open(await _directory(request, wanted.session_id), wanted.path)
    headers = {
        "content-type": "application/octet-stream",
        "content-disposition": _attached(opened.name),
        "cache-control": "private, no-cache",
    }
    return Download(opened, headers)


async def read_stored_file(request: Request) -> Download:
    """Fetch a file that a session's events name."""
    daemon = daemon_of(request.scope)
    row = await daemon.sessions.row(request.path_params["session_id"])
    opened = await daemon.files.open_stored(row.session_id, request.path_params["name"])
    kind = image_kind(await daemon.files.run(opened.read, 0, _HEAD_BYTES))
    headers = {
        "content-type": kind or "application/octet-stream",
        "content-disposition": "inline" if kind else _attached(opened.name),
        # Named by what they hold, so they never change.
        "cache-control": "private, max-age=31536000, immutable",
    }
    return Download(opened, headers)


async def write_file(request: Request) -> Response:
    """Write a file."""
    wanted = parse.query(schema.PathQuery, request.scope["query_string"])
    directory = await _directory(request, wanted.session_id)
    files = daemon_of(request.scope).files
    with _told_when_it_stops():
        return answer(await files.write(directory, wanted.path, _body(request)))


async def upload_batch(request: Request) -> Response:
    """Unpack an archive."""
    wanted = parse.query(schema.FolderQuery, request.scope["query_string"])
    directory = await _directory(request, wanted.session_id)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in ARCHIVES:
        raise UnsupportedMediaType(
            f"the archive came as {media_type or 'no type'!r}; send Content-Type: application/x-tar"
        )
    files = daemon_of(request.scope).files
    with _told_when_it_stops():
        return answer(await files.unpack(directory, wanted.path, _body(request)))


async def make_folder(request: Request) -> Response:
    """Make a folder."""
    daemon = daemon_of(request.scope)
    wanted = parse.query(schema.PathQuery, request.scope["query_string"])
    await parse.no_body(request, daemon.settings.max_body_bytes)
    directory = await _directory(request, wanted.session_id)
    return answer(schema.FsDone(path=await daemon.files.make_folder(directory, wanted.path)))


async def remove_entry(request: Request) -> Response:
    """Remove an entry."""
    wanted = parse.query(schema.RemoveQuery, request.scope["query_string"])
    directory = await _directory(request, wanted.session_id)
    files = daemon_of(request.scope).files
    path = await files.remove(directory, wanted.path, recursive=wanted.recursive)
    return answer(schema.FsDone(path=path))


async def move_entry(request: Request) -> Response:
    """Move an entry."""
    daemon = daemon_of(request.scope)
    wanted = parse.query(schema.MoveQuery, request.scope["query_string"])
    move = await parse.body(request, schema.FsMove, daemon.settings.max_body_bytes)
    source, target = await daemon.files.move(
        await _directory(request, wanted.session_id),
        move.from_,
        move.to,
        overwrite=bool(move.overwrite),
    )
    return answer(schema.FsMoved(from_=source, to=target))


async def _directory(request: Request, session_id: str | None) -> Directory | None:
    """The directory of the session that is named, if one is."""
    if session_id is None:
        return None
    ensure_id(session_id)
    daemon = daemon_of(request.scope)
    row = await daemon.sessions.row(session_id)
    is_admin = request.scope[CALLER].acting("admin") is not None
    # Again, whoever made it: it may be from a time with other roots, or lead elsewhere by now.
    return await daemon.files.run(
        daemon.directories.find, row.directory, is_admin=is_admin, field="session_id"
    )


async def _body(request: Request) -> AsyncIterator[bytes]:
    most = daemon_of(request.scope).settings.max_upload_bytes
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > most:
        raise TooLarge(f"the body has {length} bytes, {most} are allowed", limit="max_upload_bytes")
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        raise InvalidRequest("the body ended early", field="body") from None


@contextlib.contextmanager
def _told_when_it_stops() -> Iterator[None]:
    """Nobody but the server cancels a request: when it stops, and has waited long enough."""
    try:
        yield
    except asyncio.CancelledError:
        raise Unavailable("the daemon is stopping; send it again when it is back") from None


def _attached(name: str) -> str:
    return f"attachment; filename*=UTF-8''{quote(name, safe='', errors='surrogateescape')}"
