"""Events as lines."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from dragoman.schema.events import Context, ItemCompleted, SessionUpdated
from dragoman.schema.items import Item, Json, Status
from tests.cli.conftest import Beside, Terminal
from tests.client.canned import Answer, Canned, delta, ended, event, frame, stream
from tests.daemon import Daemon, running

EVENTS = "/v1/sessions/s1/events"


def test_all_pages_are_read(daemon: Canned, terminal: Terminal) -> None:
    daemon.on(
        "GET",
        EVENTS,
        Answer(body={"events": [delta(3, "a"), delta(4, "b")], "hasMore": True}),
        Answer(body={"events": [delta(5, "c")], "hasMore": False}),
    )
    shown = terminal.run("events", "s1", "--after", "2").stdout.splitlines()
    assert [line.split()[0] for line in shown] == ["3", "4", "5"]
    assert shown[0].split() == ["3", "03:04:05", "item.delta", "a"]
    assert [seen.query["offset"] for seen in daemon.seen] == ["2", "4"]


def test_for_programs_events_are_the_daemons_lines(daemon: Canned, terminal: Terminal) -> None:
    one = delta(1, "a\x1b[31m")
    daemon.on("GET", EVENTS, Answer(body={"events": [one], "hasMore": False}))
    (line,) = terminal.run("events", "s1", "--json").stdout.splitlines()
    assert line.encode() == msgspec.json.encode(one)


def test_following_ends_with_the_session(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("GET", EVENTS + "/sse", stream(frame(delta(1, "a")), frame(ended(2)), then="hold"))
    lines = terminal.run("events", "s1", "-f", "--json").stdout.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["item.delta", "session.ended"]


def test_a_position_beyond_the_end_is_told_by_the_option(data_dir: Path, tmp_path: Path) -> None:
    with running(data_dir) as alone:
        alone.create("short")
        newest = alone.get("/status")["store"]["cursor"]
        terminal = Beside(tmp_path, alone)
        of_one = terminal.run("events", "short", "-f", "--after", "99999", code=4).stderr
        of_all = terminal.run("events", "--after", f"{newest}9", code=4).stderr
    assert of_one == "dragoman: --after: the position 99999 is beyond the last event, 1\n"
    assert of_all.startswith(f"dragoman: --after: the position {newest}9 is beyond")


def test_raw_is_shown_without_control_characters(daemon: Canned, terminal: Terminal) -> None:
    one = msgspec.structs.replace(delta(1, "a"), raw={"native": "x\x9b31my"})
    daemon.on("GET", EVENTS, Answer(body={"events": [one], "hasMore": False}))
    shown = terminal.run("events", "s1", "--raw").stdout
    assert '{"native":"xy"}' in shown
    assert daemon.seen[0].query["includeRaw"] == "true"


def test_what_changed_is_told_in_words(daemon: Canned, terminal: Terminal) -> None:
    changed = SessionUpdated(model="big", context=Context(used=120, window=1_000_000))
    limits = SessionUpdated(rate_limits={"five_hour": {"used": 12}, "resets_at": None})
    page = [event(1, changed), event(2, limits)]
    daemon.on("GET", EVENTS, Answer(body={"events": page, "hasMore": False}))
    first, second = terminal.run("events", "s1").stdout.splitlines()
    assert first.endswith("session.updated      model big, context 120 of 1,000,000")
    assert second.endswith("rate limits: five_hour used 12")


def test_a_retry_is_told_without_its_json(daemon: Canned, terminal: Terminal) -> None:
    parts = (Status(label="retrying", detail="attempt 1 of 3 in 0.5 s"), Json(json={"a": 1}))
    retry = Item(item_id="i", kind="status", role="system", content=parts, status="completed")
    page = [event(1, ItemCompleted(item=retry))]
    daemon.on("GET", EVENTS, Answer(body={"events": page, "hasMore": False}))
    shown = terminal.run("events", "s1").stdout
    assert shown.endswith("status system: retrying: attempt 1 of 3 in 0.5 s\n")


def test_an_event_type_of_tomorrow_is_shown(daemon: Canned, terminal: Terminal) -> None:
    later = json.loads(msgspec.json.encode(delta(1, "a"))) | {
        "type": "weather.changed",
        "data": {"path": "/x"},
    }
    daemon.on("GET", EVENTS, Answer(body={"events": [later], "hasMore": False}))
    assert '{"path":"/x"}' in terminal.run("events", "s1").stdout
    assert json.loads(terminal.run("events", "s1", "--json").stdout) == later


def first_lines(beside: Beside, count: int, *options: str) -> list[str]:
    """The first lines that all sessions' events are shown as."""
    with beside.open("events", *options) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(count)]
        process.kill()
    return lines


def test_all_sessions_events_are_shown_with_the_cursor_to_go_on_from(
    beside: Beside, real: Daemon
) -> None:
    real.create("one")
    real.create("two")
    shown = [json.loads(each) for each in first_lines(beside, 2, "--after", "0", "--json")]
    assert [each["event"]["session_id"] for each in shown] == ["one", "two"]
    assert [each["event"] for each in shown] == [*real.events("one"), *real.events("two")]
    cursor = shown[0]["cursor"]
    (line,) = first_lines(beside, 1, "--after", str(cursor), "--json")
    assert json.loads(line) == shown[1]
    (line,) = first_lines(beside, 1, "--after", str(cursor))
    assert line.split()[:3] == [str(shown[1]["cursor"]), "two", "1"]
