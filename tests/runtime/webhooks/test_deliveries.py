"""Webhooks of a real daemon, to a real receiver: in order, until taken, whoever dies meanwhile."""

from __future__ import annotations

import shutil
import sqlite3
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dragoman.runtime.webhooks.webhooks import MAX_WEBHOOKS
from tests.daemon import Daemon, running
from tests.http.test_metrics import metrics, value
from tests.runtime.webhooks.receiver import Receiver, receiving

PATIENT = {
    "DRAGOMAN_WEBHOOK_RETRY_S": "0.01",
    "DRAGOMAN_WEBHOOK_MAX_RETRY_S": "0.05",
    "DRAGOMAN_WEBHOOK_TIMEOUT_S": "600",
    "http_proxy": "http://127.0.0.1:9",
    "no_proxy": "",
}
"""Retries come at once, no answer takes too long, and a proxy would answer nothing."""
TURNS = ("turn.started", "turn.ended")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), env=PATIENT) as started:
        yield started


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


@pytest.fixture
def shared(daemon: Daemon) -> Iterator[Daemon]:
    """The daemon of this module, without the webhooks of other tests."""
    yield daemon
    for each in daemon.get("/hooks")["webhooks"]:
        assert daemon.request("DELETE", f"/hooks/{each['id']}").status == 204


def add(daemon: Daemon, receiver: Receiver, **more: Any) -> dict[str, Any]:
    reply = daemon.request("POST", "/hooks", {"url": receiver.url, **more})
    assert reply.status == 201, reply.body
    added: dict[str, Any] = reply.json
    assert reply.headers["location"] == f"/v1/hooks/{added['id']}"
    return added


def patch(daemon: Daemon, hook: dict[str, Any], **change: Any) -> dict[str, Any]:
    reply = daemon.request("PATCH", f"/hooks/{hook['id']}", change)
    assert reply.status == 200, reply.body
    changed: dict[str, Any] = reply.json
    return changed


