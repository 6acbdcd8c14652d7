"""Every route, while a process runs that many sessions share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.http.routes import ROUTES
from dragoman.schema.export import Media
from tests.shared_agent import SharedAgentDaemon
from tests.testing.story import Talk

_QUERIES = {
    "/v1/fs/file": "?path=note.txt",
    "/v1/fs/entry": "?path=gone.txt",
    "/v1/fs/stat": "?path=note.txt",
    "/v1/fs/mkdir": "?path=made",
}
_AFTER = ("delete_session", "terminate_session", "revoke_token", "logout")
"""What takes something away that the others need."""
_NOT_TRIED = {
    "upload_batch": "a tar archive is no JSON",
    "write_file": "a file is no JSON",
}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SharedAgentDaemon]:
    started = SharedAgentDaemon(tmp_path / "data", env={"SHARED_AGENT_HOME": str(tmp_path)})
    started.start()
    (started.files / "note.txt").write_text("hello")
    try:
        yield started
    finally:
        started.stop()


def test_case_38_no_route_fails_while_a_shared_process_runs(daemon: SharedAgentDaemon) -> None:
    """Before, `GET /v1/status` was 500: the uptime of the process was read off the loop."""
    talk = Talk(daemon, agent="shared")
    talk.turn("pid")
    names = {"session_id": talk.id, "agent": "shared"}
    operations = [
        route.operation
        for route in ROUTES
        if route.operation.path.startswith("/v1/") and route.operation.name not in _NOT_TRIED
    ]
    failures = []
    for operation in sorted(operations, key=lambda each: each.name in _AFTER):
        path = re.sub(r"{(\w+)}", lambda found: names.get(found[1], "none"), operation.path)
        path = path.removeprefix("/v1") + _QUERIES.get(operation.path, "")
        body: object = {} if operation.body else None
        if operation.response is Media.EVENT_STREAM and operation.method == "get":
            with daemon.stream(path) as stream:
                status = stream.status
        else:
            status = daemon.request(operation.method.upper(), path, body).status
        if status >= 500:
            failures.append((operation.name, status))
    assert failures == []


def test_case_38_the_status_tells_of_the_shared_process(daemon: SharedAgentDaemon) -> None:
    """Before, this was 500 for as long as the process ran."""
    Talk(daemon, agent="shared").turn("pid")
    agents = {each["id"]: each for each in daemon.get("/status")["agents"]}
    assert agents["shared"]["serverStatus"]["status"] == "running"
    assert agents["shared"]["serverStatus"]["uptimeMs"] >= 0
