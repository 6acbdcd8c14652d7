"""Levels, models, names and compaction, as Pi itself tells of them."""

from __future__ import annotations

from pathlib import Path

from tests.agents.live import Bench
from tests.agents.pi.live.agent import PI
from tests.agents.pi.live.extensions import configure
from tests.agents.watch import failed_with, statuses
from tests.testing.story import of_type, outcome, parts, said


def compacting(url: str, home: Path) -> dict[str, str]:
    """A home whose settings leave the model little room."""
    env = PI.environ(url, home)
    configure(home, compaction={"enabled": True, "reserveTokens": 199_000, "keepRecentTokens": 1})
    return env


def test_a_level_that_the_model_lacks_is_the_nearest_and_is_reported(pi: Bench) -> None:
    live = pi.session("One.", "Two.", variant="max")
    live.turn("1")
    assert live.info["variant"] == "high"
    live.patch(variant="minimal")
    live.turn("2")
    assert live.info["variant"] == "minimal"
    live.patch(variant="xhigh")
    live.turn("3")
    assert live.info["variant"] == "high"
    live.conforms()


def test_a_model_that_pi_does_not_know_fails_the_session(pi: Bench) -> None:
    live = pi.session("Never.", model="nobody/nothing")
    live.send("Hi")
    end = live.until("session.ended")
    assert end["data"]["reason"] == "error"
    assert 'Model "nobody/nothing" not found' in str(of_type(live.events(), "error"))


def test_a_switch_to_a_model_that_pi_does_not_know_is_an_error(pi: Bench) -> None:
    live = pi.session("One.", "Two.", model="scripted/one")
    live.turn("1")
    live.patch(model="scripted/nothing")
    error = live.until("error")
    assert "scripted/nothing" in error["data"]["message"]
    assert said(live.turn("2")) == ["Two."]
    assert live.info["model"] == "scripted/one"


def test_a_turn_tells_why_its_last_answer_ended(pi: Bench) -> None:
    live = pi.session("One.", {"text": "Two", "stop_reason": "max_tokens"})
    live.turn("1")
    live.turn("2")
    ends = of_type(live.conforms(), "turn.ended")
    assert [(end["outcome"], end["stop_reason"]) for end in ends] == [
        ("completed", "stop"), ("failed", "length"),
    ]  # fmt: skip


def test_the_cost_is_what_pi_reckons(pi: Bench) -> None:
    live = pi.session({"text": "One.", "usage": {"input": 1_000_000, "output": 1_000_000}})
    (end,) = of_type(live.turn("1"), "turn.ended")
    assert end["usage"]["cost_usd"] == 3.0
    assert end["usage"]["cost_source"] == "estimated"
    assert list(end["usage"]["models"]) == ["scripted/one"]
    live.conforms()


def test_a_conversation_is_compacted(pi: Bench) -> None:
    long = {"text": "One. " * 50, "usage": {"input": 5000, "output": 10}}
    live = pi.session(long, long, "Three.", environ=compacting)
    live.turn("1")
    live.turn("2")
    live.turn("3")
    events = live.conforms()
    (compaction, *_) = statuses(events, "compacting")
    (about,) = parts(compaction, "json")
    assert about["json"]["summary"]
    assert {data["outcome"] for data in of_type(events, "turn.ended")} == {"completed"}


def test_no_credentials_fail_the_turn(pi: Bench) -> None:
    live = pi.session(environ=lambda _, home: {"HOME": str(home), "PI_OFFLINE": "1"})
    events = live.turn("Hi")
    assert "API key" in failed_with(events)["message"] or "model" in failed_with(events)["message"]
    assert outcome(events) == "failed"
    live.conforms()
