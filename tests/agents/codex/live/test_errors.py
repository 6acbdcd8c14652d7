"""Errors of the model's API: each is told once, fails its turn, and costs no session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.codex.live.scripts import configured
from tests.agents.live import Bench
from tests.agents.watch import failed_with, goes_on
from tests.testing.story import of_type


def error(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"status": status, **more}, "times": 20}


HEADERS = {
    "x-codex-primary-used-percent": "100",
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": "1900000000",
    "x-codex-secondary-used-percent": "40",
    "x-codex-secondary-window-minutes": "10080",
}
LIMIT = error(429, type="usage_limit_reached", message="You are out of it.", headers=HEADERS)


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
