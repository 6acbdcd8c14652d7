"""Messages: accepted once, shown while they wait, delivered in order, streamed as one turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import Daemon, running


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose heart beats fast."""
    folder = tmp_path_factory.mktemp("quick")
    with running(folder, env={"DRAGOMAN_HEARTBEAT_S": "0.05"}) as started:
        yield started


def busy(daemon: Daemon, session: str) -> None:
    """A session whose agent speaks until it is interrupted."""
    daemon.create(session)
    daemon.send(session, "hang")
    daemon.wait_for(session, "item.delta")


def prompts(daemon: Daemon, session: str) -> list[tuple[str, str]]:
    """Id and text of each message of a person, as shown."""
    items = [e["data"]["item"] for e in daemon.events(session) if e["type"] == "item.completed"]
    return [(i["message_id"], i["content"][0]["text"]) for i in items if i["role"] == "user"]


# --- Sending ---


def test_what_waits_when_the_agent_ends_the_session_is_told_as_gone(daemon: Daemon) -> None:
    """Before, it was shown as waiting for ever."""
    daemon.create("bye")
    for message in ("slow 30", "end", "echo never", "echo nor this"):
        daemon.send("bye", message)
    daemon.wait_for("bye", "session.ended")
    events = daemon.events("bye")
    queues = [e["data"]["messages"] for e in events if e["type"] == "queue.updated"]
    assert (events[-2]["type"], queues[-1]) == ("queue.updated", [])
    assert "echo nor this" in [message["message"] for message in queues[-2]]


def test_204_carries_the_id_that_stands_on_the_item(daemon: Daemon) -> None:
    daemon.create("sent")
    message_id = daemon.send("sent", "echo hi")
    daemon.wait_for("sent", "turn.ended")
    assert prompts(daemon, "sent") == [(message_id, "echo hi")]


def test_attachments_stand_in_the_message(daemon: Daemon, tmp_path: Path) -> None:
    daemon.create("attached")
    attachment = {"path": str(tmp_path / "a.txt"), "mime": "text/plain", "filename": "a.txt"}
    picture = tmp_path / "picture"
    picture.write_bytes(b"\x89PNG\r\n\x1a\npixels")
    (tmp_path / "a.txt").touch()
    body = {"message": "look", "attachments": [attachment, {"path": str(picture)}]}
    assert daemon.request("POST", "/sessions/attached/messages", body).status == 204
    daemon.wait_for("attached", "turn.ended")
    completed = [e for e in daemon.events("attached") if e["type"] == "item.completed"]
    parts = next(
        e["data"]["item"]["content"] for e in completed if e["data"]["item"]["role"] == "user"
    )
    assert [part["type"] for part in parts] == ["text", "file_ref", "image"]
    assert parts[1]["path"] == attachment["path"]
    # As it was when it was sent, whatever becomes of the file.
    pixels = picture.read_bytes()
    picture.unlink()
    kept = daemon.request("GET", f"/sessions/attached/files/{Path(parts[2]['path']).name}")
    assert (kept.status, kept.body) == (200, pixels)


@pytest.mark.parametrize("path", ["a.txt", "/no/such/file"])
@pytest.mark.parametrize("surface", ["messages", "messages/stream"])
def test_an_attachment_that_is_not_there_is_refused(
    daemon: Daemon, path: str, surface: str
) -> None:
    session = f"unattached-{path.strip('/').replace('/', '-')}-{surface.replace('/', '-')}"
    daemon.create(session)
    body = {"message": "look", "attachments": [{"path": "/"}, {"path": path}]}
    reply = daemon.request("POST", f"/sessions/{session}/{surface}", body)
    assert (reply.status, reply.json["details"]) == (400, {"field": "attachments[1].path"})
    assert daemon.get(f"/sessions/{session}/pending")["messages"] == []


