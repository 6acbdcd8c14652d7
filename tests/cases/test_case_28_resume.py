"""Resuming from a position that cannot be: refused, never a silent skip."""

from __future__ import annotations

import json
from itertools import islice
from urllib.parse import quote

import pytest

from tests.daemon import Daemon

NO_NUMBER = ["-1", "abc", "1.5", "0x10", "1_0", "\u0663", "9" * 30, "+1", "1,2", "1 2"]


@pytest.fixture(scope="module")
def lengths(daemon: Daemon) -> dict[str, int]:
    """Two sessions, one longer than the other."""
    for name, prompt in (("short", "echo hi"), ("long", "burst 50 10")):
        daemon.create(name)
        daemon.turn(name, prompt)
    return {name: len(daemon.events(name)) for name in ("short", "long")}


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize("position", NO_NUMBER)
def test_case_28_a_last_event_id_that_is_no_position_is_refused(
    daemon: Daemon, position: str
) -> None:
    headers = {"Last-Event-ID": position.encode().decode("latin-1")}
    reply = daemon.request("GET", "/sessions/short/events/sse", headers=headers)
    assert reply.status == 400, reply.body
    assert reply.json["details"]["field"] == "Last-Event-ID"


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize("position", NO_NUMBER)
@pytest.mark.parametrize("path", ["events", "events/sse"])
def test_case_28_an_offset_that_is_no_position_is_refused(
    daemon: Daemon, path: str, position: str
) -> None:
    reply = daemon.request("GET", f"/sessions/short/{path}?offset={quote(position)}")
    assert reply.status == 400, reply.body
    assert reply.json["details"]["field"] == "offset"


SPELLINGS = ["1e0", "1E0", "1e3", "1.0", "-0", "+1", " 1", "1 ", "1_0", "0x1", "00", "01", "1e-0",
             "\uff11", "\u00b9", "", "NaN", "true", "null", "1\n", "0b1", "1L"]  # fmt: skip
NUMBERS = [
    ("GET", "/sessions/short/events", "offset"),
    ("GET", "/sessions/short/events", "limit"),
    ("GET", "/sessions/short/events/sse", "offset"),
    ("GET", "/events/sse", "offset"),
    ("GET", "/events/sse", "cursor"),
    ("GET", "/sessions", "limit"),
    ("GET", "/sessions", "cursor"),
    ("DELETE", "/sessions/short", "quietSince"),
]


def refused(daemon: Daemon, method: str, path: str, **headers: str) -> str | None:
    """The field for which a request is 400; None: it is not. A stream that begins is left."""
    with daemon.stream(path, method=method, **headers) as answer:
        if answer.status != 400:
            return None
        return str(json.loads(answer.read())["details"]["field"])


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize(("method", "path", "field"), NUMBERS)
def test_case_28_only_plain_digits_are_a_number(
    daemon: Daemon, method: str, path: str, field: str
) -> None:
    """Before, `offset=1e0`, `1.0` and `-0` passed for 1, 1 and 0, and `cursor=01` for 1."""
    for written in SPELLINGS:
        assert refused(daemon, method, f"{path}?{field}={quote(written)}") == field, written


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize("path", ["/sessions/short/events/sse", "/events/sse"])
def test_case_28_only_plain_digits_are_a_last_event_id(daemon: Daemon, path: str) -> None:
    """Before, `01` passed for 1. Around a header's value spaces do not count."""
    for written in (each for each in SPELLINGS if each == each.strip()):
        position = written.encode().decode("latin-1")
        field = refused(daemon, "GET", path, Last_Event_ID=position)
        assert field == "Last-Event-ID", written


FLAGS = [
    ("GET", "/sessions/short/events?", "includeRaw"),
    ("GET", "/sessions/short/events/sse?", "includeRaw"),
    ("GET", "/events/sse?", "includeRaw"),
    ("GET", "/agents/mock/models?", "refresh"),
    ("DELETE", "/fs/entry?path=nothing&", "recursive"),
]


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize(("method", "path", "field"), FLAGS)
def test_case_28_only_four_words_are_a_flag(
    daemon: Daemon, method: str, path: str, field: str
) -> None:
    """Before, `include_raw=TRUE` passed for true."""
    for written in ("TRUE", "True", "FALSE", "yes", "no", "on", "t", "2", "01", "1.0", "", " true"):
        assert refused(daemon, method, f"{path}{field}={quote(written)}") == field, written


def test_case_28_a_position_in_the_future_is_refused_by_a_stream(
    daemon: Daemon, lengths: dict[str, int]
) -> None:
    future = lengths["short"] + 1
    path = "/sessions/short/events/sse"
    assert daemon.request("GET", f"{path}?offset={future}").status == 400
    reply = daemon.request("GET", path, headers={"Last-Event-ID": str(future)})
    assert reply.status == 400
    assert str(lengths["short"]) in reply.json["detail"]
    # The header wins: a good offset does not help it.
    reply = daemon.request("GET", f"{path}?offset=0", headers={"Last-Event-ID": str(future)})
    assert reply.status == 400


def test_case_28_a_page_beyond_the_end_is_empty(daemon: Daemon, lengths: dict[str, int]) -> None:
    page = daemon.get(f"/sessions/short/events?offset={lengths['short'] + 100}")
    assert page == {"events": [], "hasMore": False}


def test_case_28_a_position_of_another_session_is_simply_a_position(
    daemon: Daemon, lengths: dict[str, int]
) -> None:
    position = lengths["short"] - 1
    with daemon.stream("/sessions/long/events/sse", Last_Event_ID=str(position)) as stream:
        seen = [event["sequence"] for event in islice(stream, 3)]
    assert seen == [position + 1, position + 2, position + 3]


def test_case_28_the_last_position_of_a_live_session_waits_for_what_comes(
    daemon: Daemon, lengths: dict[str, int]
) -> None:
    position = lengths["long"]
    with daemon.stream("/sessions/long/events/sse", Last_Event_ID=str(position)) as stream:
        assert stream.status == 200
        daemon.send("long", "echo more")
        assert next(iter(stream))["sequence"] == position + 1


def test_case_28_the_last_position_of_an_ended_session_stops_an_event_source(
    daemon: Daemon,
) -> None:
    daemon.create("ended")
    daemon.turn("ended", "end")
    last = daemon.wait_for("ended", "session.ended")["sequence"]
    path = "/sessions/ended/events/sse"
    reply = daemon.request("GET", path, headers={"Last-Event-ID": str(last)})
    assert (reply.status, reply.body) == (204, b"")
    assert daemon.request("GET", path, headers={"Last-Event-ID": str(last + 1)}).status == 400
