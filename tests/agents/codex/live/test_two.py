"""Two sessions on one app server: who hears what, and what its end costs."""

from __future__ import annotations

import signal
from typing import Any

from tests.agents.codex.live.scripts import run
from tests.agents.codex.live.watch import servers
from tests.agents.live import Bench, Live, calls
from tests.agents.watch import asked, done, ended, heard, kill, outcomes, says, spoken
from tests.testing.story import items, of_type, said, text


def beside(codex: Bench, live: Live, **create: Any) -> Live:
    """Another session in the same environment."""
    return codex.another(live.model, folder=live.folder, **create)


def story(word: str) -> dict[str, Any]:
    return {
        "text": [f"{word} one ", f"{word} two ", f"{word} three"],
        "gate": word,
        "when": {"contains": word},
    }


def test_two_sessions_talk_at_once_on_one_server(codex: Bench) -> None:
    apples = codex.session(story("apples"), story("pears"))
    pears = beside(codex, apples)
    apples.send("Count apples")
    heard(apples, says("apples two"))
    pears.send("Count pears")
    heard(pears, says("pears two"))
    assert len(servers(apples)) == 1
    apples.model.open("apples")
    apples.until("turn.ended")
    apples.model.open("pears")
    pears.until("turn.ended")
    for live, word in ((apples, "apples"), (pears, "pears")):
        assert spoken(live.conforms()) == [
            ("user", f"Count {word}"), ("assistant", f"{word} one {word} two {word} three"),
        ]  # fmt: skip
    first, second = (live.info["nativeSessionId"] for live in (apples, pears))
    assert None not in (first, second)
    assert first != second


def test_an_interrupt_of_one_session_leaves_the_other_alone(codex: Bench) -> None:
    apples = codex.session(story("apples"), story("pears"))
    pears = beside(codex, apples)
    apples.send("Count apples")
    pears.send("Count pears")
    heard(apples, says("apples two"))
    heard(pears, says("pears two"))
    apples.interrupt()
    heard(apples, ended("interrupted"))
    apples.model.open("pears")
    heard(pears, ended())
    assert said(pears.conforms()) == ["pears one pears two pears three"]
    apples.conforms()


def test_a_server_that_is_killed_fails_both_turns_and_both_go_on(codex: Bench) -> None:
    command = {**calls(run("sleep 60")), "when": {"contains": "pears"}}
    apples = codex.session(story("apples"), command)
    pears = beside(codex, apples, permissionMode="bypass")
    apples.send("Count apples")
    pears.send("Count pears")
    heard(apples, says("apples two"))
    heard(pears, done("tool_call"))
    natives = [live.info["nativeSessionId"] for live in (apples, pears)]
    kill(apples)
    for live in (apples, pears):
        heard(live, ended("failed"))
        (error,) = of_type(live.events(), "error")
        assert (error["code"], error["details"]["signal"]) == ("process_exit", signal.SIGKILL)
        assert live.info["status"] == "idle"
    (answer,) = items(apples.events(), "message", "assistant")
    assert (text(answer), answer["status"]) == ("apples one apples two ", "failed")
    (result,) = items(pears.events(), "tool_result")
    assert result["status"] == "failed"
    assert servers(apples) == []
    apples.model.script("Apples again.", "Pears again.")
    assert said(apples.turn("Are you there?")) == ["Apples again."]
    assert said(pears.turn("And you?")) == ["Pears again."]
    assert "Count apples" in asked(apples, 3)
    assert "Count pears" in asked(apples, 4)
    assert [live.info["nativeSessionId"] for live in (apples, pears)] == natives
    assert len(servers(apples)) == 1
    for live in (apples, pears):
        assert outcomes(live.conforms()) == ["failed", "completed"]
        live.terminate()


def test_a_session_that_ends_leaves_the_other_its_server(codex: Bench) -> None:
    first = codex.session("One.", "Two.", "Three.")
    second = beside(codex, first)
    first.turn("1")
    second.turn("2")
    before = servers(first)
    first.terminate()
    assert said(second.turn("3")) == ["Three."]
    assert servers(second) == before
    first.conforms()
    second.conforms()