def test_unicode_of_any_kind_arrives_as_it_was_sent(daemon: Daemon) -> None:
    text = "echo Grüße 世界 🎉\u2028\u0000\u001b[31m\r\n\tend"
    daemon.create("unicode")
    message_id = daemon.send("unicode", text)
    daemon.wait_for("unicode", "turn.ended")
    assert prompts(daemon, "unicode") == [(message_id, text)]


def test_the_same_key_never_sends_twice(daemon: Daemon) -> None:
    daemon.create("keyed")
    first = daemon.send("keyed", "echo once", key="k1")
    daemon.wait_for("keyed", "turn.ended")
    assert daemon.send("keyed", "echo once", key="k1") == first
    last = daemon.send("keyed", "echo twice", key="k2")
    daemon.turn("keyed", "echo done")
    assert [message_id for message_id, _ in prompts(daemon, "keyed")][:2] == [first, last]
    assert len(prompts(daemon, "keyed")) == 3


def test_a_message_that_ended_its_session_is_known_by_its_key(daemon: Daemon) -> None:
    daemon.create("ending")
    first = daemon.send("ending", "end", key="k1")
    daemon.wait_for("ending", "session.ended")
    assert daemon.send("ending", "end", key="k1") == first
    headers = {"Idempotency-Key": "k2"}
    late = daemon.request("POST", "/sessions/ending/messages", {"message": "end"}, headers)
    assert late.status == 410


def test_no_attachments_may_be_said_as_null(daemon: Daemon) -> None:
    daemon.create("bare")
    body = {"message": "echo hi", "attachments": None}
    assert daemon.request("POST", "/sessions/bare/messages", body).status == 204


def test_a_key_with_another_message_is_422(daemon: Daemon) -> None:
    daemon.create("reused")
    daemon.send("reused", "echo one", key="k")
    body = {"message": "echo two"}
    for path in ("messages", "messages/stream"):
        reply = daemon.request("POST", f"/sessions/reused/{path}", body, {"Idempotency-Key": "k"})
        assert (reply.status, reply.json["title"]) == (422, "Key Reused")


def test_a_key_belongs_to_its_session(daemon: Daemon) -> None:
    daemon.create("key-a")
    daemon.create("key-b")
    assert daemon.send("key-a", "one", key="k") != daemon.send("key-b", "two", key="k")


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_an_impossible_key_is_400(daemon: Daemon, key: str) -> None:
    daemon.request("POST", "/sessions/impossible-key", {"agent": "mock"})
    reply = daemon.request(
        "POST", "/sessions/impossible-key/messages", {"message": "x"}, {"Idempotency-Key": key}
    )
    assert reply.status == 400
    assert reply.json["details"]["field"] == "Idempotency-Key"


# --- Waiting ---


def test_a_message_during_a_turn_waits_and_is_shown_to_wait(daemon: Daemon) -> None:
    busy(daemon, "waiting")
    first, second = daemon.send("waiting", "echo 1"), daemon.send("waiting", "echo 2")
    while len(daemon.wait_for("waiting", "queue.updated")["data"]["messages"]) < 1:
        pass
    pending = daemon.get("/sessions/waiting/pending")
    assert [m["messageId"] for m in pending["messages"]] == [first, second]
    assert [m["message"] for m in pending["messages"]] == ["echo 1", "echo 2"]
    info = daemon.get("/sessions/waiting")
    assert all(info["createdAt"] <= m["createdAt"] for m in pending["messages"])
    assert (info["pendingCount"], info["status"]) == (2, "running")
    assert (pending["permissions"], pending["questions"]) == ([], [])
    daemon.request("POST", "/sessions/waiting/interrupt")
    daemon.turn("waiting", "echo 3")
    assert [text for _, text in prompts(daemon, "waiting")] == [
        "hang",
        "echo 1",
        "echo 2",
        "echo 3",
    ]
    assert daemon.get("/sessions/waiting/pending")["messages"] == []


