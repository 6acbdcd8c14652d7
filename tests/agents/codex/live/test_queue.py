"""Messages that come while a turn runs: each is shown once, with its own words, in its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.agents.codex.live.scripts import calls, run
from tests.agents.codex.live.watch import asked, outcomes, spoken
from tests.agents.live import Bench, Live
from tests.agents.watch import done, ended, heard, says
from tests.daemon import Stream
from tests.testing.story import Event, items, of_type, outcome, text

WAIT = "while [ ! -e go ]; do sleep .01; done"
COUNTING = {"text": ["One ", "two ", "three"], "gate": "rest"}


def queue_of(event: Event) -> list[str]:
    return [message["message"] for message in event["data"]["messages"]]


def counting(codex: Bench, *answers: str) -> Live:
    """A session whose model is in the middle of an answer."""
    live = codex.session(COUNTING, *answers)
    live.send("Count")
    heard(live, says("two"))
    return live


def in_a_command(codex: Bench, *answers: str) -> Live:
    """A session whose turn runs a command until `go` is there."""
    live = codex.session(calls(run(WAIT)), *answers, permissionMode="bypass")
    live.send("Wait for it")
    heard(live, done("tool_call"))
    return live


@contextmanager
def following(live: Live, message: str) -> Iterator[Stream]:
    path = f"{live.path}/messages/stream?delivery=steer"
    with live.daemon.stream(path, method="POST", body={"message": message}) as stream:
        assert stream.status == 200
        yield stream


def test_a_message_sent_while_streaming_waits_for_the_next_turn(codex: Bench) -> None:
    live = counting(codex, "Four.")
    live.send("Go on")
    assert queue_of(live.until("queue.updated")) == ["Go on"]
    live.model.open("rest")
    assert queue_of(live.until("queue.updated")) == []
    live.until("turn.ended")
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Count"), ("assistant", "One two three"),
        ("user", "Go on"), ("assistant", "Four."),
    ]  # fmt: skip
    assert outcomes(events) == ["completed", "completed"]


def test_two_messages_that_wait_make_two_turns_in_order(codex: Bench) -> None:
    live = in_a_command(codex, "Done.", "First answer.", "Second answer.")
    live.send("First")
    live.send("Second")
    (live.workspace / "go").touch()
    over = heard(live, ended())
    over = heard(live, ended(), after=over)
    heard(live, ended(), after=over)
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Wait for it"), ("assistant", "Done."),
        ("user", "First"), ("assistant", "First answer."),
        ("user", "Second"), ("assistant", "Second answer."),
    ]  # fmt: skip
    assert len(of_type(events, "turn.started")) == 3
    assert "First" not in asked(live, 2)


def test_a_waiting_message_can_be_taken_back(codex: Bench) -> None:
    live = counting(codex)
    message_id = live.send("Go on")
    live.until("queue.updated")
    assert live.daemon.request("DELETE", f"{live.path}/pending/{message_id}").status == 204
    assert queue_of(live.until("queue.updated")) == []
    live.model.open("rest")
    live.until("turn.ended")
    assert spoken(live.conforms()) == [("user", "Count"), ("assistant", "One two three")]
    assert len(live.model.mains) == 1


def test_a_message_that_must_not_wait_is_refused(codex: Bench) -> None:
    live = counting(codex)
    reply = live.post("/messages?delivery=reject", {"message": "Now"})
    assert reply.status == 409
    live.model.open("rest")
    live.until("turn.ended")
    assert spoken(live.conforms()) == [("user", "Count"), ("assistant", "One two three")]


def test_a_message_joins_the_turn_while_a_command_runs(codex: Bench) -> None:
    live = in_a_command(codex, "Both done.")
    live.send("And be quick", delivery="steer")
    (live.workspace / "go").touch()
    heard(live, ended())
    events = live.conforms()
    assert [each for each in spoken(events) if each[0] == "user"] == [
        ("user", "Wait for it"), ("user", "And be quick"),
    ]  # fmt: skip
    assert outcome(events) == "completed"
    assert "And be quick" in asked(live, len(live.model.mains))
    assert live.daemon.get(f"{live.path}/pending")["messages"] == []


def test_a_message_that_joins_while_streaming_cuts_the_answer(codex: Bench) -> None:
    live = counting(codex, "Starting over.")
    live.send("In French", delivery="steer")
    heard(live, ended())
    events = live.conforms()
    first, second = items(events, "message", "assistant")
    assert (text(first), first["status"], first["reason"]) == ("One two ", "failed", "interrupted")
    assert (text(second), second["status"]) == ("Starting over.", "completed")
    assert spoken(events) == [
        ("user", "Count"), ("assistant", "One two "),
        ("user", "In French"), ("assistant", "Starting over."),
    ]  # fmt: skip
    assert outcome(events) == "completed"


def test_a_message_joins_while_a_permission_is_asked(codex: Bench) -> None:
    live = codex.session(calls(run("touch a.txt")), "Touched.")
    live.send("Touch it")
    permission = live.until("permission.requested")
    live.send("Hurry", delivery="steer")
    live.reply(permission, "once")
    heard(live, ended())
    events = live.conforms()
    assert [words for role, words in spoken(events) if role == "user"] == ["Touch it", "Hurry"]
    assert outcome(events) == "completed"
    assert (live.workspace / "a.txt").exists()


def test_two_messages_that_join_keep_their_own_words(codex: Bench) -> None:
    live = in_a_command(codex, "All done.", "All done.")
    live.send("First this", delivery="steer")
    live.send("Then that", delivery="steer")
    (live.workspace / "go").touch()
    heard(live, ended())
    events = live.conforms()
    assert [words for role, words in spoken(events) if role == "user"] == [
        "Wait for it", "First this", "Then that"
    ]  # fmt: skip
    assert outcome(events) == "completed"


def test_the_stream_of_a_message_that_joins_begins_at_its_own_item(codex: Bench) -> None:
    live = in_a_command(codex, "Both done.", "Both done.")
    with following(live, "And be quick") as stream:
        (live.workspace / "go").touch()
        events = list(stream)
    assert (events[0]["type"], events[-1]["type"]) == ("item.started", "turn.ended")
    assert spoken(events) == [("user", "And be quick"), ("assistant", "Both done.")]
    live.conforms()


def test_a_message_that_comes_too_late_to_join_has_a_turn_of_its_own(codex: Bench) -> None:
    live = codex.session("Hello.", "And to you.")
    live.turn("Hi")
    live.send("You too", delivery="steer")
    live.until("turn.ended")
    events = live.conforms()
    assert outcomes(events) == ["completed", "completed"]
    assert spoken(events)[2:] == [("user", "You too"), ("assistant", "And to you.")]


def test_an_interrupt_does_not_lose_a_message_that_was_to_join(codex: Bench) -> None:
    live = in_a_command(codex, "Now for you.")
    live.send("Something else", delivery="steer")
    live.interrupt()
    cut = heard(live, ended("interrupted"))
    heard(live, ended(), after=cut)
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Wait for it"), ("user", "Something else"), ("assistant", "Now for you."),
    ]  # fmt: skip


def test_a_message_to_a_review_waits(codex: Bench) -> None:
    live = codex.session(
        {"text": ['{"findings": [], "overall_correctness": "patch is correct", ',
                  '"overall_explanation": "fine", ', '"overall_confidence_score": 1}'],
         "gate": "rest"},
        "After the review.",
    )  # fmt: skip
    live.send("/review")
    live.model.wait_for_request()
    live.send("And then?", delivery="steer")
    live.model.open("rest")
    over = heard(live, ended())
    heard(live, ended(), after=over)
    assert spoken(live.since(over)) == [("user", "And then?"), ("assistant", "After the review.")]
    live.conforms()
