"""Questions of the real Codex, and what it hears."""

from __future__ import annotations

from pathlib import Path

from tests.agents.codex.live.heard import told
from tests.agents.codex.live.scripts import ask, calls, configured, question
from tests.agents.live import Bench
from tests.testing.story import of_type, outcome, said


def test_a_question_is_asked_and_answered(codex: Bench) -> None:
    live = codex.session(
        calls(ask(question("colour", "Which colour?", "Red", "Blue"))), "Blue it is."
    )
    live.send("Ask me")
    asked = live.until("question.requested")
    about = asked["data"]
    assert (about["prompt"], about["options"]) == ("Which colour?", ["Red", "Blue"])
    (one,) = about["questions"]
    assert (one["question_id"], one["header"], one["allow_other"]) == ("colour", "Colour", True)
    assert one["options"][1] == {"label": "Blue", "description": "It is Blue."}
    assert (asked["source"], asked["synthetic"]) == ("agent", False)
    assert live.info["status"] == "waiting"
    live.answer(asked, ["Blue"])
    live.until("turn.ended")
    assert '{\\"answers\\":{\\"colour\\":{\\"answers\\":[\\"Blue\\"]}}}' in told(live)
    events = live.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["response"]) == ("answered", "Blue")
    assert said(events) == ["Blue it is."]
    assert not of_type(events, "permission.requested")


def test_several_questions_are_asked_at_once(codex: Bench) -> None:
    live = codex.session(
        calls(
            ask(
                question("colour", "Which colour?", "Red", "Blue"),
                question("size", "Which size?", "S", "L"),
                question("cheese", "Which cheese?", "Brie", "Feta"),
            )
        ),
        "Noted.",
    )
    live.send("Ask me")
    asked = live.until("question.requested")
    ids = [each["question_id"] for each in asked["data"]["questions"]]
    assert ids == ["colour", "size", "cheese"]
    live.answer(asked, ["Blue"], ["L"], ["One with holes 🧀"])
    live.until("turn.ended")
    heard = told(live)
    for id, answer in zip(ids, ("Blue", "L", "One with holes 🧀"), strict=True):
        assert f'\\"{id}\\":{{\\"answers\\":[\\"{answer}\\"]}}' in heard
    (resolved,) = of_type(live.conforms(), "question.resolved")
    assert resolved["answers"] == [["Blue"], ["L"], ["One with holes 🧀"]]


def test_a_secret_answer_is_kept_nowhere(codex: Bench) -> None:
    secret = "hush-hush-4711"
    asks = ask(
        question("user", "Who are you?", "Me", "You"),
        question("password", "Which password?", "None", "The old one", isSecret=True),
    )
    live = codex.session(calls(asks), "I am in.")
    live.send("Sign in")
    asked = live.until("question.requested")
    plain, hidden = asked["data"]["questions"]
    assert ("secret" in plain, hidden["secret"]) == (False, True)
    live.answer(asked, ["Me"], [secret])
    live.until("turn.ended")
    assert secret in told(live)
    live.conforms()
    assert secret not in str(live.events(raw=True))
    kept = [path for path in Path(live.daemon.data_dir).rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []
    (resolved,) = of_type(live.events(), "question.resolved")
    assert resolved["status"] == "answered"


def test_a_question_is_not_answered(codex: Bench) -> None:
    live = codex.session(
        calls(ask(question("colour", "Which colour?", "Red", "Blue"))), "I will choose."
    )
    live.send("Ask me")
    asked = live.until("question.requested")
    assert live.post(f"/questions/{asked['data']['question_id']}/reject").status == 204
    live.until("turn.ended")
    assert '{\\"answers\\":{}}' in told(live)
    events = live.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["response"]) == ("rejected", None)
    assert (said(events), outcome(events)) == (["I will choose."], "completed")


def test_a_question_is_asked_while_planning(codex: Bench) -> None:
    off = configured({"features.default_mode_request_user_input": False})
    step = calls(ask(question("colour", "Which colour?", "Red", "Blue")))
    live = codex.session(step, "Red.", step, "Nobody asked.", environ=off, permissionMode="plan")
    live.send("Ask me")
    live.answer(live.until("question.requested"), ["Red"])
    live.until("turn.ended")
    live.patch(permissionMode="default")
    events = live.turn("Ask me again")
    assert said(events) == ["Nobody asked."]
    assert not of_type(events, "question.requested")
    assert "request_user_input is unavailable in Default mode" in told(live)
    live.conforms()


def test_a_question_is_asked_even_where_nothing_else_is(codex: Bench) -> None:
    live = codex.session(
        calls(ask(question("colour", "Which colour?", "Red", "Blue"))), "Red.",
        permissionMode="bypass",
    )  # fmt: skip
    live.send("Ask me")
    live.answer(live.until("question.requested"), ["Red"])
    live.until("turn.ended")
    assert said(live.conforms()) == ["Red."]


def test_a_question_that_codex_itself_refuses_is_not_asked(codex: Bench) -> None:
    live = codex.session(calls(ask(question("free", "What else?"))), "Nothing.")
    events = live.turn("Ask me")
    assert not of_type(events, "question.requested")
    assert "requires non-empty options" in told(live)
    live.conforms()
