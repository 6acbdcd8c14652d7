"""Questions of the real Codex, and what it hears."""

from __future__ import annotations

from pathlib import Path

from tests.agents.codex.live.heard import told
from tests.agents.codex.live.scripts import ask, configured, question
from tests.agents.live import Bench, calls
from tests.testing.story import of_type, said


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


def test_a_question_that_codex_itself_refuses_is_not_asked(codex: Bench) -> None:
    live = codex.session(calls(ask(question("free", "What else?"))), "Nothing.")
    events = live.turn("Ask me")
    assert not of_type(events, "question.requested")
    assert "requires non-empty options" in told(live)
    live.conforms()
