from __future__ import annotations

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from dragoman import errors
from dragoman.schema import http
from dragoman.schema.events import BODIES
from dragoman.schema.export import Header, Media, Operation, event_schema, openapi, problem_type
from tests.schema.catalog import bodies, envelope

validator = Draft202012Validator(event_schema())

ROUTES = (
    Operation(
        method="get",
        path="/v1/health",
        name="get_health",
        summary="Is it alive?",
        tag="meta",
        response=http.Health,
        public=True,
    ),
    Operation(
        method="post",
        path="/v1/sessions/{session_id}",
        name="create_session",
        summary="Create a session",
        description="The client chooses the id.",
        tag="sessions",
        body=http.CreateSession,
        response=http.Created,
        problems=(errors.InvalidRequest, errors.UnsupportedAgent, errors.SessionExists),
    ),
    Operation(
        method="get",
        path="/v1/sessions/{session_id}/events",
        name="get_events",
        summary="Read events",
        tag="sessions",
        query=http.EventQuery,
        response=http.EventPage,
        problems=(errors.SessionNotFound,),
    ),
    Operation(
        method="get",
        path="/v1/sessions/{session_id}/events/sse",
        name="get_events_sse",
        summary="Follow events",
        tag="sessions",
        query=http.StreamQuery,
        request_headers=(Header(name="Last-Event-ID", description="Where to go on."),),
        response=Media.EVENT_STREAM,
        other_responses={204: "The session has ended, and all of it was read."},
        problems=(errors.SessionNotFound,),
    ),
    Operation(
        method="post",
        path="/v1/sessions/{session_id}/messages",
        name="post_message",
        summary="Send a message",
        tag="sessions",
        body=http.Message,
        status=204,
        response_headers=(Header(name="Dragoman-Message-Id", description="Its id."),),
        problems=(errors.SessionNotFound, errors.SessionEndedError),
    ),
    Operation(
        method="get",
        path="/v1/sessions",
        name="list_sessions",
        summary="List sessions",
        tag="sessions",
        query=http.SessionQuery,
        response=http.SessionList,
    ),
    Operation(
        method="get",
        path="/v1/sessions/{session_id}/files/{name:path}",
        name="get_file",
        summary="Read a stored file",
        tag="sessions",
        response=Media.BYTES,
    ),
    Operation(
        method="get",
        path="/v1/openapi.json",
        name="get_openapi",
        summary="This document",
        tag="meta",
        response=Media.JSON,
    ),
)
COMMON = (errors.TokenInvalid, errors.PermissionDenied, errors.InternalError)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi(ROUTES, COMMON)


# --- The event ---


def test_the_event_schema_is_a_schema() -> None:
    schema = event_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].startswith("urn:dragoman:")


def test_every_event_type_has_a_schema_of_its_own() -> None:
    schema = event_schema()
    assert list(schema["discriminator"]["mapping"]) == list(BODIES)
    for reference in schema["discriminator"]["mapping"].values():
        described = schema["$defs"][reference.removeprefix("#/$defs/")]
        assert described["description"].endswith(".")


@pytest.mark.parametrize(("source", "synthetic"), [("daemon", False), ("agent", True)])
def test_what_is_synthetic_comes_from_the_daemon(source: str, synthetic: bool) -> None:
    """Before, the schema took events of ours that pass for the agent's, and the other way round."""
    event = envelope("session.started", {"metadata": None})
    validator.validate({**event, "source": source, "synthetic": not synthetic})
    with pytest.raises(ValidationError):
        validator.validate({**event, "source": source, "synthetic": synthetic})


@pytest.mark.parametrize("missing", list(envelope("session.started", {})))
def test_an_event_has_all_its_fields(missing: str) -> None:
    event = envelope("session.started", {"metadata": None})
    del event[missing]
    with pytest.raises(ValidationError):
        validator.validate(event)


@pytest.mark.parametrize(
    ("type", "data"),
    [
        ("session.closed", {}),
        ("item.started", {"item_id": "itm_1", "delta": "x"}),
        ("item.delta", {"item_id": "itm_1"}),
        ("permission.resolved", {"permission_id": "p", "action": "a", "status": "perhaps"}),
    ],
)
def test_data_must_fit_the_type(type: str, data: Any) -> None:
    with pytest.raises(ValidationError):
        validator.validate(envelope(type, data))


# --- The HTTP contract ---


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        found = {node["$ref"]} if "$ref" in node else set()
        return found.union(*map(references, node.values()))
    return set().union(*map(references, node)) if isinstance(node, list) else set()


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known


def test_every_schema_is_a_schema(document: dict[str, Any]) -> None:
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_operation_has_its_own_name(document: dict[str, Any]) -> None:
    names = [
        method["operationId"] for path in document["paths"].values() for method in path.values()
    ]
    assert names == [route.name for route in ROUTES]