def test_queue_updated_tells_the_whole_queue_each_time(daemon: Daemon) -> None:
    busy(daemon, "queue")
    ids = [daemon.send("queue", f"echo {n}") for n in range(2)]
    daemon.request("POST", "/sessions/queue/interrupt")
    last = daemon.turn("queue", "echo last")[-1]["sequence"]
    queues = [
        [m["message_id"] for m in event["data"]["messages"]]
        for event in daemon.events("queue")
        if event["type"] == "queue.updated" and event["sequence"] < last
    ]
    assert ids in queues or [ids[0]] in queues
    assert queues[-1] == []
    for event in daemon.events("queue"):
        for message in event["data"].get("messages", ()):
            assert set(message) == {"message_id", "message", "created_at"}


def test_what_waits_when_a_session_is_ended_waits_no_more(daemon: Daemon) -> None:
    busy(daemon, "ended-queue")
    daemon.send("ended-queue", "never said")
    daemon.wait_for("ended-queue", "queue.updated")
    assert daemon.request("POST", "/sessions/ended-queue/terminate").status == 204
    told = [e["data"] for e in daemon.events("ended-queue") if e["type"] == "queue.updated"]
    assert told[-1]["messages"] == []


def test_a_waiting_message_can_be_taken_back(daemon: Daemon) -> None:
    busy(daemon, "back")
    kept, taken = daemon.send("back", "echo kept"), daemon.send("back", "echo taken")
    assert daemon.request("DELETE", f"/sessions/back/pending/{taken}").status == 204
    assert [m["messageId"] for m in daemon.get("/sessions/back/pending")["messages"]] == [kept]
    again = daemon.request("DELETE", f"/sessions/back/pending/{taken}")
    assert (again.status, again.json["details"]["state"]) == (409, "cancelled")
    daemon.request("POST", "/sessions/back/interrupt")
    daemon.turn("back", "echo after")
    assert [text for _, text in prompts(daemon, "back")] == ["hang", "echo kept", "echo after"]


def test_a_delivered_message_cannot_be_taken_back(daemon: Daemon) -> None:
    daemon.create("delivered")
    message_id = daemon.send("delivered", "echo hi")
    daemon.wait_for("delivered", "turn.ended")
    reply = daemon.request("DELETE", f"/sessions/delivered/pending/{message_id}")
    assert (reply.status, reply.json["title"]) == (409, "Conflict")
    assert "delivered" in reply.json["detail"]


def test_a_message_of_nobody_or_of_another_session_is_404(daemon: Daemon) -> None:
    daemon.create("mine")
    busy(daemon, "theirs")
    message_id = daemon.send("theirs", "echo hi")
    for wrong in (message_id, "msg_none"):
        reply = daemon.request("DELETE", f"/sessions/mine/pending/{wrong}")
        assert (reply.status, reply.json["title"]) == (404, "Not Found")
    assert len(daemon.get("/sessions/theirs/pending")["messages"]) == 1


# --- The stream of a turn ---


def test_the_stream_begins_at_turn_started_and_ends_at_turn_ended(daemon: Daemon) -> None:
    daemon.create("turns")
    for prompt in ("hello", "tool", "error"):
        events = daemon.turn("turns", prompt)
        types = [event["type"] for event in events]
        assert (types[0], types[-1]) == ("turn.started", "turn.ended")
        assert types.count("turn.started") == types.count("turn.ended") == 1
        sequences = [event["sequence"] for event in events]
        assert sequences == list(range(sequences[0], sequences[-1] + 1))


def test_the_stream_names_its_message_and_is_what_the_log_holds(daemon: Daemon) -> None:
    daemon.create("named")
    path = "/sessions/named/messages/stream?includeRaw=true"
    reply = daemon.request("POST", path, {"message": "hello"})
    assert reply.headers["content-type"].startswith("text/event-stream")
    message_id = reply.headers["dragoman-message-id"]
    assert prompts(daemon, "named") == [(message_id, "hello")]
    page = daemon.request("GET", "/sessions/named/events?include_raw=true").body
    lines = [line[6:] for line in reply.body.split(b"\n") if line.startswith(b"data: ")]
    assert b",".join(lines) in page
    assert b'"raw":{' in reply.body


