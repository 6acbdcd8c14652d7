"""JSON Schema of events, OpenAPI of the HTTP contract."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from http import HTTPStatus
from itertools import groupby
from typing import Any, Literal

import msgspec
from msgspec import Struct

from dragoman import __version__
from dragoman.errors import DragomanError, TokenInvalid
from dragoman.schema.access import Scope
from dragoman.schema.events import (
    BODIES,
    Event,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    Source,
    Stderr,
)
from dragoman.schema.http import SESSION_ID_PATTERN, EventPage, Problem
from dragoman.schema.items import ContentPart, Item, ItemKind, ItemStatus, Role

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
EVENT_SCHEMA_ID = "urn:dragoman:schema:event"

_COMPONENT = "#/components/schemas/{name}"
_SYNONYMS: dict[str, tuple[Any, ...]] = {
    "UniversalItem": (Item,),
    "ContentPart": (ContentPart,),
    "ItemKind": (ItemKind,),
    "ItemRole": (Role,),
    "ItemStatus": (ItemStatus,),
    "EventSource": (Source,),
    "SessionEndedData": (SessionEnded,),
    "StderrOutput": (Stderr,),
    "PermissionEventData": (PermissionRequested, PermissionResolved),
    "QuestionEventData": (QuestionRequested, QuestionResolved),
}
_SCHEMES = ("bearer", "basic", "cookie")
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_PATH_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


class Media(Enum):
    """A response that is no struct of ours."""

    EVENT_STREAM = "text/event-stream"
    JSON = "application/json"
    JSON_SCHEMA = "application/schema+json"
    TEXT = "text/plain"
    BYTES = "application/octet-stream"
    IMAGE = "image/*"
    TAR = "application/x-tar"

    @property
    def types(self) -> tuple[str, ...]:
        """As what it may come, the best first."""
        plain = (Media.BYTES.value,) if self in (Media.IMAGE, Media.TAR) else ()
        return self.value, *plain


class Header(Struct, frozen=True, kw_only=True):
    """A header that an operation reads or writes."""

    name: str
    description: str


class Operation(Struct, frozen=True, kw_only=True):
    """One method of one path, as documented. Path parameters are read from the path."""

    method: Literal["get", "post", "put", "patch", "delete"]
    path: str
    name: str
    """Unique, in snake_case: what generated clients call it."""
    summary: str
    description: str = ""
    tag: str
    query: type[Struct] | None = None
    request_headers: tuple[Header, ...] = ()
    body: type[Struct] | Media | None = None
    body_required: bool = True
    status: int = 200
    response: type[Struct] | Media | None = None
    is_list: bool = False
    """The answer is a list of what `response` says."""
    response_headers: tuple[Header, ...] = ()
    other_responses: dict[int, str] = {}
    """Further answers without a body, each with its reason."""
    problems: tuple[type[DragomanError], ...] = ()
    public: bool = False
    """It needs no token."""
    scope: Scope = "read"
    """What a token must be allowed."""
    max_body_bytes: int | None = None
    """The largest body, where it is not for the endpoint to say."""


def problem_type(title: str) -> str:
    """Give the `type` of a problem document with this title."""
    return "urn:dragoman:error:" + title.lower().replace(" ", "_")


# --- The event ---


def event_schema() -> Schema:
    """Describe an event in JSON Schema 2020-12."""
    _, components = _components((), "#/$defs/{name}")
    event = components.pop("Event")
    # In OpenAPI it would make a union of each generated type.
    synthetic: Schema = {
        "if": {"properties": {"source": {"const": "daemon"}}},
        "then": {"properties": {"synthetic": {"const": True}}},
        "else": {"properties": {"synthetic": {"const": False}}},
    }
    return {"$schema": DIALECT, "$id": EVENT_SCHEMA_ID, **event, **synthetic, "$defs": components}


def _components(
    structs: Iterable[type[Struct]], template: str
) -> tuple[dict[object, Schema], dict[str, Schema]]:
    """Give a reference for each struct, and the schemas of them, of all events, by name."""
    # One call for all, so that two structs of one name would get two names.
    everything: list[type[Struct]] = [*BODIES.values(), *structs]
    found, components = msgspec.json.schema_components(everything, ref_template=template)
    references: dict[object, Schema] = dict(zip(everything, found, strict=True))
    mapping: dict[str, str] = {}
    for type, body in BODIES.items():
        name = body.__name__ + "Event"
        components[name] = _event(name, type, body.__doc__, references[body])
        mapping[type] = template.format(name=name)
    components["Event"] = {
        "title": "Event",
        "description": Event.__doc__,
        "type": "object",
        "oneOf": [{"$ref": reference} for reference in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    return references, components


def _event(name: str, type: str, description: str | None, data: Schema) -> Schema:
    # The envelope's own schema knows neither which body belongs to a type, nor that null is
    # always written out.
    _, components = msgspec.json.schema_components([Event])
    properties = components["Event"]["properties"]
    properties["sequence"]["minimum"] = 1
    properties["time"]["format"] = "date-time"
    properties["type"] = {"const": type}
    properties["data"] = data
    return {
        "title": name,
        "description": description,
        "type": "object",
        "properties": properties,
        "required": list(Event.__struct_fields__),
    }


# --- The HTTP contract ---


def openapi(routes: Sequence[Operation], problems: Sequence[type[DragomanError]]) -> Schema:
    """Describe the HTTP contract in OpenAPI 3.1; any request can get one of `problems`."""
    structs = dict.fromkeys(_structs(routes))
    references, components = _components(structs, _COMPONENT)
    components |= _synonyms()
    if EventPage in structs:
        page = components["EventPage"]["properties"]
        page["events"]["items"] = {"$ref": _COMPONENT.format(name="Event")}
    paths: dict[str, Schema] = {}
    for route in routes:
        path = _PATH_PARAMETER.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method] = _operation(route, problems, references)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Dragoman",
            "description": "Coding agents behind one universal event stream.",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{each: []} for each in _SCHEMES],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "Any user name; the token is the password.",
                },
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "dragoman-PORT",
                    "description": "What `login` gives a browser for a ticket.",
                },
            },
        },
    }


def _synonyms() -> dict[str, Schema]:
    """The names that clients of the API before this one know, for what has another one here."""
    found: dict[str, Schema] = {"UniversalEvent": {"$ref": _COMPONENT.format(name="Event")}}
    for name, types in _SYNONYMS.items():
        schemas, _ = msgspec.json.schema_components(types, ref_template=_COMPONENT)
        found[name] = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return found


def _structs(routes: Iterable[Operation]) -> Iterator[type[Struct]]:
    yield Problem
    for route in routes:
        for struct in (route.body, route.response):
            if struct is not None and not isinstance(struct, Media):
                yield struct


def _operation(
    route: Operation,
    common: Sequence[type[DragomanError]],
    references: dict[object, Schema],
) -> Schema:
    operation: Schema = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": list(_parameters(route)),
        "responses": _responses(route, common, references),
    }
    if route.description:
        operation["description"] = route.description
    if isinstance(route.body, Media):
        content = dict.fromkeys(route.body.types, _BINARY)
        operation["requestBody"] = {"required": True, "content": content}
    elif route.body is not None:
        operation["requestBody"] = {
            "required": route.body_required,
            "content": {"application/json": {"schema": references[route.body]}},
        }
    # OpenAPI's place for roles that are not OAuth's.
    roles = [] if route.public else [{each: [route.scope]} for each in _SCHEMES]
    operation["security"] = roles
    return operation


def _parameters(route: Operation) -> Iterator[Schema]:
    for name in _PATH_PARAMETER.findall(route.path):
        schema = {"type": "string"}
        if name == "session_id":
            schema["pattern"] = SESSION_ID_PATTERN
        yield {"name": name, "in": "path", "required": True, "schema": schema}
    if route.query is not None:
        _, components = msgspec.json.schema_components([route.query])
        properties = components[route.query.__name__]["properties"]
        for field in msgspec.structs.fields(route.query):
            schema = _never_null(properties[field.encode_name])
            yield {"name": field.name, "in": "query", "required": field.required, "schema": schema}
    for header in route.request_headers:
        yield {
            "name": header.name,
            "in": "header",
            "required": False,
            "description": header.description,
            "schema": {"type": "string"},
        }


def _never_null(schema: Schema) -> Schema:
    """A parameter of a URL is there or not, it cannot be null."""
    kept = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    return kept[0] if len(kept) == 1 else schema


def _responses(
    route: Operation,
    common: Sequence[type[DragomanError]],
    references: dict[object, Schema],
) -> Schema:
    responses: dict[int, Schema] = {route.status: _success(route, references)}
    for status, reason in route.other_responses.items():
        responses[status] = {"description": reason}
    possible = {*common} - ({TokenInvalid} if route.public else set()) | {*route.problems}
    ordered = sorted(possible, key=lambda problem: (problem.status, problem.title))
    for status, group in groupby(ordered, key=lambda problem: problem.status):
        responses[status] = {
            "description": "\n\n".join(
                f"{problem.title} (`{problem_type(problem.title)}`): {problem.__doc__}"
                for problem in group
            ),
            "content": {"application/problem+json": {"schema": references[Problem]}},
        }
    return {str(status): response for status, response in sorted(responses.items())}


def _success(route: Operation, references: dict[object, Schema]) -> Schema:
    response: Schema = {"description": HTTPStatus(route.status).phrase}
    match route.response:
        case Media.EVENT_STREAM:
            response["description"] = "Frames of `id: <sequence>` and `data: <Event>`, LF only."
            response["content"] = {Media.EVENT_STREAM.value: {"schema": {"type": "string"}}}
        case Media.TEXT:
            response["content"] = {Media.TEXT.value: {"schema": {"type": "string"}}}
        case Media.BYTES | Media.TAR | Media.IMAGE as media:
            response["content"] = {each: {} for each in media.types}
        case Media.JSON | Media.JSON_SCHEMA as media:
            response["content"] = {media.value: {"schema": {"type": "object"}}}
        case None:
            pass
        case struct:
            schema = references[struct]
            schema = {"type": "array", "items": schema} if route.is_list else schema
            response["content"] = {Media.JSON.value: {"schema": schema}}
    if route.response_headers:
        response["headers"] = {
            header.name: {"description": header.description, "schema": {"type": "string"}}
            for header in route.response_headers
        }
    return response
