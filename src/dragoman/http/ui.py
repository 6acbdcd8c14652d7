"""The page at `/ui/`: static files, and headers that let nothing else in."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from dragoman.errors import NotFound

_TYPES = {
    "index.html": "text/html",
    "page.css": "text/css",
    "page.js": "text/javascript",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    # The address of the page may hold a ticket.
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


async def get_page(request: Request) -> Response:
    """A file of the page."""
    name = request.path_params.get("name") or "index.html"
    if name not in _TYPES:
        raise NotFound(f"the page has no file {name!r}")
    return Response(_content(name), headers=_HEADERS, media_type=_TYPES[name])


async def to_page(request: Request) -> Response:
    """Lead on to where relative addresses are right."""
    query = request.scope["query_string"].decode("ascii", "replace")
    return RedirectResponse("ui/" + (f"?{query}" if query else ""), headers=_HEADERS)


@cache
def _content(name: str) -> bytes:
    return files("dragoman.http").joinpath("page", name).read_bytes()


def page_routes() -> list[Route]:
    """The routes of the page, which are no part of the API."""
    return [Route("/ui", to_page), Route("/ui/{name:path}", get_page)]