def state(daemon: Daemon, hook: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = daemon.get(f"/hooks/{hook['id']}")
    return found


def ids_of(daemon: Daemon, session: str, *types: str) -> list[str]:
    """The ids of a session's events of these types, or of all but deltas."""
    return [
        event["event_id"]
        for event in daemon.events(session)
        if (event["type"] in types if types else event["type"] != "item.delta")
    ]


def delivered(receiver: Receiver, expected: list[str]) -> list[str]:
    """What the receiver took, once it has all of this."""
    return [each.id for each in receiver.wait_until_taken(expected)]


# --- Whoever dies ---


def test_a_receiver_that_fails_stalls_and_dies_gets_all_in_order_over_two_kills_of_the_daemon(
    data_dir: Path, receiver: Receiver
) -> None:
    env = {**PATIENT, "DRAGOMAN_WEBHOOK_TIMEOUT_S": "1.5"}
    with running(data_dir, env=env) as daemon:
        hook = add(daemon, receiver)
        receiver.answers = [500, "hang", 204, "drop", 302, 204, 429, 503, 404, 204, "drop"]
        daemon.create("s")
        daemon.turn("s", "demo")
        receiver.wait_for(11)
        daemon.kill()
        receiver.answers = [500, 204, "drop"]
        daemon.start()
        daemon.turn("s", "tool")
        receiver.wait_until_taken(ids_of(daemon, "s")[:20])
        receiver.kill()
        daemon.turn("s", "demo")
        assert state(daemon, hook)["pending"] > 0
        receiver.start()
        receiver.wait_for(len(receiver.arrivals) + 3)
        daemon.kill()
        daemon.start()
        daemon.turn("s", "echo the last one")
        expected = ids_of(daemon, "s")
        ids = delivered(receiver, expected)
        assert list(dict.fromkeys(ids)) == expected
        again = [number for number, each in enumerate(ids) if each in ids[:number]]
        # Only what the daemon could not note any more, because it was killed: at once, and again.
        assert len(again) <= 2
        assert all(ids[number] == ids[number - 1] for number in again)
        found = state(daemon, hook)
        assert (found["pending"], found["attempts"]) == (0, 0)
        assert "failingSince" not in found


def test_the_body_is_the_event_byte_for_byte(shared: Daemon, receiver: Receiver) -> None:
    add(shared, receiver, types=["*"])
    shared.create("bytes")
    shared.turn("bytes", "markdown")
    shared.request("POST", "/sessions/bytes/terminate")
    with shared.stream("/sessions/bytes/events/sse") as stream:
        stored = [data for _, data in stream.frames()]
    arrivals = receiver.wait_for(len(stored))
    assert [each.body for each in arrivals] == stored
    assert b'"type":"item.delta"' in b"".join(stored)
    assert arrivals[0].headers["content-type"] == "application/json"
    assert arrivals[0].headers["user-agent"].startswith("Dragoman/")
    assert [each.id for each in arrivals] == [each.event["event_id"] for each in arrivals]


# --- A receiver that is gone ---


def test_a_receiver_that_never_comes_holds_nothing_up_and_keeps_nothing(
    data_dir: Path, receiver: Receiver
) -> None:
    receiver.kill()
    with running(data_dir, env=PATIENT) as daemon:
        hook = add(daemon, receiver)
        daemon.create("s")
        for _ in range(5):
            assert daemon.turn("s", "demo")[-1]["data"]["outcome"] == "completed"
        daemon.turn("s", "burst 3000 2")
        found = state(daemon, hook)
        assert found["attempts"] > 0
        assert found["failingSince"] >= found["createdAt"]
        assert "cannot be reached" in found["lastError"]
        assert found["position"] == hook["position"]
        assert found["pending"] == len(ids_of(daemon, "s"))
        counted = metrics(daemon)
        assert value(counted, "webhooks", state="failing") == 1
        assert value(counted, "webhook_requests_total", outcome="failed") > 0
        assert daemon.stop() == 0
        with closing(sqlite3.connect(data_dir / "dragoman.db")) as db:
            rows = db.execute("SELECT position, length(last_error) < 200 FROM webhooks").fetchall()
        assert rows == [(hook["position"], 1)]
        receiver.start()
        daemon.start()
        expected = ids_of(daemon, "s")
        assert delivered(receiver, expected) == expected


def test_a_stop_waits_for_no_receiver(data_dir: Path, receiver: Receiver) -> None:
    with running(data_dir, env=PATIENT) as daemon:
        add(daemon, receiver)
        receiver.answers = ["hang"]
        daemon.create("s")
        receiver.wait_for(1)
        assert daemon.stop() == 0  # though the receiver may take ten minutes
        daemon.start()
        expected = ids_of(daemon, "s")
        assert delivered(receiver, expected) == expected


def test_one_that_hangs_holds_up_no_other(shared: Daemon, receiver: Receiver) -> None:
    with receiving() as other:
        add(shared, receiver)
        add(shared, other)
        receiver.answers = ["hang"]
        shared.create("both")
        receiver.wait_for(1)
        shared.turn("both", "demo")
        other.wait_until_taken(ids_of(shared, "both"))
        assert len(receiver.arrivals) == 1


def test_an_answer_without_end_is_dropped(shared: Daemon, receiver: Receiver) -> None:
    add(shared, receiver, types=[*TURNS])
    receiver.answers = ["endless"]
    shared.create("endless")
    shared.turn("endless", "echo hi")
    expected = ids_of(shared, "endless", *TURNS)
    assert delivered(receiver, expected) == expected


def test_410_disables_and_enabling_goes_on_from_there(shared: Daemon, receiver: Receiver) -> None:
    hook = add(shared, receiver, types=[*TURNS])
    receiver.answers = [204, 410]
    shared.create("gone")
    shared.turn("gone", "echo one")
    receiver.wait_for(2)
    shared.turn("gone", "echo two")
    found = state(shared, hook)
    assert found["enabled"] is False
    assert "410 Gone, so the webhook was disabled" in found["lastError"]
    assert found["pending"] == 3
    assert value(metrics(shared), "webhooks", state="disabled") == 1
    changed = patch(shared, hook, enabled=True)
    assert changed["enabled"] is True
    assert "lastError" not in changed
    expected = ids_of(shared, "gone", *TURNS)
    assert delivered(receiver, expected) == expected


# --- What is sent ---


def test_types_choose_and_a_new_one_begins_now(shared: Daemon, receiver: Receiver) -> None:
    shared.create("before")
    shared.turn("before", "demo")
    add(shared, receiver, types=["turn.ended", "permission.*"])
    shared.create("chosen")
    shared.turn("chosen", "burst 20000 2")
    shared.send("chosen", "permission")
    request = shared.wait_for("chosen", "permission.requested")
    path = f"/sessions/chosen/permissions/{request['data']['permission_id']}/reply"
    assert shared.request("POST", path, {"reply": "reject"}).status == 204
    shared.wait_for("chosen", "turn.ended", request["sequence"])
    types = ("turn.ended", "permission.requested", "permission.resolved")
    expected = ids_of(shared, "chosen", *types)
    assert len(expected) == 4
    assert delivered(receiver, expected) == expected


def test_what_was_deleted_meanwhile_is_left_out(shared: Daemon, receiver: Receiver) -> None:
    receiver.kill()
    hook = add(shared, receiver)
    for session in ("goes", "stays"):
        shared.create(session)
        shared.turn(session, "echo hi")
    assert shared.request("DELETE", "/sessions/goes").status == 204
    expected = ids_of(shared, "stays")
    assert state(shared, hook)["pending"] == len(expected)
    receiver.start()
    assert delivered(receiver, expected) == expected


def test_a_test_is_sent_at_once_and_wakes_what_waits(data_dir: Path, receiver: Receiver) -> None:
    env = {"DRAGOMAN_WEBHOOK_RETRY_S": "5000", "DRAGOMAN_WEBHOOK_MAX_RETRY_S": "5000"}
    with running(data_dir, env=env) as daemon:
        hook = add(daemon, receiver, types=[*TURNS])
        test = f"/hooks/{hook['id']}/test"
        receiver.answers = [500]
        daemon.create("s")
        daemon.turn("s", "echo hi")
        receiver.wait_for(1)
        while "nextAttemptAt" not in (found := state(daemon, hook)):
            assert found["attempts"] == 0
        sent = daemon.request("POST", test)
        assert sent.status == 200
        assert (sent.json["delivered"], sent.json["status"]) == (True, 204)
        taken = receiver.wait_until_taken(ids_of(daemon, "s", *TURNS))
        assert taken[0].id.startswith("test_")
        assert taken[0].event["type"] == "webhook.test"
        assert taken[0].event["webhook_id"] == hook["id"]
        receiver.answers = [301]
        receiver.answer_headers = {"location": receiver.url}
        sent = daemon.request("POST", test)
        assert (sent.json["delivered"], sent.json["status"]) == (False, 301)
        assert "answered 301" in sent.json["error"]
        receiver.kill()
        sent = daemon.request("POST", test)
        assert sent.json["delivered"] is False
        assert "status" not in sent.json
        assert "cannot be reached" in sent.json["error"]


def test_proxies_hold_but_not_on_this_machine(data_dir: Path, receiver: Receiver) -> None:
    with running(data_dir, env={**PATIENT, "http_proxy": receiver.url}) as daemon:
        url = "http://receiver.invalid/elsewhere"
        far = daemon.request("POST", "/hooks", {"url": url, "types": ["error"]}).json
        assert daemon.request("POST", f"/hooks/{far['id']}/test").json["status"] == 204
        (arrival,) = receiver.wait_for(1)
        assert arrival.headers["host"] == "receiver.invalid"
        near = daemon.request("POST", "/hooks", {"url": "http://127.0.0.1:9/"}).json
        sent = daemon.request("POST", f"/hooks/{near['id']}/test").json
        assert "cannot be reached" in sent["error"]


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is missing: run `make tools`")
def test_a_certificate_must_be_one_that_is_trusted(
    data_dir: Path, receiver: Receiver, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    receiver.kill()
    receiver.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    receiver.tls.load_cert_chain(certificate, key)
    receiver.start()
    for env, expected in (({}, False), ({"SSL_CERT_FILE": str(certificate)}, True)):
        with running(data_dir, env=env) as daemon:
            hook = add(daemon, receiver, types=["error"])
            sent = daemon.request("POST", f"/hooks/{hook['id']}/test").json
            assert sent["delivered"] is expected
            assert expected or "CERTIFICATE_VERIFY_FAILED" in sent["error"]


# --- Changes while a request is under way ---


def test_a_change_gives_up_what_is_under_way_and_sends_it_again(
    shared: Daemon, receiver: Receiver
) -> None:
    with receiving() as other:
        hook = add(shared, receiver)
        receiver.answers = ["hang"]
        shared.create("moved")
        receiver.wait_for(1)
        assert patch(shared, hook, url=other.url)["url"] == other.url
        shared.turn("moved", "demo")
        expected = ids_of(shared, "moved")
        assert delivered(other, expected) == expected
        assert len(receiver.arrivals) == 1


def test_other_types_hold_for_what_was_not_looked_at(shared: Daemon, receiver: Receiver) -> None:
    hook = add(shared, receiver, types=["turn.ended"])
    shared.create("types")
    shared.turn("types", "echo one")
    ended = ids_of(shared, "types", "turn.ended")
    receiver.wait_until_taken(ended)
    assert patch(shared, hook, types=["turn.started"])["types"] == ["turn.started"]
    shared.turn("types", "echo two")
    expected = [*ended, ids_of(shared, "types", "turn.started")[1]]
    assert delivered(receiver, expected) == expected
    assert patch(shared, hook, types=[])["types"] == []


def test_a_removed_one_gets_nothing_more(shared: Daemon, receiver: Receiver) -> None:
    with receiving() as other:
        hook = add(shared, receiver)
        add(shared, other)
        receiver.answers = ["hang"]
        shared.create("removed")
        receiver.wait_for(1)
        assert shared.request("DELETE", f"/hooks/{hook['id']}").status == 204
        shared.turn("removed", "demo")
        other.wait_until_taken(ids_of(shared, "removed"))
        assert len(receiver.arrivals) == 1
        for method, path in (("GET", ""), ("DELETE", ""), ("PATCH", ""), ("POST", "/test")):
            body = {"enabled": False} if method == "PATCH" else None
            reply = shared.request(method, f"/hooks/{hook['id']}{path}", body)
            assert (reply.status, reply.json["title"]) == (404, "Not Found")


def test_a_disabled_one_stays_so_and_goes_on_when_enabled(
    data_dir: Path, receiver: Receiver
) -> None:
    with running(data_dir, env=PATIENT) as daemon:
        hook = add(daemon, receiver)
        patch(daemon, hook, enabled=False)
        daemon.create("s")
        daemon.turn("s", "demo")
        daemon.stop()
        daemon.start()
        assert state(daemon, hook)["enabled"] is False
        assert receiver.arrivals == []
        patch(daemon, hook, enabled=True)
        expected = ids_of(daemon, "s")
        assert delivered(receiver, expected) == expected


# --- Who may, and what cannot be ---


def test_the_secret_is_shown_once_and_nowhere_else(shared: Daemon, receiver: Receiver) -> None:
    chosen = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    hooks = [add(shared, receiver), add(shared, receiver, secret=chosen)]
    assert hooks[1]["secret"] == chosen
    assert hooks[0]["secret"] != chosen
    receiver.answers = [500]
    shared.create("hidden")
    shared.turn("hidden", "echo hi")
    receiver.wait_until_taken(ids_of(shared, "hidden"))
    answers = [shared.request("GET", f"/hooks/{each['id']}").body for each in hooks]
    shown = b"".join([shared.request("GET", "/hooks").body, *answers]).decode()
    logged = (shared.data_dir / "logs" / "daemon.log").read_text()
    assert hooks[0]["id"] in logged
    for each in hooks:
        assert each["secret"] not in shown + logged
    assert f":{receiver.port}" not in logged  # a URL may be a secret too


def test_only_an_admin_may(shared: Daemon, receiver: Receiver) -> None:
    hook = add(shared, receiver)
    scopes = ["read", "write", "approve"]
    made = shared.request("POST", "/tokens", {"name": "w", "scopes": scopes}).json
    headers = {"Authorization": f"Bearer {made['token']}"}
    for method, path, body in (
        ("GET", "/hooks", None),
        ("POST", "/hooks", {"url": receiver.url}),
        ("GET", f"/hooks/{hook['id']}", None),
        ("PATCH", f"/hooks/{hook['id']}", {"enabled": False}),
        ("DELETE", f"/hooks/{hook['id']}", None),
        ("POST", f"/hooks/{hook['id']}/test", None),
    ):
        assert shared.request(method, path, body, headers).status == 403, path
    assert state(shared, hook)["enabled"] is True
    assert receiver.arrivals == []


@pytest.mark.parametrize(
    ("body", "field", "right"),
    [
        ({}, "url", "required"),
        ({"url": "ftp://example.com"}, "url", "must begin with https://"),
        ({"url": "https://user:word@127.0.0.1/"}, "url", "remove it"),
        ({"url": "http://127.0.0.1:99999/"}, "url", "right is e.g."),
        ({"url": "http://127.0.0.1/", "types": ["turn.begun"]}, "types", "turn.started"),
        ({"url": "http://127.0.0.1/", "types": "turn.ended"}, "types", "array"),
        ({"url": "http://127.0.0.1/", "secret": "abc"}, "secret", "base64"),
    ],
)
def test_what_cannot_be_is_refused_with_what_would_be_right(
    shared: Daemon, body: dict[str, Any], field: str, right: str
) -> None:
    refused = shared.request("POST", "/hooks", body)
    assert (refused.status, refused.json["title"]) == (400, "Invalid Request")
    assert refused.json["details"]["field"] == field
    assert right in refused.json["detail"]
    assert "word@" not in refused.body.decode()
    assert shared.get("/hooks") == {"webhooks": []}


def test_so_many_and_no_more(shared: Daemon, receiver: Receiver) -> None:
    for _ in range(MAX_WEBHOOKS):
        add(shared, receiver, types=["error"])
    refused = shared.request("POST", "/hooks", {"url": receiver.url})
    assert refused.status == 409
    assert f"{MAX_WEBHOOKS} webhooks; remove one first" in refused.json["detail"]
    assert len(shared.get("/hooks")["webhooks"]) == MAX_WEBHOOKS
