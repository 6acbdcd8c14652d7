"""Ids, creation, problems and methods: what a request gets, by the sentence."""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import Any

import pytest

from dragoman import __version__
from tests.daemon import Daemon, Reply, running

CAPABILITIES = (
    "planMode", "permissions", "questions", "toolCalls", "toolResults", "textMessages",
    "images", "fileAttachments", "sessionLifecycle", "errorEvents", "reasoning", "status",
    "commandExecution", "fileChanges", "mcpTools", "streamingDeltas", "itemStarted",
    "sharedProcess", "variants", "subagents", "usage", "resume", "interrupt", "steer", "fork",
)  # fmt: skip


def problem(reply: Reply, status: int, title: str) -> Any:
    """The problem document of an answer, checked as far as every one is the same."""
    assert reply.status == status, (reply.status, reply.body)
    assert reply.headers["content-type"] == "application/problem+json"
    document = reply.json
    assert document["status"] == status
    assert document["title"] == title
    assert document["type"] == "urn:dragoman:error:" + title.lower().replace(" ", "_")
    assert document["detail"]
    return document


def raw(daemon: Daemon, method: str, path: str, body: bytes, content_type: str | None) -> Reply:
    """A body exactly as given, under any name or none."""
    connection = daemon.connect()
    headers = daemon.headers(**({"Content-Type": content_type} if content_type else {}))
    try:
        connection.request(method, f"/v1{path}", body, headers)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, found, answer.read())
    finally:
        connection.close()


# --- Ids ---


@pytest.mark.parametrize("session", ["a", "A.b_c-9", "...", "-", "x" * 128, "%41bc"])
def test_ids_of_these_characters_are_taken(daemon: Daemon, session: str) -> None:
    daemon.create(session)
    assert daemon.get(f"/sessions/{session}")["sessionId"] == session.replace("%41", "A")


IMPOSSIBLE = ("x" * 129, "%2e", "%2e%2e", "a%20b", "a%0a", "%C3%A9", "%FF", "a%00b", "a%2Fb", "a:b")


@pytest.mark.parametrize("session", IMPOSSIBLE)
def test_other_ids_are_400_whatever_is_asked(daemon: Daemon, session: str) -> None:
    for method, path, body in (
        ("POST", "", {"agent": "mock"}),
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("DELETE", "", None),
        ("GET", "/events", None),
        ("GET", "/events/sse", None),
        ("GET", "/pending", None),
        ("POST", "/messages", {"message": "hi"}),
        ("POST", "/messages/stream", {"message": "hi"}),
        ("POST", "/terminate", None),
        ("POST", "/permissions/p/reply", {"reply": "once"}),
    ):
        document = problem(
            daemon.request(method, f"/sessions/{session}{path}", body), 400, "Invalid Request"
        )
        assert document["details"]["field"] in ("sessionId", "path")


def test_an_encoded_slash_reaches_no_other_route(daemon: Daemon) -> None:
    daemon.create("slash")
    assert daemon.request("POST", "/sessions/slash%2Fterminate").status == 400
    assert daemon.get("/sessions/slash")["ended"] is False


def test_an_id_once_used_is_never_free_again(daemon: Daemon) -> None:
    daemon.create("used")
    again = daemon.request("POST", "/sessions/used", {"agent": "mock"})
    assert problem(again, 409, "Session Already Exists")["sessionId"] == "used"
    assert daemon.request("DELETE", "/sessions/used").status == 204
    after = daemon.request("POST", "/sessions/used", {"agent": "mock"})
    assert problem(after, 409, "Session Already Exists")["sessionId"] == "used"
    problem(daemon.request("GET", "/sessions/used"), 404, "Session Not Found")


def test_an_id_is_not_free_again_after_a_restart(data_dir: Path) -> None:
    with running(data_dir) as first:
        first.create("used")
        assert first.request("DELETE", "/sessions/used").status == 204
    with running(data_dir) as second:
        again = second.request("POST", "/sessions/used", {"agent": "mock"})
        problem(again, 409, "Session Already Exists")


