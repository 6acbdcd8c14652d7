"""Streams of a session's events: positions, frames, resuming, and when they end."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon import Daemon, Reply, running


@pytest.fixture(scope="module")
def ended(daemon: Daemon) -> str:
    """A session that has ended."""
    daemon.create("ended")
    daemon.turn("ended", "end")
    daemon.wait_for("ended", "session.ended")
    return "ended"


@pytest.fixture(scope="module")
def idle(daemon: Daemon) -> str:
    """A session that goes on."""
    daemon.create("idle")
    daemon.turn("idle", "hello")
    return "idle"


def sse(daemon: Daemon, session: str, query: str = "", last_id: str | None = None) -> Reply:
    """All of a stream; it must end."""
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    return daemon.request("GET", f"/sessions/{session}/events/sse{query}", headers=headers)


def ids(reply: Reply) -> list[int]:
    assert reply.status == 200, reply.body
    lines = reply.body.split(b"\n")
    return [int(line[4:]) for line in lines if line.startswith(b"id: ")]


@contextmanager
def open_stream(daemon: Daemon, path: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
    """A stream, byte by byte."""
    connection = daemon.connect()
    connection.request("GET", f"/v1{path}", headers=daemon.headers(**headers))
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def comment(daemon: Daemon, session: str) -> bytes:
    """What a silent stream of a session says."""
    info = daemon.get(f"/sessions/{session}")
    return f": chain {info['eventCount']} {info['chain']}\n\n".encode()


# --- Frames ---


def test_a_frame_is_an_id_a_line_of_data_and_an_empty_line(daemon: Daemon, ended: str) -> None:
    """As shipped clients read it: split on two LFs, take what follows `data:`."""
    reply = sse(daemon, ended)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert b"\r" not in reply.body
    events = daemon.events(ended)
    frames = [frame for frame in reply.body.split(b"\n\n") if b"data:" in frame]
    for frame, event in zip(frames, events, strict=True):
        first, second = frame.split(b"\n")
        assert first == b"id: %d" % event["sequence"]
        assert json.loads(second.removeprefix(b"data: ")) == event


def test_a_frame_holds_the_bytes_of_the_page(daemon: Daemon, ended: str) -> None:
    for query in ("", "include_raw=true"):
        stream = sse(daemon, ended, f"?{query}").body
        lines = [line[6:] for line in stream.split(b"\n") if line.startswith(b"data: ")]
        page = daemon.request("GET", f"/sessions/{ended}/events?limit=10000&{query}").body
        assert page.startswith(b'{"events":[%b],"hasMore":false,"chain":' % b",".join(lines))


def test_raw_is_null_unless_asked_for(daemon: Daemon, ended: str) -> None:
    for query, wanted in (("", False), ("?include_raw=0", False), ("?includeRaw=1", True)):
        stream = sse(daemon, ended, query).body
        events = [json.loads(x[6:]) for x in stream.split(b"\n") if x.startswith(b"data: ")]
        assert any(event["raw"] is not None for event in events) is wanted


def test_a_stream_shows_that_it_lives_at_once(daemon: Daemon, idle: str) -> None:
    last = len(daemon.events(idle))
    with open_stream(daemon, f"/sessions/{idle}/events/sse?offset={last}") as stream:
        assert stream.status == 200
        assert stream.getheader("cache-control") == "no-store"
        assert stream.getheader("x-accel-buffering") == "no"
        assert stream.read1(100) == comment(daemon, idle)


def test_a_silent_stream_gets_comments(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_HEARTBEAT_S": "0.05"}) as daemon:
        daemon.create("silent")
        with open_stream(daemon, "/sessions/silent/events/sse?offset=1") as stream:
            wanted = comment(daemon, "silent") * 10
            assert stream.read(len(wanted)) == wanted


# --- Positions ---


def test_a_stream_replays_what_is_after_the_offset(daemon: Daemon, ended: str) -> None:
    last = len(daemon.events(ended))
    assert ids(sse(daemon, ended)) == list(range(1, last + 1))
    assert ids(sse(daemon, ended, "?offset=3")) == list(range(4, last + 1))
    assert ids(sse(daemon, ended, f"?offset={last}")) == []


def test_replay_goes_over_into_live_without_a_seam(daemon: Daemon) -> None:
    daemon.create("seam")
    daemon.send("seam", "slow 30")
    with daemon.stream("/sessions/seam/events/sse") as stream:
        seen = []
        for event in stream:
            seen.append(event)
            if event["type"] == "turn.ended":
                break
    assert seen == daemon.events("seam")[: len(seen)]


def test_last_event_id_wins_over_the_offset(daemon: Daemon, ended: str) -> None:
    last = len(daemon.events(ended))
    assert ids(sse(daemon, ended, "?offset=1", str(last - 2))) == [last - 1, last]
    assert sse(daemon, ended, "?offset=999999", str(last - 1)).status == 400


@pytest.mark.parametrize("position", ["-1", "x", "1e3x", "", "999999", "9" * 40, "1,2"])
def test_an_impossible_position_is_400(daemon: Daemon, ended: str, position: str) -> None:
    for session in (ended, _going_on(daemon)):
        by_offset = sse(daemon, session, f"?offset={position}")
        assert by_offset.status == 400, by_offset.body
        assert by_offset.json["details"]["field"] == "offset"
        by_header = sse(daemon, session, last_id=position)
        assert by_header.status == 400, by_header.body
        assert by_header.json["details"]["field"] == "Last-Event-ID"


def _going_on(daemon: Daemon) -> str:
    if daemon.request("GET", "/sessions/going-on").status == 404:
        daemon.create("going-on")
    return "going-on"


def test_a_position_of_another_session_is_simply_a_position(daemon: Daemon, idle: str) -> None:
    with daemon.stream(f"/sessions/{idle}/events/sse", Last_Event_ID="2") as stream:
        assert next(iter(stream))["sequence"] == 3


def test_resuming_after_every_event_gives_each_later_one_once(daemon: Daemon, ended: str) -> None:
    last = len(daemon.events(ended))
    for at in range(1, last):
        assert ids(sse(daemon, ended, last_id=str(at))) == list(range(at + 1, last + 1))


# --- The end ---


def test_the_stream_closes_after_session_ended(daemon: Daemon) -> None:
    daemon.create("closing")
    with daemon.stream("/sessions/closing/events/sse") as stream:
        assert daemon.request("POST", "/sessions/closing/terminate").status == 204
        types = [event["type"] for event in stream]
    assert types == ["session.started", "session.ended"]


def test_whoever_has_seen_the_end_gets_204_which_stops_an_event_source(
    daemon: Daemon, ended: str
) -> None:
    last = str(len(daemon.events(ended)))
    reply = sse(daemon, ended, last_id=last)
    assert (reply.status, reply.body) == (204, b"")


def test_a_stream_of_a_session_that_goes_on_is_not_204(daemon: Daemon, idle: str) -> None:
    last = str(len(daemon.events(idle)))
    with open_stream(daemon, f"/sessions/{idle}/events/sse", **{"Last-Event-ID": last}) as stream:
        assert stream.status == 200


def test_an_unknown_session_is_a_problem_not_a_stream(daemon: Daemon) -> None:
    reply = sse(daemon, "none")
    assert reply.status == 404
    assert reply.headers["content-type"] == "application/problem+json"


def test_a_wrong_parameter_is_a_problem_not_a_stream(daemon: Daemon, ended: str) -> None:
    reply = sse(daemon, ended, "?include_raw=maybe")
    assert reply.status == 400
    assert reply.json["details"]["field"] == "includeRaw"


def test_many_readers_of_one_session_see_the_same(daemon: Daemon) -> None:
    daemon.create("shared")
    path = "/sessions/shared/events/sse"
    with open_stream(daemon, path) as one, open_stream(daemon, f"{path}?offset=1") as other:
        daemon.turn("shared", "burst 300 50")
        daemon.request("POST", "/sessions/shared/terminate")
        first, second = one.read(), other.read()
    assert without_comments(second) == without_comments(first)[1:]


def without_comments(stream: bytes) -> list[bytes]:
    """The events of a stream."""
    return [block for block in stream.split(b"\n\n") if not block.startswith(b":")]
