"""Every documented operation, asked at random: no defect, and nothing that is not documented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from dragoman.http.openapi import openapi_document
from tests.daemon import Daemon

EXAMPLES = 15
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
FRAME = {
    "type": "object",
    "required": ["id", "data"],
    "properties": {
        "id": {"type": "string", "pattern": "^[1-9][0-9]*$"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/Event"},
        },
    },
}


AGUI_FRAME = {
    "type": "object",
    "required": ["id", "data"],
    "properties": {
        "id": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+$"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"type": "object", "required": ["type"]},
        },
    },
}


def contract() -> dict[str, Any]:
    """The contract, and what OpenAPI 3.1 cannot say: of what a stream consists."""
    document: dict[str, Any] = msgspec.json.decode(openapi_document())
    for methods in document["paths"].values():
        for operation in methods.values():
            for response in operation["responses"].values():
                if "text/event-stream" in response.get("content", {}):
                    is_agui = operation["operationId"] == "stream_agui"
                    schema = AGUI_FRAME if is_agui else FRAME
                    response["content"]["text/event-stream"] = {"itemSchema": schema}
    return document


schemathesis.serializer.alias("application/x-tar", "application/octet-stream")
SCHEMA = schemathesis.openapi.from_dict(contract())
OPERATIONS: dict[str, Any] = {
    operation.definition.raw["operationId"]: operation
    for operation in (found.ok() for found in cast("Any", SCHEMA.get_all_operations()))
}

FINITE = ("ended", "none")
"""Sessions whose stream of events ends by itself."""
BEYOND = 1 << 60
"""Where no event stands."""
ANSWERING = ("idle", "ended", "none")
"""Sessions that answer a message, or refuse it."""
ALL = ("idle", "waiting", "asking", "ended", "none")
HOMES = {"permission_id": "waiting", "question_id": "asking", "message_id": "waiting"}
FRESH = ("fresh", "none")
"""A session that nobody else needs, made when it is asked for."""
POOLS = {
    "stream_agui": FINITE,
    "stream_events": FINITE,
    "stream_message": ANSWERING,
    "send_message": ANSWERING,
    "terminate_session": FRESH,
    "delete_session": FRESH,
    "interrupt_turn": FRESH,
}


@pytest.fixture(scope="module")
def world(daemon: Daemon) -> dict[str, str]:
    """Ids of real things, so that more than a 404 is reached."""
    for session, prompt in (("idle", "demo"), ("ended", "end")):
        daemon.create(
            session, mcp={"m": {"type": "http", "url": "http://x", "headers": {"a": "b"}}}
        )
        daemon.turn(session, prompt)
    daemon.wait_for("ended", "session.ended")
    found = {"agent": "mock"}
    for session, kind in (("waiting", "permission"), ("asking", "question")):
        daemon.create(session)
        daemon.send(session, kind)
        name = f"{kind}_id"
        found[name] = daemon.wait_for(session, f"{kind}.requested")["data"][name]
    found["message_id"] = daemon.send("waiting", "echo later")
    return found


def test_every_route_is_fuzzed() -> None:
    documented = contract()["paths"].values()
    assert len(OPERATIONS) == sum(len(methods) for methods in documented)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("name", OPERATIONS)
def test_only_documented_answers(
    daemon: Daemon, world: dict[str, str], name: str, mode: GenerationMode
) -> None:
    operation = OPERATIONS[name]
    fresh = _numbers(f"{name}-{mode.value}")

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def probe(case: Any, data: st.DataObject) -> None:
        _aim(case, data, world, name)
        if (case.path_parameters or {}).get("session_id") == "fresh":
            case.path_parameters["session_id"] = fresh()
            daemon.create(case.path_parameters["session_id"])
        base_url = f"http://127.0.0.1:{daemon.port}"
        response = case.call(base_url=base_url, headers=daemon.headers(), timeout=20)
        case.validate_response(response, checks=CHECKS)

    if _can_be(operation, mode):
        probe()
    assert daemon.request("GET", "/sessions/ended/events?limit=1").status == 200


def _aim(case: Any, data: st.DataObject, world: dict[str, str], name: str) -> None:
    """Put real ids into the path, mostly; a new session's id stays what it is."""
    path = case.path_parameters or {}
    if name == "stream_all_events":
        # It never ends, unless it never begins.
        case.headers.pop("Last-Event-ID", None)
        case.query["cursor"] = str(BEYOND)
    if "session_id" in path and name != "create_named_session":
        path["session_id"] = data.draw(st.sampled_from(POOLS.get(name, ALL)))
    for parameter in set(path) & set(world):
        if data.draw(st.booleans()):
            path[parameter] = world[parameter]
            if parameter in HOMES:
                path["session_id"] = HOMES[parameter]
    if name.startswith("create") and isinstance(case.body, dict) and data.draw(st.booleans()):
        case.body = {**case.body, "agent": "mock", "directory": None}


def _numbers(prefix: str) -> Callable[[], str]:
    numbers = iter(range(10_000))
    return lambda: f"{prefix}-{next(numbers)}"


def _can_be(operation: Any, mode: GenerationMode) -> bool:
    """What takes nothing cannot be asked wrongly."""
    takes = [*operation.query, *operation.headers, *operation.path_parameters, *operation.body]
    return mode is GenerationMode.POSITIVE or bool(takes)