# --- Create ---


def test_create_under_a_chosen_id_is_200(daemon: Daemon) -> None:
    reply = daemon.request("POST", "/sessions/chosen", {"agent": "mock"})
    assert reply.status == 200
    assert reply.json == {"sessionId": "chosen", "healthy": True}


def test_create_without_an_id_is_201_with_its_location(daemon: Daemon) -> None:
    reply = daemon.request("POST", "/sessions", {"agent": "mock"})
    assert reply.status == 201
    session = reply.json["sessionId"]
    assert reply.json == {"sessionId": session, "healthy": True}
    assert reply.headers["location"] == f"/v1/sessions/{session}"
    assert daemon.get(f"/sessions/{session}")["agent"] == "mock"


def test_create_asks_for_no_version_that_there_is_not(daemon: Daemon) -> None:
    reply = daemon.request("POST", "/sessions/odd", {"agent": "mock", "agentVersion": "9.9"})
    assert (reply.status, reply.json["details"]) == (400, {"field": "agentVersion"})
    assert f"its version is {__version__}" in reply.json["detail"]
    assert daemon.request("GET", "/sessions/odd").status == 404


def test_create_commits_session_started_before_it_answers(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("first", model="mock-large", variant="high", agentVersion=__version__)
        daemon.kill()
        daemon.start()
        (started,) = daemon.events("first")
    assert started["type"] == "session.started"
    assert (started["source"], started["synthetic"]) == ("daemon", True)
    assert started["data"]["metadata"] == {
        "agent": "mock",
        "agentVersion": __version__,
        "agentMode": "build",
        "permissionMode": "default",
        "model": "mock-large",
        "variant": "high",
        "directory": str(daemon.cwd),
    }


def test_an_unknown_agent_is_400_everywhere(daemon: Daemon) -> None:
    for method, path, body in (
        ("POST", "/sessions/x1", {"agent": "nobody"}),
        ("POST", "/sessions", {"agent": "nobody"}),
        ("GET", "/agents/nobody/modes", None),
        ("GET", "/agents/nobody/models", None),
    ):
        document = problem(daemon.request(method, path, body), 400, "Unsupported Agent")
        assert document["agent"] == "nobody"
        assert "mock" in document["detail"]
    problem(daemon.request("GET", "/sessions/x1"), 404, "Session Not Found")


def test_an_agent_that_is_not_installed_is_404(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MOCK_COMMAND": "no-such-program"}) as daemon:
        reply = daemon.request("POST", "/sessions/x", {"agent": "mock"})
        document = problem(reply, 404, "Agent Not Installed")
        assert document["agent"] == "mock"
        assert "no-such-program" in document["detail"]
        (listed,) = [a for a in daemon.get("/agents")["agents"] if a["id"] == "mock"]
        assert listed["installed"] is False
        assert "path" not in listed


def test_an_unknown_mode_is_400_and_names_the_known_ones(daemon: Daemon) -> None:
    reply = daemon.request("POST", "/sessions/x2", {"agent": "mock", "agentMode": "dance"})
    document = problem(reply, 400, "Mode Not Supported")
    assert document["details"]["field"] == "agentMode"
    for mode in daemon.get("/agents/mock/modes")["modes"]:
        assert mode["id"] in document["detail"]


@pytest.mark.parametrize(
    "directory", ["relative", "/no/such/folder", "/dev/null", "/" + "x" * 5000]
)
def test_a_directory_that_is_none_is_400(daemon: Daemon, directory: str) -> None:
    reply = daemon.request("POST", "/sessions", {"agent": "mock", "directory": directory})
    assert problem(reply, 400, "Invalid Request")["details"]["field"] == "directory"


# --- Problems, methods, paths ---


def test_health_is_public_and_says_no_more_than_ok(daemon: Daemon) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
    try:
        connection.request("GET", "/v1/health")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path", ["/nothing", "/sessions/", "/sessions/s/", "/health/", "/sessions/s/x"]
)
def test_a_path_that_is_none_is_a_404_problem(daemon: Daemon, path: str) -> None:
    document = problem(daemon.request("GET", path), 404, "Not Found")
    assert document["instance"] == f"/v1{path}"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/sessions/s", "DELETE, GET, HEAD, PATCH, POST"),
        ("DELETE", "/sessions", "GET, HEAD, POST"),
        ("GET", "/sessions/s/terminate", "POST"),
        ("POST", "/sessions/s/events/sse", "GET, HEAD"),
        ("OPTIONS", "/sessions/s", "DELETE, GET, HEAD, PATCH, POST"),
    ],
)
def test_another_method_is_405_and_names_all_that_are_possible(
    daemon: Daemon, method: str, path: str, allowed: str
) -> None:
    reply = daemon.request(method, path)
    assert allowed in problem(reply, 405, "Method Not Allowed")["detail"]
    assert reply.headers["allow"] == allowed


