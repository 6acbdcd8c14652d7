"""Questions of real agents, and what they hear."""

from __future__ import annotations

import pytest

from tests.agents.live import Bench, Block, calls
from tests.agents.watch import asked
from tests.testing.story import of_type, outcome, said

pytestmark = pytest.mark.needs("questions")


def colour(bench: Bench) -> Block:
    """A step that asks for a colour."""
    agent = bench.agent
    return calls(agent.ask(agent.question("colour", "Which colour?", "Red", "Blue")))


def ask(bench: Bench) -> Block:
    """The same, where no permission is asked for before."""
    if not bench.agent.asks_freely:
        pytest.skip("in this version a question needs a permission")
    return colour(bench)


def test_a_question_is_asked_and_answered(bench: Bench) -> None:
    live = bench.session(ask(bench), "Blue it is.")
    live.send("Ask me")
    request = live.until("question.requested")
    about = request["data"]
    assert (about["prompt"], about["options"]) == ("Which colour?", ["Red", "Blue"])
    (one,) = about["questions"]
    if bench.agent.asks_plainly:
        assert one["options"][1] == {"label": "Blue"}
    else:
        assert one.get("header") == ("Colour" if bench.agent.heads_questions else None)
        assert one["options"][1] == {"label": "Blue", "description": "It is Blue."}
    assert (request["source"], request["synthetic"]) == ("agent", False)
    assert live.info["status"] == "waiting"
    live.answer(request, ["Blue"])
    live.until("turn.ended")
    assert "Blue" in asked(live, 2).rpartition("Which colour?")[2]
    events = live.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["response"]) == ("answered", "Blue")
    assert said(events) == ["Blue it is."]
    assert not of_type(events, "permission.requested")


def test_several_questions_are_asked_at_once(bench: Bench) -> None:
    if bench.agent.asks_plainly:
        pytest.skip(f"{bench.agent.adapter.name} asks one question at a time")
    question = bench.agent.question
    live = bench.session(
        calls(
            bench.agent.ask(
                question("colour", "Which colour?", "Red", "Blue"),
                question("size", "Which size?", "S", "L"),
                question("cheese", "Which cheese?", "Brie", "Feta"),
            )
        ),
        "Noted.",
    )
    live.send("Ask me")
    request = live.until("question.requested")
    if bench.agent.heads_questions:
        headers = [each["header"] for each in request["data"]["questions"]]
        assert headers == ["Colour", "Size", "Cheese"]
    live.answer(request, ["Blue"], ["L"], ["One with holes"])
    live.until("turn.ended")
    assert "One with holes" in asked(live, 2)
    (resolved,) = of_type(live.conforms(), "question.resolved")
    assert resolved["answers"] == [["Blue"], ["L"], ["One with holes"]]


def test_a_question_is_not_answered(bench: Bench) -> None:
    live = bench.session(ask(bench), "I will choose.")
    live.send("Ask me")
    request = live.until("question.requested")
    assert live.post(f"/questions/{request['data']['question_id']}/reject").status == 204
    live.until("turn.ended")
    events = live.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["response"]) == ("rejected", None)
    answers = [] if bench.agent.ends_unanswered_turn else ["I will choose."]
    assert (said(events), outcome(events)) == (answers, "completed")


def test_a_question_is_asked_even_where_nothing_else_is(bench: Bench) -> None:
    live = bench.session(colour(bench), "Red.", permissionMode="bypass")
    live.send("Ask me")
    live.answer(live.until("question.requested"), ["Red"])
    live.until("turn.ended")
    assert said(live.conforms()) == ["Red."]
