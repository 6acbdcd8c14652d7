"""Serves the page at `/ui/` with a strict content security policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from dragoman.errors import NotFound
from dragoman.http.compress import takes_gzip
from dragoman.runtime.session.manager import ensure_id

_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "map": "application/json",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' blob:; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    # The address of the page may hold a ticket.
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Names below assets/ change with what is in them; whatever leads to them must be asked for anew.
_KEPT = {"Cache-Control": "public, max-age=31536000, immutable"}
_ASKED_ANEW = {"Cache-Control": "no-cache"}

_MISSING = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Dragoman</title>
<h1>Dragoman</h1>
<p>The daemon runs, but its page was not built. In a checkout, <code>make web</code> builds it
(it needs Node 20.19 or newer, and npm); then load this page again. A wheel made by
<code>make dist</code> holds it.</p>
<p>The API and the command line do not need it: <code>dragoman --help</code>.</p>
"""


_GZIPPED = ".gz"

Files = Mapping[str, bytes]
"""The page: what is in each of its files, by its name. What is not here does not exist.

`NAME.gz` is NAME as it is sent to who takes gzip, and no file of its own.
"""


def page_routes(page: Files) -> list[Route]:
    """The routes of the page, which are no part of the API."""

    async def get_page(request: Request) -> Response:
        name = request.path_params["name"] or "index.html"
        content = page.get(name, _MISSING if name == "index.html" else None)
        if content is None or _ending(name) not in _TYPES:
            raise NotFound(f"the page has no file {name!r}")
        headers = _HEADERS | (_KEPT if name.startswith("assets/") else _ASKED_ANEW)
        if (small := page.get(name + _GZIPPED)) is not None:
            headers["Vary"] = "Accept-Encoding"
            if takes_gzip(request.headers.get("accept-encoding", "")):
                content, headers["Content-Encoding"] = small, "gzip"
        return Response(content, headers=headers, media_type=_TYPES[_ending(name)])

    return [
        Route("/ui", _to_page),
        Route("/ui/sessions/{session_id}", _to_session),
        Route("/ui/{name:path}", get_page),
    ]


async def _to_page(request: Request) -> Response:
    """Lead on to where relative addresses are right."""
    return RedirectResponse(f"ui/{_query(request)}", headers=_HEADERS)


async def _to_session(request: Request) -> Response:
    """Lead on to a session, from the address that programs for an earlier API print."""
    session_id = request.path_params["session_id"]
    ensure_id(session_id)
    return RedirectResponse(f"../{_query(request)}#/sessions/{session_id}", headers=_HEADERS)


def _query(request: Request) -> str:
    query = request.scope["query_string"].decode("ascii", "replace")
    return f"?{query}" if query else ""


@cache
def built_page() -> Files:
    """The page that was built into this package; empty where it was not."""
    page = files("dragoman.http").joinpath("page")
    return dict(_below(page, "")) if page.is_dir() else {}


def _below(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        elif _ending(entry.name.removesuffix(_GZIPPED)) in _TYPES:
            yield prefix + entry.name, entry.read_bytes()


def _ending(name: str) -> str:
    return name.rpartition(".")[2]
