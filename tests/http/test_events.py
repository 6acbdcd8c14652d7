"""Pages of events: positions, limits, raw, and the envelope byte for byte."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from tests.daemon import Daemon

KEYS = ("event_id", "sequence", "time", "session_id", "native_session_id", "synthetic", "source",
        "type", "data", "raw")  # fmt: skip
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")


@pytest.fixture(scope="module")
def session(daemon: Daemon) -> str:
    """A session in which every kind of event was said."""
    daemon.create("full")
    for prompt in ("demo", "unparsed", "error", "unknown", "subagent"):
        daemon.turn("full", prompt)
    return "full"


def page(daemon: Daemon, session: str, query: str) -> Any:
    return daemon.get(f"/sessions/{session}/events?{query}")


def test_pages_join_without_hole_or_overlap(daemon: Daemon, session: str) -> None:
    everything = page(daemon, session, "limit=10000")
    assert everything["hasMore"] is False
    sequences = [event["sequence"] for event in everything["events"]]
    assert sequences == list(range(1, len(sequences) + 1))
    found: list[Any] = []
    while True:
        part = page(daemon, session, f"offset={len(found)}&limit=7")
        found += part["events"]
        if not part["hasMore"]:
            break
        assert len(part["events"]) == 7
    assert found == everything["events"]


def test_has_more_is_false_exactly_at_the_end(daemon: Daemon, session: str) -> None:
    last = len(page(daemon, session, "limit=10000")["events"])
    assert page(daemon, session, f"offset={last - 3}&limit=2")["hasMore"] is True
    assert page(daemon, session, f"offset={last - 2}&limit=2")["hasMore"] is False
    assert page(daemon, session, f"offset={last - 1}&limit=2")["hasMore"] is False


def test_events_after_an_offset_have_a_larger_sequence(daemon: Daemon, session: str) -> None:
    assert [e["sequence"] for e in page(daemon, session, "offset=4&limit=3")["events"]] == [5, 6, 7]


@pytest.mark.parametrize("beyond", ["1000000", str(2**63 - 1)])
def test_beyond_the_end_is_an_empty_page(daemon: Daemon, session: str, beyond: str) -> None:
    reply = daemon.request("GET", f"/sessions/{session}/events?offset={beyond}")
    assert (reply.status, reply.body) == (200, b'{"events":[],"hasMore":false}')


def test_a_page_holds_a_thousand_unless_asked(daemon: Daemon) -> None:
    daemon.create("many")
    daemon.turn("many", "burst 1100 10")
    first = page(daemon, "many", "")
    assert (len(first["events"]), first["hasMore"]) == (1000, True)
    assert len(page(daemon, "many", "limit=10000")["events"]) > 1000


WRONG = (
    ("limit=0", "limit"), ("limit=10001", "limit"), ("limit=-1", "limit"), ("limit=x", "limit"),
    ("limit=", "limit"), ("offset=-1", "offset"), ("offset=x", "offset"), ("offset=", "offset"),
    (f"offset={2**63}", "offset"), (f"offset={2**64}", "offset"), ("offset=" + "9" * 400, "offset"),
    ("include_raw=yes", "includeRaw"), ("include_raw=", "includeRaw"), ("offset=%FF", "query"),
    ("includeRaw=2", "includeRaw"),
)  # fmt: skip


@pytest.mark.parametrize(("query", "field"), WRONG)
def test_a_wrong_parameter_is_400_and_harms_nothing(
    daemon: Daemon, session: str, query: str, field: str
) -> None:
    reply = daemon.request("GET", f"/sessions/{session}/events?{query}")
    assert reply.status == 400
    assert reply.json["details"]["field"] == field
    assert daemon.request("GET", f"/sessions/{session}/events?limit=1").status == 200


def test_parameters_are_taken_in_both_spellings(daemon: Daemon, session: str) -> None:
    snake = daemon.request("GET", f"/sessions/{session}/events?include_raw=true&limit=50")
    camel = daemon.request("GET", f"/sessions/{session}/events?includeRaw=true&limit=50")
    assert snake.body == camel.body
    assert any(event["raw"] for event in snake.json["events"])


@pytest.mark.parametrize(
    ("value", "wanted"), [("true", True), ("1", True), ("false", False), ("0", False)]
)
def test_include_raw_takes_these_values(
    daemon: Daemon, session: str, value: str, wanted: bool
) -> None:
    events = page(daemon, session, f"include_raw={value}&limit=10000")["events"]
    assert any(event["raw"] is not None for event in events) is wanted


def test_raw_is_null_unless_asked_for(daemon: Daemon, session: str) -> None:
    events = page(daemon, session, "limit=10000")["events"]
    assert all("raw" in event and event["raw"] is None for event in events)


def test_with_raw_every_event_of_the_agent_has_its_message(daemon: Daemon, session: str) -> None:
    plain = page(daemon, session, "limit=10000")["events"]
    events = page(daemon, session, "limit=10000&include_raw=1")["events"]
    for event in events:
        if event["source"] == "agent":
            assert event["raw"]["type"]
    assert [{**event, "raw": None} for event in events] == plain
    assert events[0]["raw"] is None, "nothing that an agent said caused session.started"


def test_the_envelope_has_these_keys_in_this_order(daemon: Daemon, session: str) -> None:
    """On the bytes: a parser would forgive another order, a signature or a diff would not."""
    for query in ("limit=10000", "limit=10000&include_raw=true"):
        body = daemon.request("GET", f"/sessions/{session}/events?{query}").body
        lines = msgspec.json.decode(body, type=dict[str, msgspec.Raw])["events"]
        for raw in msgspec.json.decode(lines, type=list[msgspec.Raw]):
            line = bytes(raw)
            event = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            assert tuple(event) == KEYS
            joined = b",".join(b'"%b":%b' % (k.encode(), bytes(v)) for k, v in event.items())
            assert line == b"{%b}" % joined
            assert TIME.fullmatch(msgspec.json.decode(event["time"], type=str))


ALWAYS_THERE = {
    "item.started": ("native_item_id", "parent_id", "role"),
    "item.completed": ("native_item_id", "parent_id", "role"),
    "item.delta": ("native_item_id",),
    "error": ("code", "details"),
    "agent.unparsed": ("raw_hash",),
}


def test_absent_values_that_clients_rely_on_are_null(daemon: Daemon, session: str) -> None:
    seen = set()
    for event in page(daemon, session, "limit=10000")["events"]:
        seen.add(event["type"])
        data = event["data"].get("item", event["data"])
        for name in ALWAYS_THERE.get(event["type"], ()):
            assert name in data, (event["type"], name)
        for part in data.get("content", ()):
            for kind, name in (("file_ref", "diff"), ("image", "mime"), ("status", "detail")):
                assert part["type"] != kind or name in part
    assert seen >= set(ALWAYS_THERE)


def test_a_page_is_the_same_bytes_every_time(daemon: Daemon, session: str) -> None:
    path = f"/sessions/{session}/events?limit=10000&include_raw=true"
    assert daemon.request("GET", path).body == daemon.request("GET", path).body


def test_event_ids_are_unique_across_sessions(daemon: Daemon, session: str) -> None:
    daemon.create("other")
    daemon.turn("other", "hello")
    ids = [e["event_id"] for s in (session, "other") for e in daemon.events(s)]
    assert len(ids) == len(set(ids))
    assert all(event_id.startswith("evt_") for event_id in ids)
