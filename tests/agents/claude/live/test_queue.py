"""Messages that come while a turn runs: each is shown once, with its own words, in its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.agents.claude.live.scripts import bash, calls
from tests.agents.live import Bench, Live
from tests.agents.watch import done, ended, heard, says
from tests.daemon import Stream
from tests.testing.story import Event, items, of_type, outcome, text

WAIT = "python3 -c \"import pathlib,time\nwhile not pathlib.Path('go').exists(): time.sleep(.01)\""


def spoken(events: list[Event]) -> list[tuple[str, str]]:
    """Who said what, in order."""
    words = items(events, "message")
    return [(item["role"], text(item)) for item in words if text(item)]


def queue_of(event: Event) -> list[str]:
    return [message["message"] for message in event["data"]["messages"]]


def in_a_tool(claude: Bench, *answers: str) -> Live:
    """A session whose turn runs a tool until `go` is there."""
    live = claude.session(calls(bash(WAIT)), *answers, permissionMode="bypass")
    live.send("Wait for it")
    heard(live, done("tool_call"))
    return live


def steered(live: Live, message: str) -> str:
    """Send a message into the running tool, and wait until the agent holds it."""
    message_id = live.send(message, delivery="steer")
    waiting = live.until("queue.updated")
    assert queue_of(waiting)[-1] == message
    return message_id


@contextmanager
def following(live: Live, message: str) -> Iterator[Stream]:
    path = f"{live.path}/messages/stream?delivery=steer"
    with live.daemon.stream(path, method="POST", body={"message": message}) as stream:
        assert stream.status == 200
        yield stream


def test_a_message_sent_while_streaming_waits_for_the_next_turn(claude: Bench) -> None:
    live = claude.session({"text": ["One ", "two ", "three"], "gate": "rest"}, "Four.")
    live.send("Count")
    heard(live, says("two"))
    live.send("Go on")
    assert queue_of(live.until("queue.updated")) == ["Go on"]
    assert [m["message"] for m in live.daemon.get(f"{live.path}/pending")["messages"]] == ["Go on"]
    live.model.open("rest")
    assert queue_of(live.until("queue.updated")) == []
    live.until("turn.ended")
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Count"), ("assistant", "One two three"),
        ("user", "Go on"), ("assistant", "Four."),
    ]  # fmt: skip
    assert len(of_type(events, "turn.ended")) == 2


def test_a_waiting_message_can_be_taken_back(claude: Bench) -> None:
    live = claude.session({"text": ["One ", "two ", "three"], "gate": "rest"})
    live.send("Count")
    heard(live, says("two"))
    message_id = live.send("Go on")
    live.until("queue.updated")
    assert live.daemon.request("DELETE", f"{live.path}/pending/{message_id}").status == 204
    assert queue_of(live.until("queue.updated")) == []
    live.model.open("rest")
    live.until("turn.ended")
    events = live.conforms()
    assert spoken(events) == [("user", "Count"), ("assistant", "One two three")]
    assert len(live.model.mains) == 1


def test_a_message_sent_while_a_tool_runs_joins_the_turn(claude: Bench) -> None:
    live = in_a_tool(claude, "Both done.")
    message_id = steered(live, "And be quick")
    assert live.daemon.request("DELETE", f"{live.path}/pending/{message_id}").status == 409
    (live.workspace / "go").touch()
    heard(live, ended())
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Wait for it"), ("user", "And be quick"), ("assistant", "Both done."),
    ]  # fmt: skip
    assert outcome(events) == "completed"
    assert "And be quick" in json.dumps(live.model.mains[1].body)
    assert live.daemon.get(f"{live.path}/pending")["messages"] == []


def test_two_messages_sent_while_a_tool_runs_keep_their_own_words(claude: Bench) -> None:
    live = in_a_tool(claude, "All done.")
    steered(live, "First this")
    steered(live, "Then that")
    (live.workspace / "go").touch()
    heard(live, ended())
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Wait for it"), ("user", "First this"), ("user", "Then that"),
        ("assistant", "All done."),
    ]  # fmt: skip
    assert outcome(events) == "completed"
    assert [queue_of(e) for e in events if e["type"] == "queue.updated"][-1] == []


def test_the_stream_of_a_message_that_joins_a_turn_begins_at_its_own_item(claude: Bench) -> None:
    live = in_a_tool(claude, "Both done.")
    with following(live, "And be quick") as stream:
        live.until("queue.updated")
        (live.workspace / "go").touch()
        events = list(stream)
    assert (events[0]["type"], events[-1]["type"]) == ("item.started", "turn.ended")
    assert spoken(events) == [("user", "And be quick"), ("assistant", "Both done.")]
    live.conforms()


def test_an_interrupt_leaves_a_message_that_was_to_join_a_turn_of_its_own(claude: Bench) -> None:
    live = in_a_tool(claude, "Now for you.")
    steered(live, "Something else")
    live.interrupt()
    cut = heard(live, ended("interrupted"))
    heard(live, ended(), after=cut)
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Wait for it"), ("user", "Something else"), ("assistant", "Now for you."),
    ]  # fmt: skip
    assert spoken(live.since(cut))[0] == ("user", "Something else")


def test_a_message_that_may_not_join_waits_for_the_tool_and_the_turn(claude: Bench) -> None:
    live = in_a_tool(claude, "Done.", "And now you.")
    live.send("Afterwards")
    assert queue_of(live.until("queue.updated")) == ["Afterwards"]
    (live.workspace / "go").touch()
    over = heard(live, ended())
    heard(live, ended(), after=over)
    assert spoken(live.conforms()) == [
        ("user", "Wait for it"), ("assistant", "Done."),
        ("user", "Afterwards"), ("assistant", "And now you."),
    ]  # fmt: skip
