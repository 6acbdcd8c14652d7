"""Questions of the real Claude Code, and what it hears."""

from __future__ import annotations

from typing import Any

from tests.agents.claude.live.heard import told
from tests.agents.claude.live.scripts import tool
from tests.agents.live import Bench, calls
from tests.agents.results import results
from tests.testing.story import of_type


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