def test_a_page_of_events_holds_events(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["EventPage"]["properties"]["events"]["items"] == {
        "$ref": "#/components/schemas/Event"
    }
    page = {"$ref": "#/components/schemas/EventPage", "components": {"schemas": schemas}}
    events = [envelope(type, example.wire) for type, example in bodies()]
    Draft202012Validator(page).validate({"events": events, "hasMore": False})
    with pytest.raises(ValidationError):
        Draft202012Validator(page).validate({"events": [{}], "hasMore": False})


def test_query_parameters_are_documented_in_snake_case(document: dict[str, Any]) -> None:
    operation = document["paths"]["/v1/sessions/{session_id}/events"]["get"]
    query = {each["name"]: each for each in operation["parameters"] if each["in"] == "query"}
    assert list(query) == ["offset", "limit", "include_raw", "compact", "after_chain"]
    assert query["limit"]["schema"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 10000,
        "default": 1000,
    }
    assert not query["limit"]["required"]


def test_no_query_parameter_is_null(document: dict[str, Any]) -> None:
    parameters = document["paths"]["/v1/sessions"]["get"]["parameters"]
    schemas = {each["name"]: each["schema"] for each in parameters}
    assert schemas["agent"] == {"type": "string"}
    assert "ended" in schemas["status"]["enum"]


def test_path_parameters_come_from_the_path(document: dict[str, Any]) -> None:
    session, name = document["paths"]["/v1/sessions/{session_id}/files/{name}"]["get"]["parameters"]
    assert (session["name"], session["in"], session["required"]) == ("session_id", "path", True)
    assert re.fullmatch(session["schema"]["pattern"], "my-session")
    assert not re.fullmatch(session["schema"]["pattern"], "..")
    assert (name["name"], name["schema"]) == ("name", {"type": "string"})


def test_problems_are_documented_under_their_status(document: dict[str, Any]) -> None:
    responses = document["paths"]["/v1/sessions/{session_id}"]["post"]["responses"]
    assert list(responses) == ["200", "400", "401", "403", "409", "500"]
    assert "urn:dragoman:error:unsupported_agent" in responses["400"]["description"]
    assert "urn:dragoman:error:invalid_request" in responses["400"]["description"]
    assert responses["409"]["content"] == {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
    }


def test_a_public_operation_needs_no_token(document: dict[str, Any]) -> None:
    health = document["paths"]["/v1/health"]["get"]
    assert health["security"] == []
    assert "401" not in health["responses"]
    schemes = ["bearer", "basic", "cookie"]
    assert document["security"] == [{scheme: []} for scheme in schemes]
    assert list(document["components"]["securitySchemes"]) == schemes


def test_a_stream_is_documented_as_one(document: dict[str, Any]) -> None:
    operation = document["paths"]["/v1/sessions/{session_id}/events/sse"]["get"]
    assert list(operation["responses"]["200"]["content"]) == ["text/event-stream"]
    assert "content" not in operation["responses"]["204"]
    assert operation["parameters"][-1]["in"] == "header"


def test_an_answer_without_a_body_keeps_its_headers(document: dict[str, Any]) -> None:
    answer = document["paths"]["/v1/sessions/{session_id}/messages"]["post"]["responses"]["204"]
    assert "content" not in answer
    assert list(answer["headers"]) == ["Dragoman-Message-Id"]


def test_a_problem_type_is_its_title() -> None:
    assert problem_type("Session Not Found") == "urn:dragoman:error:session_not_found"


@pytest.mark.parametrize(
    ("name", "is_the_same_as"),
    [
        ("UniversalEvent", {"Event"}),
        ("UniversalItem", {"Item"}),
        ("SessionEndedData", {"SessionEnded"}),
        ("StderrOutput", {"Stderr"}),
        ("PermissionEventData", {"PermissionRequested", "PermissionResolved"}),
        ("QuestionEventData", {"QuestionRequested", "QuestionResolved"}),
    ],
)
def test_names_that_older_clients_know_are_there(name: str, is_the_same_as: set[str]) -> None:
    """Before, types that are generated for such a client were missing."""
    schemas = openapi(ROUTES, ())["components"]["schemas"]
    schema = schemas[name]
    found = {each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", [schema])}
    assert found == is_the_same_as <= schemas.keys()


def test_small_types_that_older_clients_know_are_there() -> None:
    schemas = openapi(ROUTES, ())["components"]["schemas"]
    assert schemas["ItemKind"] == schemas["Item"]["properties"]["kind"]
    assert schemas["ItemStatus"] == schemas["Item"]["properties"]["status"]
    assert schemas["ContentPart"] == schemas["Item"]["properties"]["content"]["items"]
    assert set(schemas["ItemRole"]["enum"]) == {"user", "assistant", "system", "tool"}
    assert set(schemas["EventSource"]["enum"]) == {"agent", "daemon"}