def test_head_answers_as_get_does_without_a_body(daemon: Daemon) -> None:
    daemon.create("head")
    for path in ("/health", "/sessions", "/sessions/head", "/sessions/head/events", "/agents",
                 "/sessions/head/events/sse"):  # fmt: skip
        reply = daemon.request("HEAD", path)
        assert (reply.status, reply.body) == (200, b"")
    assert daemon.request("HEAD", "/sessions/none").status == 404
    assert daemon.request("HEAD", "/sessions/none/events/sse").status == 404


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/sessions?limit=1&limit=2", "limit"),
        ("/sessions?agent=mock&agent=mock", "agent"),
        ("/events/sse?cursor=0&cursor=1", "cursor"),
        ("/sessions/any/events?include_raw=true&includeRaw=false", "includeRaw"),
        ("/fs/stat?path=a&path=b", "path"),
    ],
)
def test_a_parameter_that_is_given_twice_is_400(daemon: Daemon, path: str, field: str) -> None:
    reply = daemon.request("GET", path)
    found = problem(reply, 400, "Invalid Request")
    assert found["details"] == {"field": field}
    assert f"{field} is given twice" in found["detail"]


def test_every_route_of_a_session_knows_that_there_is_none(daemon: Daemon) -> None:
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("DELETE", "", None),
        ("GET", "/events", None),
        ("GET", "/events/sse", None),
        ("POST", "/messages", {"message": "hi"}),
        ("POST", "/messages/stream", {"message": "hi"}),
        ("POST", "/terminate", None),
        ("POST", "/interrupt", None),
        ("GET", "/pending", None),
        ("DELETE", "/pending/m", None),
        ("POST", "/permissions/p/reply", {"reply": "once"}),
        ("POST", "/questions/q/reply", {"answers": []}),
        ("POST", "/questions/q/reject", None),
    ):
        document = problem(
            daemon.request(method, f"/sessions/none{path}", body), 404, "Session Not Found"
        )
        assert document["sessionId"] == "none"


def test_answers_are_not_cached_nor_sniffed(daemon: Daemon) -> None:
    for path in ("/health", "/sessions", "/nothing"):
        reply = daemon.request("GET", path)
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_agents_are_listed_with_all_that_the_contract_names(daemon: Daemon) -> None:
    (mock,) = [agent for agent in daemon.get("/agents")["agents"] if agent["id"] == "mock"]
    assert mock["installed"] is True
    assert mock["credentialsAvailable"] is True
    assert Path(mock["path"]).exists()
    capabilities = mock["capabilities"]
    for name in CAPABILITIES:
        assert isinstance(capabilities[name], bool)
        assert capabilities["features"][name]["shown"] is capabilities[name]
    assert capabilities["stability"] in ("stable", "experimental")


def test_modes_and_models_are_listed(daemon: Daemon) -> None:
    for mode in daemon.get("/agents/mock/modes")["modes"]:
        assert set(mode) == {"id", "name", "description"}
    listed = daemon.get("/agents/mock/models")
    assert listed["defaultModel"] in [model["id"] for model in listed["models"]]
    for model in listed["models"]:
        assert set(model) <= {"id", "name", "variants", "defaultVariant"}
