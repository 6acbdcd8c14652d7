"""What the client sends, and how it reads the answers."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.client import BadAnswer, Client, Unreachable
from dragoman.errors import (
    AlreadyResolved,
    DaemonError,
    InternalError,
    InvalidRequest,
    NotFound,
    RequestError,
    SessionNotFound,
    StorageFull,
)
from dragoman.schema.commands import Attachment
from dragoman.schema.http import CreateSession, PatchSession
from tests.client.canned import TOKEN, Answer, Canned, delta, session_info

NO_CONTENT = Answer(204)


def test_health_is_decoded_and_the_token_shown(daemon: Canned, client: Client) -> None:
    daemon.on("GET", "/v1/health", Answer(body={"status": "ok"}))
    assert client.health().status == "ok"
    assert daemon.seen[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_sessions_are_listed_with_only_the_filters_given(daemon: Canned, client: Client) -> None:
    daemon.on("GET", "/v1/sessions", Answer(body={"sessions": [session_info()], "nextCursor": "c"}))
    found = client.sessions(agent="mock", status="idle", limit=5)
    assert found.sessions[0].session_id == "s1"
    assert found.next_cursor == "c"
    assert daemon.seen[0].query == {"agent": "mock", "status": "idle", "limit": "5"}


def test_create_without_an_id_takes_the_daemons(daemon: Canned, client: Client) -> None:
    daemon.on("POST", "/v1/sessions", Answer(201, {"sessionId": "sess_9", "healthy": True}))
    made = client.create(CreateSession(agent="mock", agent_mode="plan"))
    assert made.session_id == "sess_9"
    assert daemon.seen[0].json() == {"agent": "mock", "agentMode": "plan"}
    assert daemon.seen[0].headers["content-type"] == "application/json"


def test_create_with_an_id_keeps_it(daemon: Canned, client: Client) -> None:
    daemon.on("POST", "/v1/sessions/mine", Answer(200, {"healthy": True}))
    assert client.create(CreateSession(agent="mock"), "mine").session_id == "mine"


def test_what_a_create_says_is_wrong_is_kept(daemon: Canned, client: Client) -> None:
    told = {"sessionId": "mine", "healthy": False, "error": "it coughs"}
    daemon.on("POST", "/v1/sessions/mine", Answer(200, told))
    created = client.create(CreateSession(agent="mock"), "mine")
    assert (created.healthy, created.error) == (False, "it coughs")


def test_get_and_patch_return_the_session(daemon: Canned, client: Client) -> None:
    daemon.on("GET", "/v1/sessions/s1", Answer(body=session_info(title="old")))
    daemon.on("PATCH", "/v1/sessions/s1", Answer(body=session_info(title="new")))
    assert client.get("s1").title == "old"
    assert client.patch("s1", PatchSession(title="new")).title == "new"
    assert daemon.seen[1].json() == {"title": "new"}


def test_send_returns_the_message_id_and_shows_the_key(daemon: Canned, client: Client) -> None:
    daemon.on(
        "POST", "/v1/sessions/s1/messages", Answer(204, headers={"dragoman-message-id": "msg_1"})
    )
    attachment = Attachment(path="/tmp/a.png", mime="image/png")
    assert client.send("s1", "hi", idempotency_key="k", attachments=[attachment]) == "msg_1"
    assert daemon.seen[0].headers["idempotency-key"] == "k"
    assert daemon.seen[0].json() == {
        "message": "hi",
        "attachments": [{"path": "/tmp/a.png", "mime": "image/png"}],
    }


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_message_that_says_nothing_is_refused_before_it_is_sent(
    daemon: Canned, client: Client, text: str
) -> None:
    with pytest.raises(InvalidRequest, match="needs words"):
        client.send("s1", text)
    with pytest.raises(InvalidRequest, match="needs words"):
        list(client.stream_turn("s1", text))
    assert not daemon.seen


def test_an_accepted_message_without_an_id_is_a_bad_answer(daemon: Canned, client: Client) -> None:
    daemon.on("POST", "/v1/sessions/s1/messages", NO_CONTENT)
    with pytest.raises(BadAnswer, match="names no message"):
        client.send("s1", "hi")


@pytest.mark.parametrize(
    ("act", "method", "path", "body"),
    [
        (lambda c: c.install("a"), "POST", "/v1/agents/a/install", {"reinstall": False}),
        (lambda c: c.install("a", True), "POST", "/v1/agents/a/install", {"reinstall": True}),
        (lambda c: c.delete("s1"), "DELETE", "/v1/sessions/s1", None),
        (lambda c: c.terminate("s1"), "POST", "/v1/sessions/s1/terminate", None),
        (lambda c: c.interrupt("s1"), "POST", "/v1/sessions/s1/interrupt", None),
        (lambda c: c.cancel_pending("s1", "m"), "DELETE", "/v1/sessions/s1/pending/m", None),
        (
            lambda c: c.reply_permission("s1", "p", "reject", message="no"),
            "POST",
            "/v1/sessions/s1/permissions/p/reply",
            {"reply": "reject", "message": "no"},
        ),
        (
            lambda c: c.reply_question("s1", "q", [["A", "B"], ["C"]]),
            "POST",
            "/v1/sessions/s1/questions/q/reply",
            {"answers": [["A", "B"], ["C"]]},
        ),
        (
            lambda c: c.reject_question("s1", "q"),
            "POST",
            "/v1/sessions/s1/questions/q/reject",
            None,
        ),
    ],
)
def test_commands_go_to_their_paths(
    daemon: Canned,
    client: Client,
    act: Callable[[Client], None],
    method: str,
    path: str,
    body: Any,
) -> None:
    daemon.on(method, path, NO_CONTENT)
    act(client)
    (seen,) = daemon.seen
    assert (seen.method, seen.path) == (method, path)
    assert (seen.json() if seen.content else None) == body


def test_models_and_modes_are_listed(daemon: Canned, client: Client) -> None:
    models = {"models": [{"id": "m", "variants": ["low"]}], "defaultModel": "m"}
    modes = {"modes": [{"id": "plan", "name": "Plan", "description": "Looks."}]}
    daemon.on("GET", "/v1/agents/a/models", Answer(body=models))
    daemon.on("GET", "/v1/agents/a/modes", Answer(body=modes))
    assert client.models("a", refresh=True).models[0].variants == ("low",)
    assert client.models("a").default_model == "m"
    assert client.modes("a").modes[0].id == "plan"
    assert [seen.query for seen in daemon.seen] == [{"refresh": "true"}, {}, {}]


def test_pending_holds_messages_and_requests(daemon: Canned, client: Client) -> None:
    asked = {"permission_id": "p1", "action": "Bash", "status": "requested", "metadata": None}
    waiting = {"messageId": "m1", "message": "later", "createdAt": 1}
    daemon.on(
        "GET",
        "/v1/sessions/s1/pending",
        Answer(body={"messages": [waiting], "permissions": [asked], "questions": []}),
    )
    pending = client.pending("s1")
    assert pending.messages[0].message_id == "m1"
    assert pending.permissions[0].permission_id == "p1"


def test_a_page_holds_typed_events(daemon: Canned, client: Client) -> None:
    one = delta(4, "x")
    daemon.on("GET", "/v1/sessions/s1/events", Answer(body={"events": [one], "hasMore": True}))
    page = client.events("s1", offset=3, limit=1, include_raw=True)
    assert page.events == (one,)
    assert page.has_more
    assert daemon.seen[0].query == {"offset": "3", "limit": "1", "includeRaw": "true"}


def test_the_version_is_that_of_the_api_description(daemon: Canned, client: Client) -> None:
    daemon.on("GET", "/v1/openapi.json", Answer(body={"info": {"title": "x", "version": "9.9"}}))
    assert client.version() == "9.9"


def test_an_id_is_one_segment_of_the_path(daemon: Canned, client: Client) -> None:
    daemon.on("GET", "/v1/sessions/a%2Fb%3Fc", Answer(body=session_info("a/b?c")))
    assert client.get("a/b?c").session_id == "a/b?c"
    with pytest.raises(InvalidRequest):
        client.get("..")


def test_a_known_problem_is_its_own_exception(daemon: Canned, client: Client) -> None:
    daemon.problem(
        "GET", "/v1/sessions/no", 404, "Session Not Found", detail="there is none", sessionId="no"
    )
    with pytest.raises(SessionNotFound, match="there is none") as caught:
        client.get("no")
    assert caught.value.session_id == "no"


def test_the_details_of_a_problem_are_kept(daemon: Canned, client: Client) -> None:
    daemon.problem(
        "POST",
        "/v1/sessions/s1/permissions/p/reply",
        409,
        "Already Resolved",
        details={"winner": "reject"},
    )
    with pytest.raises(AlreadyResolved) as caught:
        client.reply_permission("s1", "p", "once")
    assert caught.value.details == {"winner": "reject"}


@pytest.mark.parametrize(
    ("status", "title", "kind"),
    [
        (404, "Not Found", NotFound),
        (404, "Something New", NotFound),
        (400, "Something New", InvalidRequest),
        (418, "Teapot", RequestError),
        (500, "Something Odd", InternalError),
        (507, "Storage Full", StorageFull),
        (599, "Something New", DaemonError),
    ],
)
def test_an_unknown_problem_is_the_exception_of_its_status(
    daemon: Canned, client: Client, status: int, title: str, kind: type[Exception]
) -> None:
    daemon.problem("GET", "/v1/agents", status, title)
    with pytest.raises(kind, match=title) as caught:
        client.agents()
    assert type(caught.value) is kind


def test_an_answer_that_is_no_daemons_is_a_bad_answer(daemon: Canned, client: Client) -> None:
    daemon.on("GET", "/v1/agents", Answer(200, b"<html>"))
    with pytest.raises(BadAnswer):
        client.agents()
    daemon.on("GET", "/v1/agents", Answer(502, b"<html>"))
    with pytest.raises(BadAnswer, match="502"):
        client.agents()


def test_nobody_listening_is_unreachable(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with Client(url, data_dir=tmp_path) as client:
        with pytest.raises(Unreachable, match="dragoman serve"):
            client.health()
        with pytest.raises(Unreachable):
            next(client.follow("s1"))


def test_proxies_do_not_see_what_stays_on_this_machine(
    daemon: Canned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    daemon.on("GET", "/v1/health", Answer(body={"status": "ok"}))
    with Client(daemon.url, data_dir=tmp_path) as client:
        assert client.health().status == "ok"
