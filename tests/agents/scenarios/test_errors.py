"""Errors of the model's API: each is told once, fails its turn, and costs no session."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.agents.live import Bench
from tests.agents.watch import failed_with, goes_on, heard, says, statuses
from tests.testing.story import items, of_type, outcome, said, text

pytestmark = pytest.mark.needs("errorEvents")

AT_ONCE = {"retry-after": "0"}


def error(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"status": status, "headers": AT_ONCE, **more}, "times": 20}


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_an_error_of_the_api_fails_the_turn(bench: Bench, status: int) -> None:
    if status not in bench.agent.error_codes:
        pytest.skip(f"{bench.agent.adapter.name} tries again for minutes")
    live = bench.session(error(status, message="no such luck"))
    events = live.turn("Hi")
    assert failed_with(events)["code"] == bench.agent.error_codes[status]
    assert said(events) == []
    (end,) = of_type(events, "turn.ended")
    assert "stop_reason" not in end
    goes_on(live)


@pytest.mark.asks_models
def test_an_error_that_passes_is_a_retry(bench: Bench) -> None:
    live = bench.session({"error": {"status": 500, "headers": AT_ONCE}}, "Now it works.")
    events = live.turn("Hi")
    (retry,) = statuses(events, "retrying")
    assert retry["content"][0]["detail"]
    assert of_type(events, "error") == []
    assert said(events) == ["Now it works."]
    assert outcome(events) == "completed"
    goes_on(live)


@pytest.mark.asks_models
def test_nobody_listens(bench: Bench) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        live = bench.session(**bench.agent.unreachable(url))
        error = failed_with(live.turn("Hi"))
        assert "connection_failed" in error["code"]
        assert len(statuses(live.events(), "retrying")) == 1
        assert failed_with(live.turn("Still there?"))["code"] == error["code"]
    live.conforms()


@pytest.mark.needs("streamingDeltas")
@pytest.mark.parametrize("end", ["cut_in_block", "error_in_block"])
def test_an_answer_whose_stream_breaks_is_said_anew(bench: Bench, end: str) -> None:
    told = bench.agent.stream_error if end.startswith("error") else None
    error = {"stream_error": told} if told else {}
    live = bench.session(
        {"text": ["Once ", "upon ", "a time"], "gate": "cut", "end": end, **error}, "Once more."
    )
    live.send("Tell me")
    heard(live, says("upon"))
    live.model.open("cut")
    live.until("turn.ended")
    events = live.events()
    first, second = items(events, "message", "assistant")
    assert (first["status"], first["reason"]) == ("failed", "retracted")
    assert text(first).startswith("Once upon ")
    assert (second["status"], text(second)) == ("completed", "Once more.")
    assert outcome(events) == "completed"
    goes_on(live)


def test_an_answer_whose_stream_breaks_every_time(bench: Bench) -> None:
    live = bench.session({"text": ["Once ", "upon"], "end": "error_in_block", "times": 20})
    events = live.turn("Tell me")
    assert failed_with(events)["code"]
    assert {item["status"] for item in items(events, "message", "assistant")} <= {"failed"}
    goes_on(live)


@pytest.mark.asks_models
def test_an_answer_that_is_too_long_fails_the_turn(bench: Bench) -> None:
    live = bench.session({"text": "And so on", "stop_reason": "max_tokens", "times": 20})
    assert bench.agent.too_long in str(failed_with(live.turn("Go on for ever")))
    goes_on(live)
