"""The OpenAPI and JSON Schema documents, made from the structs and the route table."""

from __future__ import annotations

from functools import cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dragoman.schema.export import event_schema, openapi


@cache
def openapi_document() -> bytes:
    """OpenAPI 3.1 of all routes."""
    # The table names the handlers below, so it can only be read after both exist.
    from dragoman.http.routes import ANY, ROUTES

    return _pretty(openapi([route.operation for route in ROUTES], ANY))


@cache
def schema_document() -> bytes:
    """JSON Schema of an event."""
    return _pretty(event_schema())


def _pretty(document: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


async def get_openapi(request: Request) -> Response:
    """The contract."""
    return Response(openapi_document(), media_type="application/json")


async def get_schema(request: Request) -> Response:
    """The schema of an event."""
    return Response(schema_document(), media_type="application/schema+json")
