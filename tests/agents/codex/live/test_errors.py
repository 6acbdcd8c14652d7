"""Errors of the model's API: each is told once, fails its turn, and costs no session."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.agents.codex.live.scripts import configured
from tests.agents.codex.live.watch import goes_on
from tests.agents.live import Bench
from tests.agents.watch import heard, says, statuses
from tests.testing.story import Event, items, of_type, outcome, said, text


def error(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"status": status, **more}, "times": 20}


def failed_with(events: list[Event]) -> Any:
    """The one error of a failed turn."""
    assert outcome(events) == "failed"
    (told,) = of_type(events, "error")
    return told


HEADERS = {
    "x-codex-primary-used-percent": "100",
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": "1900000000",
    "x-codex-secondary-used-percent": "40",
    "x-codex-secondary-window-minutes": "10080",
}
LIMIT = error(429, type="usage_limit_reached", message="You are out of it.", headers=HEADERS)


@pytest.mark.parametrize(
    ("step", "code"),
    [
        pytest.param(error(400, message="no such luck"), "invalid_request_error", id="400"),
        pytest.param(error(401, message="who are you"), "unauthorized", id="401"),
        pytest.param(error(404), "http_connection_failed", id="404"),
        pytest.param(error(429), "response_too_many_failed_attempts", id="429"),
        pytest.param(error(500), "internal_server_error", id="500"),
        pytest.param(error(503, code="server_is_overloaded"), "server_overloaded", id="503"),
    ],
)
def test_an_error_of_the_api_fails_the_turn(codex: Bench, step: Any, code: str) -> None:
    live = codex.session(step)
    events = live.turn("Hi")
    told = failed_with(events)
    assert told["code"] == code
    assert said(events) == []
    goes_on(live)


@pytest.mark.parametrize(
    ("type", "code"),
    [
        ("context_length_exceeded", "context_window_exceeded"),
        ("insufficient_quota", "usage_limit_exceeded"),
        ("server_is_overloaded", "server_overloaded"),
        ("rate_limit_exceeded", "rate_limit_exceeded"),
    ],
)
def test_an_error_in_the_stream_fails_the_turn(codex: Bench, type: str, code: str) -> None:
    told = {"type": type, "message": "No more."}
    live = codex.session({"text": "I", "end": "error", "stream_error": told, "times": 20})
    assert failed_with(live.turn("Hi"))["code"] == code
    goes_on(live)


def test_an_answer_that_is_too_long_fails_the_turn(codex: Bench) -> None:
    live = codex.session({"text": "And so on", "stop_reason": "max_tokens", "times": 20})
    told = failed_with(live.turn("Go on for ever"))
    assert "max_output_tokens" in told["message"]
    goes_on(live)


def test_a_used_up_account_fails_the_turn_and_its_limits_are_shown(codex: Bench) -> None:
    live = codex.session(LIMIT)
    events = live.turn("Hi")
    assert failed_with(events)["code"] == "usage_limit_exceeded"
    (limits,) = [update["rate_limits"] for update in of_type(live.events(), "session.updated")
                 if "rate_limits" in update]  # fmt: skip
    assert limits["primary"]["usedPercent"] == 100
    assert limits["secondary"]["windowDurationMins"] == 10080
    goes_on(live)


def test_a_bad_request_is_told_in_the_apis_own_words(codex: Bench) -> None:
    live = codex.session(error(400, message="no such luck"))
    assert failed_with(live.turn("Hi"))["message"] == "no such luck"
    goes_on(live)


def test_an_error_that_passes_is_a_retry(codex: Bench) -> None:
    live = codex.session({"error": {"status": 500}}, "Now it works.")
    events = live.turn("Hi")
    (retry,) = statuses(events, "retrying")
    assert retry["content"][0]["detail"]
    assert of_type(events, "error") == []
    assert said(events) == ["Now it works."]
    assert outcome(events) == "completed"
    goes_on(live)


def test_nobody_listens(codex: Bench) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        environ = configured({"model_providers.scripted.base_url": url})
        live = codex.session(environ=environ)
        events = live.turn("Hi")
        told = failed_with(events)
        assert told["code"] == "http_connection_failed"
        assert len(statuses(live.events(), "retrying")) == 1
        assert failed_with(live.turn("Still there?"))["code"] == told["code"]
    live.conforms()


@pytest.mark.parametrize("end", ["cut_in_block", "error_in_block"])
def test_an_answer_whose_stream_breaks_is_said_anew(codex: Bench, end: str) -> None:
    live = codex.session(
        {"text": ["Once ", "upon ", "a time"], "gate": "cut", "end": end}, "Once more."
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
    assert len(statuses(events, "retrying")) == 1
    assert outcome(events) == "completed"
    goes_on(live)


def test_an_answer_whose_stream_breaks_every_time(codex: Bench) -> None:
    live = codex.session({"text": ["Once ", "upon"], "end": "cut_in_block", "times": 20})
    events = live.turn("Tell me")
    assert failed_with(events)["code"] == "response_stream_disconnected"
    assert {item["status"] for item in items(events, "message", "assistant")} <= {"failed"}
    goes_on(live)


def test_a_server_that_does_not_come_up_ends_a_session_that_has_not_begun(codex: Bench) -> None:
    def broken(url: str, home: Path) -> dict[str, str]:
        return {**configured()(url, home), "CODEX_HOME": str(home / "nowhere")}

    live = codex.session("Never.", environ=broken)
    live.send("Hi")
    end = live.until("session.ended")["data"]
    told = failed_with(live.conforms())
    assert (told["code"], told["details"]["exit_code"]) == ("process_exit", 1)
    assert (end["reason"], end["exit_code"]) == ("error", 1)
    assert "nowhere" in end["stderr"]["head"]
