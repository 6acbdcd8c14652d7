"""Messages that come while a turn runs: each is shown once, with its own words, in its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.agents.live import Bench, Live, calls
from tests.agents.watch import asked, done, ended, heard, outcomes, spoken
from tests.daemon import Stream
from tests.testing.story import Event, items, of_type, outcome, text

WAIT = "python3 -c \"import pathlib,time\nwhile not pathlib.Path('go').exists(): time.sleep(.01)\""
STEERABLE = ("steer", "commandExecution")


def queue_of(event: Event) -> list[str]:
    return [message["message"] for message in event["data"]["messages"]]


def counting(bench: Bench, *answers: str) -> Live:
    """A session whose model is in the middle of an answer."""
    live = bench.session({"text": ["One ", "two ", "three"], "gate": "rest"}, *answers)
    live.send("Count")
    live.model.wait_for_request()
    heard(live, done("message", role="user"))
    return live


def in_a_command(bench: Bench, *answers: str) -> Live:
    """A session whose turn runs a command until `go` is there."""
    live = bench.session(calls(bench.agent.shell(WAIT)), *answers, permissionMode="bypass")
    live.send("Wait for it")
    heard(live, done("tool_call"))
    return live


def steered(live: Live, message: str) -> None:
    """Send a message into the running command, and wait until the agent holds it."""

    def is_held(event: Event) -> bool:
        item = event["data"].get("item")
        if event["type"] == "queue.updated":
            return message in queue_of(event)
        return (
            event["type"] == "item.completed" and item["role"] == "user" and text(item) == message
        )

    live.send(message, delivery="steer")
    heard(live, is_held)


@contextmanager
def following(live: Live, message: str) -> Iterator[Stream]:
    path = f"{live.path}/messages/stream?delivery=steer"
    with live.daemon.stream(path, method="POST", body={"message": message}) as stream:
        assert stream.status == 200
        yield stream


def heard_from_people(events: list[Event]) -> list[str]:
    return [words for role, words in spoken(events) if role == "user"]


def test_a_message_sent_while_streaming_waits_for_the_next_turn(bench: Bench) -> None:
    live = counting(bench, "Four.")
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
    assert outcomes(events) == ["completed", "completed"]


@pytest.mark.needs("commandExecution")
def test_two_messages_that_wait_make_two_turns_in_order(bench: Bench) -> None:
    live = in_a_command(bench, "Done.", "First answer.", "Second answer.")
    live.send("Zebra one")
    live.send("Zebra two")
    (live.workspace / "go").touch()
    over = heard(live, ended())
    over = heard(live, ended(), after=over)
    heard(live, ended(), after=over)
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Wait for it"), ("assistant", "Done."),
        ("user", "Zebra one"), ("assistant", "First answer."),
        ("user", "Zebra two"), ("assistant", "Second answer."),
    ]  # fmt: skip
    assert len(of_type(events, "turn.started")) == 3
    assert "Zebra two" not in asked(live, 3)


def test_a_waiting_message_can_be_taken_back(bench: Bench) -> None:
    live = counting(bench)
    message_id = live.send("Go on")
    live.until("queue.updated")
    assert live.daemon.request("DELETE", f"{live.path}/pending/{message_id}").status == 204
    assert queue_of(live.until("queue.updated")) == []
    live.model.open("rest")
    live.until("turn.ended")
    assert spoken(live.conforms()) == [("user", "Count"), ("assistant", "One two three")]
    assert len(live.model.mains) == 1


def test_a_message_that_must_not_wait_is_refused(bench: Bench) -> None:
    live = counting(bench)
    assert live.post("/messages?delivery=reject", {"message": "Now"}).status == 409
    live.model.open("rest")
    live.until("turn.ended")
    assert spoken(live.conforms()) == [("user", "Count"), ("assistant", "One two three")]


@pytest.mark.needs(*STEERABLE)
def test_a_message_joins_the_turn_while_a_command_runs(bench: Bench) -> None:
    live = in_a_command(bench, "Both done.", "Both done.")
    steered(live, "And be quick")
    (live.workspace / "go").touch()
    heard(live, ended())
    events = live.conforms()
    assert heard_from_people(events) == ["Wait for it", "And be quick"]
    assert outcome(events) == "completed"
    assert "And be quick" in asked(live, len(live.model.mains))
    assert live.daemon.get(f"{live.path}/pending")["messages"] == []


@pytest.mark.needs(*STEERABLE)
def test_two_messages_that_join_keep_their_own_words(bench: Bench) -> None:
    live = in_a_command(bench, "All done.", "All done.")
    steered(live, "First this")
    steered(live, "Then that")
    (live.workspace / "go").touch()
    heard(live, ended())
    events = live.conforms()
    assert heard_from_people(events) == ["Wait for it", "First this", "Then that"]
    assert outcome(events) == "completed"
    assert [queue_of(e) for e in events if e["type"] == "queue.updated"][-1:] in ([], [[]])


@pytest.mark.needs(*STEERABLE)
def test_the_stream_of_a_message_that_joins_begins_at_its_own_item(bench: Bench) -> None:
    live = in_a_command(bench, "Both done.", "Both done.")
    with following(live, "And be quick") as stream:
        (live.workspace / "go").touch()
        events = list(stream)
    assert (events[0]["type"], events[-1]["type"]) == ("item.started", "turn.ended")
    assert spoken(events) == [("user", "And be quick"), ("assistant", "Both done.")]
    live.conforms()


@pytest.mark.needs("steer")
def test_a_message_that_comes_too_late_to_join_has_a_turn_of_its_own(bench: Bench) -> None:
    live = bench.session("Hello.", "And to you.")
    live.turn("Hi")
    live.send("You too", delivery="steer")
    live.until("turn.ended")
    events = live.conforms()
    assert outcomes(events) == ["completed", "completed"]
    assert spoken(events)[2:] == [("user", "You too"), ("assistant", "And to you.")]


@pytest.mark.needs(*STEERABLE, "interrupt")
def test_an_interrupt_does_not_lose_a_message_that_was_to_join(bench: Bench) -> None:
    live = in_a_command(bench, "Now for you.")
    steered(live, "Something else")
    live.interrupt()
    cut = heard(live, ended("interrupted"))
    heard(live, ended(), after=cut)
    assert spoken(live.conforms()) == [
        ("user", "Wait for it"), ("user", "Something else"), ("assistant", "Now for you."),
    ]  # fmt: skip


@pytest.mark.needs(*STEERABLE)
def test_a_message_that_may_not_join_waits_for_the_tool_and_the_turn(bench: Bench) -> None:
    live = in_a_command(bench, "Done.", "And now you.")
    live.send("Afterwards")
    assert queue_of(live.until("queue.updated")) == ["Afterwards"]
    (live.workspace / "go").touch()
    over = heard(live, ended())
    heard(live, ended(), after=over)
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Wait for it"), ("assistant", "Done."),
        ("user", "Afterwards"), ("assistant", "And now you."),
    ]  # fmt: skip
    assert len(items(events, "tool_result")) == 1
