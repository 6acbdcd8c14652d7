"""What Prometheus is told: valid, complete, and true."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dragoman.http.metrics import METRICS
from tests.daemon import Daemon, running
from tests.shared_agent import SharedAgentDaemon

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(daemon: Daemon, **headers: str) -> tuple[int, str, str]:
    connection = daemon.connect()
    try:
        connection.request("GET", "/metrics", headers=headers)
        answer: http.client.HTTPResponse = connection.getresponse()
        return answer.status, answer.getheader("Content-Type") or "", answer.read().decode()
    finally:
        connection.close()


def metrics(daemon: Daemon) -> Samples:
    status, media_type, text = scrape(daemon, **daemon.headers())
    assert (status, media_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found[f"dragoman_{name}", frozenset(labels.items())]


def test_what_happened_is_counted(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("a")
        daemon.turn("a", "hello")
        daemon.turn("a", "unparsed")
        daemon.turn("a", "error")
        daemon.create("b")
        daemon.request("POST", "/sessions/b/terminate")
        daemon.request("GET", "/sessions/none")
        with daemon.stream("/sessions/a/events/sse"), daemon.stream("/events/sse") as all_sessions:
            daemon.create("c")
            assert next(iter(all_sessions))["session_id"] == "c"
            found = metrics(daemon)
        events = sum(len(daemon.events(name)) for name in "abc")
        assert value(found, "events_total") == events
        assert value(found, "stored_events") == events
        assert value(found, "turns_started_total") == 3
        outcomes = [event["data"]["outcome"] for event in daemon.events("a") if
                    event["type"] == "turn.ended"]  # fmt: skip
        for outcome in ("completed", "failed", "interrupted"):
            count = outcomes.count(outcome)
            assert value(found, "turns_ended_total", outcome=outcome) == count
        assert value(found, "unparsed_total") >= 1
        assert value(found, "sessions", status="idle") == 2
        assert value(found, "sessions", status="ended") == 1
        assert value(found, "readers", of="session") == 1
        assert value(found, "readers", of="all") == 1
        assert value(found, "http_streams") == 2
        assert value(found, "processes", purpose="session") >= 1
        assert value(found, "processes_memory_bytes", purpose="session") > 1 << 20
        assert value(found, "store_bytes", part="database") > 0
        assert value(found, "commit_seconds_count") > 0
        assert value(found, "commit_seconds_bucket", le="+Inf") == value(
            found, "commit_seconds_count"
        )
        assert value(found, "fanout_seconds_count") >= 1
        route = "/v1/sessions/{session_id}"
        requests = "http_requests_total"
        assert value(found, requests, method="POST", route=route, status="200") == 3
        assert value(found, requests, method="GET", route=route, status="404") == 1


def test_processes_are_counted_as_they_start_and_exit(tmp_path: Path) -> None:
    shared = SharedAgentDaemon(tmp_path / "data", env={"SHARED_AGENT_HOME": str(tmp_path)})
    shared.start()
    try:
        for name in ("one", "two"):
            shared.create(name)
            shared.turn(name, "hello")
        for name in ("three", "four"):
            shared.create(name, agent="shared")
            shared.turn(name, "pid")
        shared.request("POST", "/sessions/one/terminate")
        found = metrics(shared)
        counts = {
            agent: tuple(
                value(found, f"process_{what}_total", agent=agent) for what in ("starts", "exits")
            )
            for agent in ("mock", "shared", "claude")
        }
        assert counts == {"mock": (2, 1), "shared": (1, 0), "claude": (0, 0)}
    finally:
        shared.stop()


def test_every_metric_is_one_that_is_known_and_each_of_these_is_told(daemon: Daemon) -> None:
    text = scrape(daemon, **daemon.headers())[2]
    told = {
        (family.name, family.type, family.documentation)
        for family in text_string_to_metric_families(text)
        if family.name.startswith("dragoman_")
    }
    assert told == {(f"dragoman_{each.name}", each.kind, each.help) for each in METRICS}
    assert {each.full_name for each in METRICS} >= {"dragoman_events_total", "dragoman_sessions"}


def test_what_is_refused_for_a_limit_is_counted_by_that_limit(data_dir: Path) -> None:
    env = {"DRAGOMAN_MAX_SESSIONS": "1", "DRAGOMAN_MAX_QUEUED": "1"}
    with running(data_dir, env=env) as daemon:
        daemon.create("a")
        assert daemon.request("POST", "/sessions/b", {"agent": "mock"}).status == 429
        daemon.send("a", "permission")
        daemon.wait_for("a", "permission.requested")
        daemon.send("a", "waits")
        path = "/sessions/a/messages/stream"
        assert daemon.request("POST", path, {"message": "too many"}).status == 429
        found = metrics(daemon)
        assert value(found, "refused_total", limit="max_sessions") == 1
        assert value(found, "refused_total", limit="max_queued") == 1
        assert value(found, "queued_messages") == 1
        assert value(found, "sessions", status="waiting") == 1


def test_unknown_paths_and_methods_make_no_new_rows(daemon: Daemon) -> None:
    before = len(metrics(daemon))
    for number in range(5):
        daemon.request("GET", f"/nothing/{number}")
        daemon.request("PURGE", f"/sessions/tea-{number}")
    found = metrics(daemon)
    requests = "http_requests_total"
    assert value(found, requests, method="GET", route="none", status="404") >= 5
    assert value(found, requests, method="other", route="/v1/sessions/{session_id}", status="405")
    assert len(found) - before <= 3


def test_metrics_need_a_token(daemon: Daemon) -> None:
    assert scrape(daemon)[0] == 401
    assert scrape(daemon, Authorization="Bearer wrong")[0] == 401


def test_metrics_are_open_on_loopback_where_the_settings_say_so(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_OPEN_METRICS": "true"}) as daemon:
        status, _, text = scrape(daemon)
        assert status == 200
        assert "dragoman_events_total 0.0" in text
        assert scrape(daemon, Host="evil.com")[0] == 403
        connection = daemon.connect()
        connection.request("GET", "/v1/status")
        assert connection.getresponse().status == 401
        connection.close()


def test_open_metrics_are_refused_where_others_could_read_them(data_dir: Path) -> None:
    with (
        pytest.raises(AssertionError, match=r"open_metrics is refused on 0\.0\.0\.0"),
        running(data_dir, "--host", "0.0.0.0", env={"DRAGOMAN_OPEN_METRICS": "true"}),
    ):
        pass


def test_a_daemon_that_nobody_scrapes_does_not_load_the_library() -> None:
    code = "import sys, dragoman.http.server; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