def test_a_queued_message_gets_comments_then_only_its_own_turn(quick: Daemon) -> None:
    busy(quick, "behind")
    path = "/sessions/behind/messages/stream"
    connection = quick.connect()
    headers = quick.headers(**{"Content-Type": "application/json"})
    connection.request("POST", f"/v1{path}", b'{"message":"echo mine"}', headers)
    answer = connection.getresponse()
    mine = answer.getheader("dragoman-message-id")
    assert answer.read(30) == b":\n\n" * 10, "nothing but comments while it waits"
    quick.send("behind", "echo later")
    quick.request("POST", "/sessions/behind/interrupt")
    lines = [line for line in answer.read().split(b"\n") if line.startswith(b"data: ")]
    connection.close()
    assert b'"turn.started"' in lines[0]
    assert b'"turn.ended"' in lines[-1]
    assert sum(b'"turn.started"' in line for line in lines) == 1
    said = [line for line in lines if b'"message_id"' in line and b"queue.updated" not in line]
    assert all(str(mine).encode() in line for line in said)
    assert said


def test_each_of_two_streams_gets_its_own_turn(daemon: Daemon) -> None:
    busy(daemon, "two")
    path = "/sessions/two/messages/stream"
    with (
        daemon.stream(path, method="POST", body={"message": "echo one"}) as one,
        daemon.stream(path, method="POST", body={"message": "echo two"}) as two,
    ):
        daemon.request("POST", "/sessions/two/interrupt")
        turns = [list(one), list(two)]
    for turn, said in zip(turns, ("one", "two"), strict=True):
        assert turn[0]["type"] == "turn.started"
        assert _answer(turn) == said
    assert turns[0][-1]["sequence"] < turns[1][0]["sequence"]


def _answer(turn: list[dict[str, Any]]) -> str:
    """What the agent said in a turn."""
    items = [e["data"]["item"] for e in turn if e["type"] == "item.completed"]
    return "".join(i["content"][0]["text"] for i in items if i["role"] == "assistant")


def test_the_stream_ends_with_the_session(daemon: Daemon) -> None:
    busy(daemon, "cut")
    path = "/sessions/cut/messages/stream"
    with daemon.stream(path, method="POST", body={"message": "echo never"}) as stream:
        assert daemon.request("POST", "/sessions/cut/terminate").status == 204
        assert [event["type"] for event in stream][-1] == "session.ended"


def test_the_stream_of_a_message_that_is_taken_back_ends(daemon: Daemon) -> None:
    busy(daemon, "withdrawn")
    path = "/sessions/withdrawn/messages/stream"
    with daemon.stream(path, method="POST", body={"message": "echo never"}) as stream:
        (waiting,) = daemon.get("/sessions/withdrawn/pending")["messages"]
        daemon.wait_for("withdrawn", "queue.updated")
        gone = daemon.request("DELETE", f"/sessions/withdrawn/pending/{waiting['messageId']}")
        assert gone.status == 204
        assert list(stream) == []


def test_the_stream_goes_on_while_an_approval_is_answered_beside_it(daemon: Daemon) -> None:
    daemon.create("beside")
    path = "/sessions/beside/messages/stream"
    types = []
    with daemon.stream(path, method="POST", body={"message": "permission"}) as stream:
        for event in stream:
            types.append(event["type"])
            if event["type"] == "permission.requested":
                permission = event["data"]["permission_id"]
                reply = daemon.request(
                    "POST", f"/sessions/beside/permissions/{permission}/reply", {"reply": "once"}
                )
                assert reply.status == 204
    assert types.index("permission.resolved") > types.index("permission.requested")
    assert types[-1] == "turn.ended"


