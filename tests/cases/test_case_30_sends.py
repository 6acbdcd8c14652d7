"""Case 30: concurrent sends, ends and deletions have one defined outcome, and nothing hangs."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman.testing.conformance import check_lines
from tests.daemon import Daemon, Reply

SENDS = 100
ENDS = 6


def conforms(daemon: Daemon, session: str) -> None:
    with daemon.stream(f"/sessions/{session}/events/sse") as stream:
        last = len(daemon.events(session))
        lines = []
        for _, data in stream.frames():
            lines.append(data)
            if len(lines) == last:
                break
    assert check_lines(lines) == []


def shown(daemon: Daemon, session: str) -> list[str]:
    """Ids of the messages of people, in the order of their turns; one for each turn."""
    found: list[str] = []
    turns = 0
    for event in daemon.events(session):
        item = event["data"].get("item", {})
        if event["type"] == "turn.started":
            turns += 1
        elif event["type"] == "item.started" and item["role"] == "user":
            found.append(item["message_id"])
            assert len(found) == turns, "each message has a turn of its own"
    return found


def send(daemon: Daemon, session: str, message: str, key: str) -> Reply:
    return daemon.request(
        "POST", f"/sessions/{session}/messages", {"message": message}, {"Idempotency-Key": key}
    )


def test_case_30_a_hundred_sends_with_one_key_are_one_turn(daemon: Daemon) -> None:
    daemon.create("one-key")
    with ThreadPoolExecutor(SENDS) as pool:
        replies = list(pool.map(lambda _: send(daemon, "one-key", "echo hi", "k"), range(SENDS)))
    assert Counter(reply.status for reply in replies) == {204: SENDS}
    (message_id,) = {reply.headers["dragoman-message-id"] for reply in replies}
    daemon.turn("one-key", "echo done")
    assert shown(daemon, "one-key")[0] == message_id
    assert len(shown(daemon, "one-key")) == 2
    conforms(daemon, "one-key")


def test_case_30_a_hundred_sends_with_a_key_each_are_delivered_in_order_of_acceptance(
    daemon: Daemon,
) -> None:
    daemon.create("keys")
    daemon.send("keys", "hang")
    daemon.wait_for("keys", "item.delta")

    def one(number: int) -> str:
        reply = send(daemon, "keys", f"echo {number}", f"k{number}")
        assert reply.status == 204, reply.body
        return reply.headers["dragoman-message-id"]

    with ThreadPoolExecutor(SENDS) as pool:
        accepted = list(pool.map(one, range(SENDS)))
    waiting = [m["messageId"] for m in daemon.get("/sessions/keys/pending")["messages"]]
    assert sorted(waiting) == sorted(accepted)
    daemon.request("POST", "/sessions/keys/interrupt")
    daemon.turn("keys", "echo last")
    assert shown(daemon, "keys")[1:-1] == waiting
    conforms(daemon, "keys")


def test_case_30_a_send_whose_answer_came_is_delivered_before_one_that_began_later(
    daemon: Daemon,
) -> None:
    daemon.create("order")
    ids = [daemon.send("order", f"echo {n}") for n in range(20)]
    daemon.turn("order", "echo last")
    assert shown(daemon, "order")[:-1] == ids


def test_case_30_terminate_racing_sends_ends_once_and_answers_everybody(daemon: Daemon) -> None:
    for attempt in range(5):
        session = f"race-{attempt}"
        daemon.create(session)
        with ThreadPoolExecutor(21) as pool:
            sends = [
                pool.submit(send, daemon, session, f"echo {n}", f"k{n}") for n in range(attempt * 4)
            ]
            end = pool.submit(daemon.request, "POST", f"/sessions/{session}/terminate")
            sends += [pool.submit(send, daemon, session, f"echo {n}", f"l{n}") for n in range(10)]
            assert end.result().status == 204
            assert {future.result().status for future in sends} <= {204, 410}
        events = daemon.events(session)
        assert [e["type"] for e in events].count("session.ended") == 1
        assert events[-1]["type"] == "session.ended"
        assert daemon.get(f"/sessions/{session}/pending")["messages"] == []
        assert send(daemon, session, "late", "late").status == 410
        conforms(daemon, session)


def test_case_30_terminate_many_times_at_once_is_204_and_one_end(daemon: Daemon) -> None:
    daemon.create("twice")
    daemon.send("twice", "hang")
    daemon.wait_for("twice", "item.delta")
    with ThreadPoolExecutor(10) as pool:
        path = "/sessions/twice/terminate"
        replies = list(pool.map(lambda _: daemon.request("POST", path), range(10)))
    assert {reply.status for reply in replies} == {204}
    assert [e["type"] for e in daemon.events("twice")].count("session.ended") == 1
    conforms(daemon, "twice")


def test_case_30_changes_racing_the_end_are_made_or_refused(daemon: Daemon) -> None:
    for attempt in range(5):
        session = f"change-{attempt}"
        daemon.create(session)
        with ThreadPoolExecutor(20) as pool:
            changes = [
                pool.submit(daemon.request, "PATCH", f"/sessions/{session}", {"title": str(n)})
                for n in range(10)
            ]
            end = pool.submit(daemon.request, "POST", f"/sessions/{session}/terminate")
            interrupts = [
                pool.submit(daemon.request, "POST", f"/sessions/{session}/interrupt")
                for _ in range(9)
            ]
            assert end.result().status == 204
            assert {future.result().status for future in changes} <= {200, 410}
            assert {future.result().status for future in interrupts} <= {204, 410}
        assert daemon.events(session)[-1]["type"] == "session.ended"
        conforms(daemon, session)


def test_case_30_delete_while_streaming_ends_every_stream(daemon: Daemon) -> None:
    daemon.create("deleted")
    daemon.send("deleted", "hang")
    daemon.wait_for("deleted", "item.delta")
    stream_turn = "/sessions/deleted/messages/stream"
    with (
        daemon.stream("/sessions/deleted/events/sse") as events,
        daemon.stream("/sessions/deleted/events/sse?include_raw=1") as raw,
        daemon.stream(stream_turn, method="POST", body={"message": "echo never"}) as turn,
    ):
        assert daemon.request("DELETE", "/sessions/deleted").status == 204
        for stream in (events, raw, turn):
            list(stream)
    assert daemon.request("GET", "/sessions/deleted").status == 404


def test_case_30_delete_many_times_at_once_is_204_or_404(daemon: Daemon) -> None:
    for attempt in range(5):
        session = f"gone-{attempt}"
        daemon.create(session)
        daemon.send(session, "slow 100")
        with ThreadPoolExecutor(20) as pool:
            replies = [
                pool.submit(daemon.request, "DELETE", f"/sessions/{session}") for _ in range(8)
            ]
            others = [
                pool.submit(daemon.request, "POST", f"/sessions/{session}/{what}", body)
                for what, body in (("terminate", None), ("interrupt", None),
                                   ("messages", {"message": "hi"}))
                for _ in range(4)
            ]  # fmt: skip
            statuses = Counter(future.result().status for future in replies)
            assert set(statuses) <= {204, 404}
            assert statuses[204] >= 1
            assert {future.result().status for future in others} <= {204, 404, 410}
        assert daemon.request("GET", f"/sessions/{session}").status == 404
        again = daemon.request("POST", f"/sessions/{session}", {"agent": "mock"})
        assert again.status == 409


ENDINGS = ("turn.ended", "session.ended")


@pytest.mark.parametrize("raw", ["", "?include_raw=1"])
@pytest.mark.parametrize("end", ["terminate", "delete"])
def test_case_30_a_message_that_waits_hears_of_the_end_however_much_is_said(
    daemon: Daemon, end: str, raw: str
) -> None:
    """A turn says so much that whoever reads it is behind, and the session ends meanwhile."""

    def listen(session: str, number: int) -> list[str] | None:
        path = f"/sessions/{session}/messages/stream{raw}"
        body = {"message": f"echo {number}"}
        with daemon.stream(path, method="POST", body=body) as stream:
            if stream.status != 200:
                assert stream.status in (404, 410)
                return None
            return [event["type"] for event in stream]

    heard = 0
    for attempt in range(ENDS):
        session = f"{end}-{bool(raw)}-{attempt}"
        daemon.create(session)
        daemon.send(session, "burst 4000 1000")
        with ThreadPoolExecutor(8) as pool:
            streams = [pool.submit(listen, session, number) for number in range(8)]
            if attempt % 2:
                daemon.wait_for(session, "item.delta")
            if end == "terminate":
                assert daemon.request("POST", f"/sessions/{session}/terminate").status == 204
            else:
                assert daemon.request("DELETE", f"/sessions/{session}").status == 204
            for stream in streams:
                types = stream.result()
                # One whose turn came before the end has it; the others hear of the end alone.
                whole = types is not None and types[0] == "turn.started"
                assert types in (None, ["session.ended"]) or (whole and types[-1] in ENDINGS)
                heard += types == ["session.ended"]
    assert heard > ENDS
