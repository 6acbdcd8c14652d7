"""Messages that join a turn where only Codex takes them."""

from __future__ import annotations

from tests.agents.codex.live.scripts import run
from tests.agents.live import Bench, calls
from tests.agents.watch import ended, heard, says, spoken
from tests.testing.story import items, outcome, text


def test_a_message_that_joins_while_streaming_cuts_the_answer(codex: Bench) -> None:
    live = codex.session({"text": ["One ", "two ", "three"], "gate": "rest"}, "Starting over.")
    live.send("Count")
    heard(live, says("two"))
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