def test_a_disconnect_does_not_interrupt_the_turn(daemon: Daemon) -> None:
    daemon.create("left")
    path = "/sessions/left/messages/stream"
    with daemon.stream(path, method="POST", body={"message": "slow 50"}) as stream:
        assert next(iter(stream))["type"] == "turn.started"
    ended = daemon.wait_for("left", "turn.ended")
    assert ended["data"]["outcome"] == "completed"
    assert _answer(daemon.events("left")).split() == [str(n) for n in range(1, 51)]


def test_a_retried_stream_shows_the_turn_of_the_first_try(daemon: Daemon) -> None:
    daemon.create("retried")
    path = "/sessions/retried/messages/stream"
    body, key = {"message": "echo hi"}, {"Idempotency_Key": "k"}
    with daemon.stream(path, method="POST", body=body, **key) as stream:
        first = list(stream)
    daemon.turn("retried", "echo between")
    with daemon.stream(path, method="POST", body=body, **key) as stream:
        assert list(stream) == first


def test_a_turn_that_ends_the_session_ends_its_stream(daemon: Daemon) -> None:
    daemon.create("goodbye")
    assert daemon.turn("goodbye", "end")[-1]["type"] == "turn.ended"
    daemon.wait_for("goodbye", "session.ended")


def test_a_stream_is_not_opened_for_a_refused_message(daemon: Daemon) -> None:
    daemon.create("refused")
    daemon.request("POST", "/sessions/refused/terminate")
    reply = daemon.request("POST", "/sessions/refused/messages/stream", {"message": "hi"})
    assert (reply.status, reply.headers["content-type"]) == (410, "application/problem+json")
    wrong = daemon.request(
        "POST", "/sessions/refused/messages/stream?include_raw=x", {"message": ""}
    )
    assert wrong.status == 400


def test_a_message_is_refused_during_a_turn_where_it_asks_for_that(daemon: Daemon) -> None:
    daemon.create("refusing")
    daemon.send("refusing", "hang")
    daemon.wait_for("refusing", "turn.started")
    path = "/sessions/refusing/messages?delivery=reject"
    reply = daemon.request("POST", path, {"message": "echo too late"})
    assert reply.status == 409
    assert "turn is running" in reply.json["detail"]
    assert daemon.get("/sessions/refusing/pending")["messages"] == []


def test_the_same_key_is_not_refused_the_second_time(daemon: Daemon) -> None:
    daemon.create("again")
    path = "/sessions/again/messages?delivery=reject"
    first = daemon.request("POST", path, {"message": "hang"}, {"Idempotency-Key": "k"})
    daemon.wait_for("again", "turn.started")
    second = daemon.request("POST", path, {"message": "hang"}, {"Idempotency-Key": "k"})
    assert (first.status, second.status) == (204, 204)
    assert first.headers["dragoman-message-id"] == second.headers["dragoman-message-id"]


def test_a_message_waits_where_the_agent_takes_none_into_its_turn(daemon: Daemon) -> None:
    daemon.create("steering")
    daemon.send("steering", "hang")
    daemon.wait_for("steering", "turn.started")
    daemon.send("steering", "echo later", delivery="steer")
    waiting = daemon.wait_for("steering", "queue.updated")
    assert [message["message"] for message in waiting["data"]["messages"]] == ["echo later"]


def test_an_unknown_delivery_is_a_bad_request(daemon: Daemon) -> None:
    daemon.create("pigeon")
    path = "/sessions/pigeon/messages?delivery=pigeon"
    reply = daemon.request("POST", path, {"message": "echo hi"})
    assert reply.status == 400
    assert reply.json["details"]["field"] == "delivery"


@pytest.mark.parametrize("message", ["", "  \n"])
def test_a_message_without_words_is_a_bad_request(daemon: Daemon, message: str) -> None:
    if daemon.request("GET", "/sessions/wordless").status == 404:
        daemon.create("wordless")
    reply = daemon.request("POST", "/sessions/wordless/messages", {"message": message})
    assert reply.status == 400
    assert "words" in reply.json["detail"]
