"""One stream of all sessions: in the order of commits, each event once, whatever happens."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cases.common import eventually
from tests.daemon import Daemon, running

ALL = "/events/sse"


def events_until(
    daemon: Daemon, wanted: tuple[str, str], query: str = "?cursor=0", **headers: str
) -> list[tuple[int, dict[str, Any]]]:
    """Cursor and event of each frame, up to the first event of this session and type."""
    found = []
    with daemon.stream(f"{ALL}{query}", **headers) as stream:
        assert stream.status == 200, stream.read()
        for cursor, data in stream.frames():
            event = msgspec.json.decode(data)
            found.append((int(cursor or 0), event))
            if (event["session_id"], event["type"]) == wanted:
                return found
    raise AssertionError(f"the stream ended without {wanted}")


def sequences(found: list[tuple[int, dict[str, Any]]], session_id: str) -> list[int]:
    return [event["sequence"] for _, event in found if event["session_id"] == session_id]


def test_every_session_is_on_the_stream_without_holes(daemon: Daemon) -> None:
    for name in ("one", "two", "three"):
        daemon.create(name)
        daemon.turn(name, "burst 20 10")
    daemon.create("end-1")
    found = events_until(daemon, ("end-1", "session.started"))
    cursors = [cursor for cursor, _ in found]
    assert cursors == sorted(set(cursors))
    for name in ("one", "two", "three"):
        mine = [event for _, event in found if event["session_id"] == name]
        assert mine == daemon.events(name)


def test_a_stream_begins_now_unless_it_is_asked_for_more(daemon: Daemon) -> None:
    daemon.create("before")
    with daemon.stream(ALL) as stream:
        daemon.create("after")
        first = next(iter(stream))
    assert first["session_id"] == "after"


def test_a_reader_is_told_its_cursor_before_anything_comes(daemon: Daemon) -> None:
    daemon.create("told")
    connection = daemon.connect()
    connection.request("GET", f"/v1{ALL}", headers=daemon.headers())
    answer = connection.getresponse()
    assert answer.fp is not None
    assert answer.getheader("Content-Type") == "text/event-stream"
    seen = b""
    while b"id: " not in seen:
        seen += answer.read1()
    connection.close()
    cursor = daemon.get("/status")["store"]["cursor"]
    assert f"id: {cursor}\n\n".encode() in seen
    daemon.create("told-later")
    found = events_until(daemon, ("told-later", "session.started"), "", Last_Event_ID=cursor)
    assert [event["session_id"] for _, event in found] == ["told-later"]


def test_resuming_by_header_cursor_or_offset_gives_each_later_event_once(daemon: Daemon) -> None:
    daemon.create("resumed")
    daemon.turn("resumed", "hello")
    daemon.create("end-2")
    end = ("end-2", "session.started")
    whole = events_until(daemon, end)
    for at in range(0, len(whole) - 1, 3):
        cursor = str(whole[at][0])
        rest = whole[at + 1 :]
        assert events_until(daemon, end, "", Last_Event_ID=cursor) == rest
        assert events_until(daemon, end, f"?cursor={cursor}") == rest
        assert events_until(daemon, end, f"?offset={cursor}") == rest
    cursor = str(whole[-2][0])
    assert events_until(daemon, end, "?cursor=0&offset=0", Last_Event_ID=cursor) == whole[-1:]


@pytest.mark.parametrize("position", ["-1", "x", "1e3x", "", "9" * 18, "9" * 40, "1,2"])
def test_case_28_an_impossible_cursor_of_all_sessions_is_400(daemon: Daemon, position: str) -> None:
    for field in ("cursor", "offset"):
        reply = daemon.request("GET", f"{ALL}?{field}={position}")
        assert (reply.status, reply.json["details"]["field"]) == (400, field)
    reply = daemon.request("GET", ALL, headers={"Last-Event-ID": position})
    assert (reply.status, reply.json["details"]["field"]) == (400, "Last-Event-ID")


def test_filters_choose_by_session_type_and_agent(daemon: Daemon) -> None:
    for name in ("chosen", "passed"):
        daemon.create(name)
        daemon.turn(name, "hello")
    daemon.create("end-3")
    end = ("end-3", "session.started")
    query = (
        "?cursor=0&sessionId=chosen,end-3&type=turn.started,turn.ended,session.started&agent=mock"
    )
    found = [(e["session_id"], e["type"]) for _, e in events_until(daemon, end, query)]
    assert found == [
        ("chosen", "session.started"),
        ("chosen", "turn.started"),
        ("chosen", "turn.ended"),
        end,
    ]


@pytest.mark.parametrize(
    "query",
    [
        "session_id=join-1&session_id=join-2&type=session.started&type=session.ended",
        "sessionId=join-1&session_id=join-2&type=session.started,session.ended&agent=mock",
        "session_id=join-1,join-2&type=session.started,session.ended&agent=mock&agent=claude",
        "session_id=join-1,join-2&type=session.started,session.ended&agent=claude,mock",
    ],
)
def test_a_filter_that_is_given_again_chooses_more(daemon: Daemon, query: str) -> None:
    for name in ("join-1", "join-2", "join-3"):
        if daemon.request("GET", f"/sessions/{name}").status == 404:
            daemon.create(name)
            daemon.turn(name, "hello")
            daemon.request("POST", f"/sessions/{name}/terminate")
    found = events_until(daemon, ("join-2", "session.ended"), f"?cursor=0&{query}")
    assert [(event["session_id"], event["type"]) for _, event in found] == [
        (name, type)
        for name in ("join-1", "join-2")
        for type in ("session.started", "session.ended")
    ]


def test_filters_choose_live_too(daemon: Daemon) -> None:
    daemon.create("live")
    with daemon.stream(f"{ALL}?type=turn.ended&session_id=live") as stream:
        daemon.turn("live", "burst 50 10")
        assert next(iter(stream))["type"] == "turn.ended"


@pytest.mark.parametrize(
    ("query", "field"),
    [("type=nothing", "type"), ("agent=nobody", "agent"), ("session_id=a/b", "sessionId"),
     ("session_id=" + ",".join(f"s{n}" for n in range(200)), "sessionId"), ("type=", "type")],
)  # fmt: skip
def test_a_filter_that_cannot_match_is_400(daemon: Daemon, query: str, field: str) -> None:
    reply = daemon.request("GET", f"{ALL}?{query}")
    assert (reply.status, reply.json["details"]["field"]) == (400, field)


def test_native_messages_come_along_where_they_are_wanted(daemon: Daemon) -> None:
    daemon.create("raw")
    daemon.turn("raw", "hello")
    found = events_until(daemon, ("raw", "turn.ended"), "?cursor=0&session_id=raw&include_raw=1")
    assert [event for _, event in found] == daemon.events("raw", raw=True)
    assert any(event["raw"] for _, event in found)


def test_head_answers_without_a_stream(daemon: Daemon) -> None:
    reply = daemon.request("HEAD", ALL)
    assert (reply.status, reply.body) == (200, b"")


def test_a_cursor_survives_deletes_kills_and_restarts(data_dir: Path) -> None:
    seen: list[tuple[int, dict[str, Any]]] = []
    with running(data_dir) as daemon:
        daemon.create("stays")
        for round in range(4):
            daemon.turn("stays", "burst 5 5")
            name = f"goes-{round}"
            daemon.create(name)
            daemon.turn(name, "hello")
            end = (name, "turn.ended")
            seen += events_until(daemon, end, f"?cursor={seen[-1][0] if seen else 0}")
            if round % 2:
                # The newest events of all are deleted, and the daemon forgets what it knew.
                assert daemon.request("DELETE", f"/sessions/{name}").status == 204
            daemon.kill() if round < 2 else daemon.stop()
            daemon.start()
        daemon.create("last")
        seen += events_until(daemon, ("last", "session.started"), f"?cursor={seen[-1][0]}")
        kept = daemon.events("stays")
    mine = [event for _, event in seen if event["session_id"] == "stays"]
    assert mine == kept
    cursors = [cursor for cursor, _ in seen]
    assert cursors == sorted(set(cursors))
    for round in range(4):
        assert sequences(seen, f"goes-{round}")[:3] == [1, 2, 3]


def test_many_live_readers_see_the_same_while_sessions_come_and_go(daemon: Daemon) -> None:
    start = daemon.get("/status")["store"]["cursor"]
    results: list[list[int]] = []

    def read() -> None:
        found = events_until(daemon, ("end-4", "session.started"), f"?cursor={start}")
        results.append([cursor for cursor, event in found if event["session_id"] == "busy"])

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    daemon.create("busy")
    daemon.turn("busy", "burst 300 20")
    for number in range(3):
        daemon.create(f"brief-{number}")
        assert daemon.request("DELETE", f"/sessions/brief-{number}").status == 204
    daemon.create("end-4")
    for reader in readers:
        reader.join(30)
    assert len(results) == 8
    assert all(result == results[0] for result in results)
    assert len(results[0]) == len(daemon.events("busy"))


def test_the_end_of_the_daemon_ends_the_stream(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        with daemon.stream(f"{ALL}?cursor=0") as stream:
            frames = stream.frames()
            assert next(frames)
            assert daemon.stop() == 0
            assert list(frames) == []


def test_silence_is_broken_by_the_cursor(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_HEARTBEAT_S": "0.1"}) as daemon:
        daemon.create("s")
        connection = daemon.connect()
        connection.request("GET", f"/v1{ALL}", headers=daemon.headers())
        answer = connection.getresponse()
        cursor = daemon.get("/status")["store"]["cursor"].encode()
        seen = b""
        while seen.count(b"id: " + cursor + b"\n\n") < 3:
            seen += answer.read1()
        connection.close()


@pytest.fixture
def stalling(data_dir: Path) -> Iterator[Daemon]:
    with running(data_dir, env={"DRAGOMAN_STALLED_READER_S": "0.5"}) as daemon:
        yield daemon


def test_case_26_a_reader_of_all_sessions_that_takes_nothing_is_let_go_and_resumes(
    stalling: Daemon,
) -> None:
    daemon = stalling
    daemon.create("loud")
    with closing(socket.socket()) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", daemon.port))
        lines = (
            f"GET /v1{ALL}?cursor=0 HTTP/1.1",
            f"Host: localhost:{daemon.port}",
            f"Authorization: Bearer {daemon.token}",
        )
        reader.sendall("\r\n".join((*lines, "", "")).encode())
        eventually(lambda: daemon.get("/status")["readers"] == 1, "it reads")
        for _ in range(4):
            daemon.turn("loud", "burst 2000 1000")
        eventually(lambda: daemon.get("/status")["readers"] == 0, "it is let go")
    daemon.create("end")
    found = events_until(daemon, ("end", "session.started"))
    assert sequences(found, "loud") == list(range(1, len(daemon.events("loud")) + 1))
