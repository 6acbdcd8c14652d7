"""Questions of the real Claude Code, and what it hears."""

from __future__ import annotations

from typing import Any

from tests.agents.claude.live.heard import results, told
from tests.agents.claude.live.scripts import calls, tool
from tests.agents.live import Bench
from tests.testing.story import of_type, outcome, said


def choice(text: str, *labels: str, many: bool = False) -> dict[str, Any]:
    """A question with options."""
    options = [{"label": label, "description": f"It is {label}"} for label in labels]
    return {"question": text, "header": text[:12], "options": options, "multiSelect": many}


def ask(*questions: dict[str, Any]) -> dict[str, Any]:
    """A step that asks them."""
    return calls(tool("AskUserQuestion", questions=list(questions)))


def test_several_questions_are_asked_at_once(claude: Bench) -> None:
    live = claude.session(
        ask(
            choice("Which colour?", "Red", "Blue"),
            choice("Which sizes?", "Small", "Large", "Huge", many=True),
            choice("What else?", "Nothing", "More"),
        ),
        "Noted.",
    )
    live.send("Ask me")
    asked = live.until("question.requested")
    colour, sizes, _ = asked["data"]["questions"]
    assert (asked["data"]["prompt"], asked["data"]["options"]) == ("Which colour?", ["Red", "Blue"])
    assert colour["options"][1] == {"label": "Blue", "description": "It is Blue"}
    assert (colour["multi_select"], sizes["multi_select"]) == (False, True)
    assert (asked["source"], asked["synthetic"]) == ("agent", False)
    live.answer(asked, ["Blue"], ["Small", "Huge"], ["Cheese, with holes"])
    live.until("turn.ended")
    events = live.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["response"]) == ("answered", "Blue")
    assert resolved["answers"] == [["Blue"], ["Small", "Huge"], ["Cheese, with holes"]]
    heard = told(live.model.mains[-1])
    assert all(word in heard for word in ("Blue", "Small, Huge", "Cheese, with holes"))
    assert results(events)[0]["status"] == "completed"
    assert not of_type(events, "permission.requested")


def test_a_question_is_not_answered(claude: Bench) -> None:
    live = claude.session(ask(choice("Which colour?", "Red", "Blue")), "I will choose.")
    live.send("Ask me")
    asked = live.until("question.requested")
    path = f"/questions/{asked['data']['question_id']}/reject"
    assert live.post(path).status == 204
    live.until("turn.ended")
    events = live.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["response"]) == ("rejected", None)
    assert results(events)[0]["status"] == "failed"
    assert said(events) == ["I will choose."]
    assert outcome(events) == "completed"


def test_an_interrupt_withdraws_a_question(claude: Bench) -> None:
    live = claude.session(ask(choice("Which colour?", "Red", "Blue")), "Fine.")
    live.send("Ask me")
    live.until("question.requested")
    live.interrupt()
    live.until("turn.ended")
    events = live.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["metadata"]["reason"]) == ("rejected", "interrupt")
    assert outcome(events) == "interrupted"


def test_a_question_is_asked_even_where_nothing_else_is(claude: Bench) -> None:
    live = claude.session(
        ask(choice("Which colour?", "Red", "Blue")), "Red.", permissionMode="bypass"
    )
    live.send("Ask me")
    live.answer(live.until("question.requested"), ["Red"])
    live.until("turn.ended")
    assert said(live.conforms()) == ["Red."]
