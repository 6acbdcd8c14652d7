"""Requests in the log: under one id each, without what is nobody's business."""

from __future__ import annotations

import contextvars
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import logs
from dragoman.errors import DragomanError, InternalError, SessionNotFound, StorageFull
from dragoman.http.problems import problem
from tests.daemon import Daemon, running


def logged(daemon: Daemon) -> list[dict[str, Any]]:
    lines = (daemon.data_dir / "logs" / "daemon.log").read_text().splitlines()
    return [json.loads(line) for line in lines]


def requests(daemon: Daemon) -> list[dict[str, Any]]:
    return [line for line in logged(daemon) if line["message"] == "request"]


def test_a_sane_id_is_kept_and_given_back(daemon: Daemon) -> None:
    reply = daemon.request("GET", "/health", headers={"X-Request-Id": "trace-1.2:3/4=@+"})
    assert reply.headers["x-request-id"] == "trace-1.2:3/4=@+"


@pytest.mark.parametrize("given", ["", "with space", "a" * 129, "ü", '"quoted"', "a,b"])
def test_another_id_is_replaced(daemon: Daemon, given: str) -> None:
    reply = daemon.request("GET", "/health", headers={"X-Request-Id": given})
    assert reply.headers["x-request-id"].startswith("req_")


def test_every_answer_has_an_id_of_its_own(daemon: Daemon) -> None:
    daemon.create("ids")
    paths = (
        "/health",
        "/sessions",
        "/sessions/none",
        "/sessions/ids/events",
        "/events/sse?cursor=x",
    )
    given = [daemon.request("GET", path).headers["x-request-id"] for path in paths]
    refused = daemon.request("GET", "/sessions", headers={"Authorization": "Bearer wrong"})
    assert refused.status == 401
    given.append(refused.headers["x-request-id"])
    assert len(set(given)) == len(given)


def test_what_a_request_causes_is_logged_under_its_id(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.stop()
        daemon.start()
        path = "/sessions/s/messages/stream"
        reply = daemon.request("POST", path, {"message": "hello"}, {"X-Request-Id": "the-turn"})
        assert reply.status == 200
        daemon.request("POST", "/sessions/s/terminate", headers={"X-Request-Id": "the-end"})
    lines = logged(daemon)
    (started,) = [line for line in lines if line["message"] == "agent started"]
    assert started["request_id"] == "the-turn"
    # The session's task was started by the first request, and what it does now is not its.
    later = [line for line in lines if line["message"] == "agent ended"]
    assert all(line.get("request_id") != "the-turn" for line in later)
    told = {line["request_id"]: line for line in requests(daemon)}
    assert told["the-turn"]["route"] == "/v1/sessions/{session_id}/messages/stream"
    assert told["the-turn"]["path"] == "/v1/sessions/s/messages/stream"
    assert (told["the-turn"]["status"], told["the-end"]["status"]) == (200, 204)
    assert told["the-end"]["caller"] == "default"


def test_a_defect_of_ours_names_the_id_to_look_for() -> None:
    def told(error: DragomanError) -> dict[str, Any] | None:
        request = logs.answering("find-me")
        details = problem(error, None).details
        request.over = True
        assert problem(error, None).details is None
        return details

    context = contextvars.copy_context()
    assert context.run(told, InternalError("a defect")) == {"requestId": "find-me"}
    assert context.run(told, StorageFull("no room")) is None
    assert context.run(told, SessionNotFound("s")) is None


def test_changes_and_refusals_leave_a_line_and_reading_does_not(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.get("/sessions")
        daemon.request("GET", "/sessions/none")
    told = [(line["method"], line["status"]) for line in requests(daemon)]
    assert told == [("POST", 200), ("GET", 404)]


@pytest.mark.parametrize(("wanted", "count"), [("all", 2), ("none", 0)])
def test_how_much_is_logged_is_a_setting(data_dir: Path, wanted: str, count: int) -> None:
    with running(data_dir, env={"DRAGOMAN_ACCESS_LOG": wanted}) as daemon:
        daemon.get("/sessions")
        daemon.request("GET", "/sessions/none")
    assert len(requests(daemon)) == count


def test_case_05_neither_query_nor_token_is_logged(data_dir: Path) -> None:
    with running(data_dir, "--log-level", "debug", env={"DRAGOMAN_ACCESS_LOG": "all"}) as daemon:
        assert daemon.request("GET", "/sessions?token=query-secret").status == 400
        assert daemon.request("GET", "/sessions?q=private-words").status == 200
        wrong = {"Authorization": "Bearer header-secret"}
        assert daemon.request("GET", "/sessions", headers=wrong).status == 401
        daemon.create("s")
        token = daemon.token
    text = (data_dir / "logs" / "daemon.log").read_text()
    assert len(requests(daemon)) == 4
    for secret in ("query-secret", "private-words", "header-secret", token, "q="):
        assert secret not in text
