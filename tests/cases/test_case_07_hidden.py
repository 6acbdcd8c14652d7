"""Case 7: an agent that hides who holds its connection is not taken for a person either."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.daemon import Daemon

from .common import wait_for_agent
from .culprits import WORDS
from .puppet import BEGIN, MESSAGE, line, prompt, write
from .users import APPROVER, User, ordinary_user, this_user

WAYS = ("plain", "thread", "leaderless", "in_flight", "undumpable")
ASK = line("ask_permission", key="p1", action="Bash", metadata={"input": {"command": "rm -rf /"}})
USERS = {"this_user": this_user, "ordinary_user": ordinary_user}


class Stage:
    """A user's daemon, on which agents try to act for the person."""

    def __init__(self, user: User, daemon: Daemon) -> None:
        self.user = user
        self.daemon = daemon

    def permission(self, session: str) -> str:
        """The path of the reply to what an agent waits for."""
        self.daemon.create(session)
        self.daemon.send(session, prompt(*write(BEGIN + ASK), ["stay"]))
        found = self.daemon.wait_for(session, "permission.requested")["data"]["permission_id"]
        return f"/sessions/{session}/permissions/{found}/reply"

    def waiting(self, session: str) -> int:
        """How many permissions of a session wait."""
        return len(self.daemon.get(f"/sessions/{session}/pending")["permissions"])

    def agent_gets(self, session: str, way: str, *requests: str) -> list[Any]:
        """What an agent gets for its requests when it holds its sockets in this way."""
        report = self.user.folder / f"{session}.json"
        words = (str(self.daemon.port), str(self.daemon.data_dir / "token"), str(report), way)
        start = ["start", [str(APPROVER), *words, *requests]]
        self.daemon.create(session)
        self.daemon.send(session, prompt(start, *write(BEGIN + MESSAGE + WORDS), ["stay"]))
        wait_for_agent(self.daemon, session, "item.delta")
        told = json.loads(report.read_text())
        assert told["seen"] == []
        answers: list[Any] = told["answers"]
        return answers


@pytest.fixture(scope="module", params=USERS)
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    with ExitStack() as stack:
        user = stack.enter_context(USERS[request.param]())
        yield Stage(user, stack.enter_context(user.daemon()))


@pytest.mark.parametrize("way", WAYS)
def test_case_07_an_agent_that_cannot_be_seen_cannot_approve(stage: Stage, way: str) -> None:
    """Before, a socket that no process was seen to hold was taken for a person's."""
    reply = stage.permission(f"asks-{way}")
    (ticket,) = stage.user.ask(stage.daemon, "POST /v1/tickets")
    assert ticket[0] == 201
    answers = stage.agent_gets(
        f"hand-{way}", way,
        f'POST /v1{reply} {{"reply":"once"}}',
        'POST /v1/tokens {"name":"mine","scopes":["admin"]}',
        f'PATCH /v1/sessions/asks-{way} {{"permissionMode":"bypass"}}',
        "POST /v1/tickets",
        f"POST /v1/login {json.dumps(ticket[1])}",
        "GET /v1/sessions",
        f"GET /v1/sessions/asks-{way}/events",
    )  # fmt: skip
    refused, read = answers[:-2], answers[-2:]
    for status, problem, cookie in refused:
        assert (status, problem["title"], cookie) == (403, "Permission Denied", None)
        seen = "which an agent has started" in problem["detail"]
        assert seen or "cannot be seen" in problem["detail"]
        assert seen or way in ("in_flight", "undumpable")
    assert [status for status, *_ in read] == [200, 200]
    assert stage.waiting(f"asks-{way}") == 1
    listed, login = stage.user.ask(
        stage.daemon, "GET /v1/tokens", f"POST /v1/login {json.dumps(ticket[1])}"
    )
    assert listed[:2] == [200, {"tokens": []}]
    assert login[0] == 204


def test_case_07_people_pass_while_agents_run(stage: Stage) -> None:
    """The command line is seen, and what no agent can read need not be: a name, a cookie."""
    daemon, user = stage.daemon, stage.user
    by_name, by_page, by_hand = (stage.permission(f"for-{who}") for who in ("name", "page", "cli"))
    made, ticket = user.ask(
        daemon, 'POST /v1/tokens {"name":"phone","scopes":["approve"]}', "POST /v1/tickets"
    )
    (login,) = user.ask(daemon, f"POST /v1/login {json.dumps(ticket[1])}")
    named = {"Authorization": f"Bearer {made[1]['token']}"}
    cookie = {
        "Cookie": login[2].partition(";")[0],
        "Origin": f"http://127.0.0.1:{daemon.port}",
    }
    assert daemon.request("POST", by_name, {"reply": "once"}, named).status == 204
    assert asked_by_page(daemon, by_page, cookie) == 204
    session, _, permission = by_hand.removeprefix("/sessions/").split("/")[:3]
    words = ("reply", session, permission, "once", "--data-dir", str(daemon.data_dir))
    done = user.run("-m", Daemon.MODULE, *words)
    assert done.returncode == 0, done.stderr
    for who in ("name", "page", "cli"):
        assert stage.waiting(f"for-{who}") == 0
    assert user.ask(daemon, "DELETE /v1/tokens/phone")[0][0] == 204


def asked_by_page(daemon: Daemon, path: str, headers: dict[str, str]) -> int:
    """The status that a page gets, which has a cookie and no token."""
    connection = daemon.connect()
    headers = {**headers, "Content-Type": "application/json"}
    connection.request("POST", f"/v1{path}", '{"reply":"once"}', headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_case_07_a_caller_of_another_user_is_told_what_would_be_right() -> None:
    """Whom the daemon may not look into needs more than the token that agents can read."""
    with ordinary_user() as user, user.daemon() as daemon:
        stage = Stage(user, daemon)
        # Nothing to be told apart from while no agent runs.
        admin = {"name": "mine", "scopes": ["admin", "approve"]}
        made = daemon.request("POST", "/tokens", admin)
        assert made.status == 201
        reply = stage.permission("asks")
        refused = daemon.request("POST", reply, {"reply": "once"})
        assert (refused.status, refused.json["title"]) == (403, "Permission Denied")
        assert "use one with a name, which `dragoman token create`" in refused.json["detail"]
        named = {"Authorization": f"Bearer {made.json['token']}"}
        assert daemon.request("POST", reply, {"reply": "once"}, named).status == 204


def test_case_07_a_token_that_is_in_no_file_is_as_good_as_one_with_a_name() -> None:
    """The daemon's own token proves something where it was given, so that agents cannot read it."""
    # A plain word might stand in the command line of anything that started these tests.
    token = secrets.token_hex()
    with ordinary_user() as user, user.daemon(DRAGOMAN_TOKEN=token) as daemon:
        (daemon.data_dir / "token").write_text(token)  # for us, who talk to it
        reply = Stage(user, daemon).permission("asks")
        assert daemon.request("POST", reply, {"reply": "once"}).status == 204
