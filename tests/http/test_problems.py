from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dragoman import errors
from dragoman.errors import (
    DragomanError,
    InvalidRequest,
    PermissionDenied,
    SessionEndedError,
    SessionNotFound,
    StorageFull,
    TokenInvalid,
    TooManyRequests,
    Unavailable,
    UnsupportedAgent,
)
from dragoman.http.problems import PROBLEMS, install, problem, respond, send_problem, type_of
from dragoman.schema.http import to_json
from tests.http import ask, listening, request, serving

FAILURES: dict[str, Exception] = {
    "unsupported": UnsupportedAgent("x", ["a", "b"]),
    "ended": SessionEndedError("s"),
    "full": StorageFull("the disk is full"),
    "defect": ZeroDivisionError("the secret of line 7"),
    "teapot": HTTPException(418, "short and stout"),
    "gateway": HTTPException(502, "the secret of line 9"),
}


async def fail(request: Request) -> Response:
    """Raise what the path names."""
    raise FAILURES[request.path_params["name"]]


class RawFailure:
    """An endpoint that is only ASGI."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raise before, or answer through, the raw way."""
        if scope["method"] == "GET":
            raise SessionNotFound("raw")
        await send_problem(send, PermissionDenied("no"), "/raw", [(b"x-more", b"1")])


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    routes = [
        Route("/fail/{name}", fail, methods=["GET", "POST"]),
        Route("/raw", RawFailure()),
    ]
    app = Starlette(routes=routes)
    install(app)
    with listening() as (listener, port), serving(app, listener):
        yield port


def test_every_error_that_can_be_answered_is_listed() -> None:
    listed = {error.__name__ for error in PROBLEMS}
    tree = errors.__doc__ or ""
    drawn = {line.strip("│├└─ ").split(" ")[0] for line in tree.splitlines() if "─ " in line}
    families = {"RequestError", "DaemonError"}
    told_under_another_name = {"NotInstallable"}
    never_over_http = {"StartRefused", "WrongSetting"}
    assert listed == drawn - families - told_under_another_name - never_over_http
    assert len(PROBLEMS) == len(listed)


@pytest.mark.parametrize("error", PROBLEMS)
def test_every_type_is_a_urn_in_snake_case(error: type[DragomanError]) -> None:
    prefix, _, name = type_of(error).rpartition(":")
    assert prefix == "urn:dragoman:error"
    assert name.replace("_", "").isalpha()
    assert name == name.lower()


def test_a_problem_says_everything_the_error_knows() -> None:
    error = UnsupportedAgent("x", ["a", "b"])
    assert to_json(problem(error, "/v1/sessions/s")) == (
        b'{"type":"urn:dragoman:error:unsupported_agent","title":"Unsupported Agent",'
        b'"status":400,"detail":"unknown agent \'x\'; known: a, b","instance":"/v1/sessions/s",'
        b'"agent":"x","details":{"field":"agent"}}'
    )
    assert problem(SessionNotFound("s"), None).session_id == "s"
    assert to_json(problem(InvalidRequest(""), None)) == (
        b'{"type":"urn:dragoman:error:invalid_request","title":"Invalid Request","status":400}'
    )


@pytest.mark.parametrize("error", [StorageFull, Unavailable, TooManyRequests])
def test_what_passes_says_when_to_come_again(error: type[DragomanError]) -> None:
    assert respond(error("later")).headers["retry-after"] == "1"


def test_a_missing_token_says_how_to_show_one() -> None:
    assert respond(TokenInvalid("no")).headers["www-authenticate"] == "Bearer"
    assert "www-authenticate" not in respond(PermissionDenied("no")).headers


@pytest.mark.parametrize(
    ("path", "status", "title"),
    [
        ("/fail/unsupported", 400, "Unsupported Agent"),
        ("/fail/ended", 410, "Session Ended"),
        ("/fail/full", 507, "Storage Full"),
        ("/fail/teapot", 400, "Invalid Request"),
        ("/raw", 404, "Session Not Found"),
        ("/nowhere", 404, "Not Found"),
        ("/", 404, "Not Found"),
    ],
)
def test_errors_of_handlers_and_routing_are_problems(
    port: int, path: str, status: int, title: str
) -> None:
    answer = ask(port, request(path, "Host: x"))
    assert answer.status == status
    assert answer.problem["title"] == title
    assert answer.problem["instance"] == path


def test_a_wrong_method_keeps_its_allow_header(port: int) -> None:
    answer = ask(port, request("/fail/ended", "Host: x", method="DELETE"))
    assert answer.status == 405
    assert answer.problem["type"] == "urn:dragoman:error:method_not_allowed"
    assert set((answer.header("allow") or "").split(", ")) == {"GET", "HEAD", "POST"}


def test_a_raw_endpoint_answers_a_problem_with_headers_of_its_own(port: int) -> None:
    answer = ask(port, request("/raw", "Host: x", method="POST"))
    assert answer.status == 403
    assert answer.problem["detail"] == "no"
    assert answer.header("x-more") == "1"


def test_an_instance_is_a_uri(port: int) -> None:
    answer = ask(port, request("/no%20where/%C3%A9%22", "Host: x"))
    assert answer.problem["instance"] == "/no%20where/%C3%A9%22"


def test_a_defect_is_logged_once_and_not_told(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = ask(port, request("/fail/defect", "Host: x"))
        # The log is written after the answer; once the loop answers again, it is.
        ask(port, request("/nowhere", "Host: x"))
    assert answer.status == 500
    assert answer.problem["type"] == "urn:dragoman:error:internal_error"
    assert b"secret" not in answer.body
    traced = [record for record in caplog.records if record.exc_info]
    assert len(traced) == 1
    assert "the secret of line 7" in caplog.text


def test_an_error_of_the_framework_is_a_defect_too(port: int) -> None:
    answer = ask(port, request("/fail/gateway", "Host: x"))
    assert answer.problem["title"] == "Internal Error"
    assert b"secret" not in answer.body
