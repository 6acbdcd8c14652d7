"""Case 7: an agent is handed no token; with a stolen one it still cannot approve itself."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import Daemon, running

from .common import wait_for_agent
from .culprits import WORDS
from .puppet import BEGIN, ENV, MESSAGE, line, prompt, write
from .users import APPROVER

ASK = line("ask_permission", key="p1", action="Bash", metadata={"input": {"command": "rm -rf /"}})


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), env=ENV) as started:
        yield started


def asked(daemon: Daemon, session: str, *then: list[Any]) -> str:
    """A session whose agent waits for leave; the id of what it asked."""
    daemon.create(session)
    daemon.send(session, prompt(*write(BEGIN + ASK), *then, ["stay"]))
    found: str = daemon.wait_for(session, "permission.requested")["data"]["permission_id"]
    return found


def test_case_07_an_agent_that_steals_the_token_cannot_approve(
    daemon: Daemon, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    mine = asked(daemon, "thief")
    other = asked(daemon, "victim")
    requests = (
        f'POST /v1/sessions/thief/permissions/{mine}/reply {{"reply":"once"}}',
        f'POST /v1/sessions/victim/permissions/{other}/reply {{"reply":"always"}}',
        'PATCH /v1/sessions/thief {"permissionMode":"bypass"}',
        'POST /v1/sessions {"agent":"mock","permissionMode":"bypass"}',
        'POST /v1/tokens {"name":"mine","scopes":["admin"]}',
    )
    words = [str(APPROVER), str(daemon.port), str(daemon.data_dir / "token"), str(report), "plain"]
    daemon.create("hand")
    said = write(BEGIN + MESSAGE + WORDS)
    daemon.send("hand", prompt(["start", [*words, *requests]], *said, ["stay"]))
    wait_for_agent(daemon, "hand", "item.delta")
    told = json.loads(report.read_text())
    assert told["seen"] == []
    for status, problem, _ in told["answers"]:
        assert (status, problem["title"]) == (403, "Permission Denied")
        assert "an agent has started" in problem["detail"]
    for session, permission in (("thief", mine), ("victim", other)):
        waiting = daemon.get(f"/sessions/{session}/pending")["permissions"]
        assert [each["permission_id"] for each in waiting] == [permission]
    assert daemon.get("/tokens") == {"tokens": []}
    # A person with the same token may.
    path = f"/sessions/thief/permissions/{mine}/reply"
    assert daemon.request("POST", path, {"reply": "once"}).status == 204


def test_case_07_the_token_is_for_its_owner_only(daemon: Daemon) -> None:
    for name in ("token", "daemon.json"):
        mode = stat.S_IMODE((daemon.data_dir / name).stat().st_mode)
        assert mode == 0o600, name
    daemon.request("POST", "/tokens", {"name": "kept", "scopes": ["read"]})
    kept = daemon.data_dir / "tokens.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert daemon.request("DELETE", "/tokens/kept").status == 204


def test_case_07_a_reply_needs_the_scope_and_names_its_approver(daemon: Daemon) -> None:
    permission = asked(daemon, "scoped")
    path = f"/sessions/scoped/permissions/{permission}/reply"
    tokens = {
        scope: daemon.request("POST", "/tokens", {"name": f"a-{scope}", "scopes": [scope]}).json
        for scope in ("read", "write", "approve")
    }
    for scope in ("read", "write"):
        headers = {"Authorization": f"Bearer {tokens[scope]['token']}"}
        reply = daemon.request("POST", path, {"reply": "once"}, headers)
        assert (reply.status, reply.json["title"]) == (403, "Permission Denied")
        assert reply.json["details"] == {"scope": "approve"}
    headers = {"Authorization": f"Bearer {tokens['approve']['token']}"}
    assert daemon.request("POST", path, {"reply": "once"}, headers).status == 204
    resolved = daemon.wait_for("scoped", "permission.resolved")
    assert resolved["data"]["approver"] == {"token": "a-approve", "scope": "approve"}
