"""A session as AG-UI: stored, live, resumed."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from tests.agui.verifier import verify
from tests.daemon import Daemon


@pytest.fixture(scope="module")
def ended(daemon: Daemon) -> str:
    """A session that has ended."""
    daemon.create("agui-ended")
    daemon.turn("agui-ended", "tools")
    daemon.turn("agui-ended", "end")
    daemon.wait_for("agui-ended", "session.ended")
    return "agui-ended"


def frames(body: bytes) -> list[tuple[str, Any]]:
    """Ids and events of a stream, split as AG-UI's client splits it."""
    assert b"\r" not in body
    blocks = [block.split(b"\n") for block in body.split(b"\n\n") if block and block[:1] != b":"]
    return [(head[4:].decode(), msgspec.json.decode(data[6:])) for head, data in blocks]


def read(daemon: Daemon, session: str, query: str = "", **headers: str) -> list[tuple[str, Any]]:
    reply = daemon.request("GET", f"/sessions/{session}/agui{query}", headers=headers)
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == "text/event-stream"
    return frames(reply.body)


def test_a_stored_session_is_a_stream_of_ag_ui(daemon: Daemon, ended: str) -> None:
    events = [event for _, event in read(daemon, ended)]
    assert verify(events).runs == 3  # two turns, and the end of the session
    assert events[0]["threadId"] == ended
    assert {"TOOL_CALL_ARGS", "TOOL_CALL_RESULT"} <= {event["type"] for event in events}


def test_a_stream_goes_on_after_any_of_its_frames(daemon: Daemon, ended: str) -> None:
    everything = read(daemon, ended)
    for position in (0, 1, len(everything) // 2, len(everything) - 2):
        last = everything[position][0]
        assert read(daemon, ended, **{"Last-Event-ID": last}) == everything[position + 1 :]


def test_who_has_seen_the_end_is_told_so(daemon: Daemon, ended: str) -> None:
    last, _ = read(daemon, ended)[-1]
    headers = {"Last-Event-ID": last}
    assert daemon.request("GET", f"/sessions/{ended}/agui", headers=headers).status == 204


@pytest.mark.parametrize("last", ["7", "soon", "999999.0"])
def test_a_place_that_is_none_is_refused(daemon: Daemon, ended: str, last: str) -> None:
    headers = {"Last-Event-ID": last}
    reply = daemon.request("GET", f"/sessions/{ended}/agui", headers=headers)
    assert reply.status == 400
    assert b"Last-Event-ID" in reply.body or b"beyond" in reply.body


def test_native_messages_are_told_where_they_are_asked_for(daemon: Daemon, ended: str) -> None:
    types = [event["type"] for _, event in read(daemon, ended)]
    assert "RAW" not in types
    assert "RAW" in [e["type"] for _, e in read(daemon, ended, "?include_raw=true")]


def test_a_live_request_is_an_interrupt_at_once_and_goes_on(daemon: Daemon) -> None:
    daemon.create("agui-live")
    with daemon.stream("/sessions/agui-live/agui") as stream:
        daemon.send("agui-live", "permission")
        seen = []
        for event in stream:
            seen.append(event)
            if event["type"] == "RUN_FINISHED":
                break
        (asked,) = seen[-1]["outcome"]["interrupts"]
        path = f"/sessions/agui-live/permissions/{asked['id']}/reply"
        assert daemon.request("POST", path, {"reply": "once"}).status == 204
        for event in stream:
            seen.append(event)
            if event["type"] == "RUN_FINISHED":
                break
    assert verify(seen).runs == 2
    assert seen[-1]["outcome"] == {"type": "success"}
    stored = iter_until(daemon, "agui-live", len(seen))
    assert stored == seen


def iter_until(daemon: Daemon, session: str, count: int) -> list[Any]:
    with daemon.stream(f"/sessions/{session}/agui") as stream:
        return list(itertools.islice(stream, count))


def test_what_a_rule_allows_interrupts_nobody(daemon: Daemon) -> None:
    daemon.create("agui-bypass", permissionMode="bypass")
    with daemon.stream("/sessions/agui-bypass/agui") as stream:
        daemon.send("agui-bypass", "permission")
        seen = []
        for event in stream:
            seen.append(event)
            if event["type"] == "RUN_FINISHED":
                break
    assert seen[-1]["outcome"] == {"type": "success"}


def test_a_deleted_session_ends_its_stream(daemon: Daemon) -> None:
    daemon.create("agui-gone")
    daemon.turn("agui-gone", "hello")
    with daemon.stream("/sessions/agui-gone/agui") as stream:
        events = iter(stream)
        seen = [next(events)]
        assert daemon.request("DELETE", "/sessions/agui-gone").status == 204
        seen += list(events)
    verify(seen)
    assert seen[-1]["outcome"] == {"type": "cancelled"}
