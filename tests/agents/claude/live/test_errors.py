"""Errors of the model's API: each is told once, fails its turn, and costs no session."""

from __future__ import annotations

import socket
from typing import Any

from tests.agents.claude.live.scripts import bash, calls
from tests.agents.live import Bench, Live
from tests.agents.watch import heard, labels, says
from tests.testing.story import Event, Item, items, of_type, outcome, said, text

AT_ONCE = {"retry-after": "0"}


def error(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"status": status, "headers": AT_ONCE, **more}, "times": 20}


def failed_with(events: list[Event]) -> Any:
    """The one error of a failed turn."""
    assert outcome(events) == "failed"
    (told,) = of_type(events, "error")
    return told


def goes_on(live: Live) -> None:
    """The next turn completes."""
    live.model.script("Here I am.")
    events = live.turn("Go on")
    assert said(events) == ["Here I am."]
    assert outcome(events) == "completed"
    live.conforms()


def retries(events: list[Event]) -> list[Item]:
    return [item for item in items(events, "status") if "retrying" in labels(item)]


def fails_for_good(claude: Bench, status: int, code: str) -> None:
    live = claude.session(error(status, message="no such luck"))
    events = live.turn("Hi")
    told = failed_with(events)
    assert told["code"] == code
    assert told["details"]["status"] == status
    assert said(events) == []
    (end,) = of_type(events, "turn.ended")
    assert "stop_reason" not in end
    goes_on(live)


def test_error_400_bad_request(claude: Bench) -> None:
    fails_for_good(claude, 400, "invalid_request_error")


def test_error_401_wrong_key(claude: Bench) -> None:
    fails_for_good(claude, 401, "authentication_error")


def test_error_404_no_such_model(claude: Bench) -> None:
    fails_for_good(claude, 404, "not_found_error")


def test_error_429_too_many_requests(claude: Bench) -> None:
    fails_for_good(claude, 429, "rate_limit_error")


def test_error_500_of_the_server(claude: Bench) -> None:
    fails_for_good(claude, 500, "api_error")


def test_error_529_overloaded(claude: Bench) -> None:
    fails_for_good(claude, 529, "overloaded_error")


def test_an_error_that_passes_is_a_retry(claude: Bench) -> None:
    live = claude.session({"error": {"status": 429, "headers": AT_ONCE}}, "Now it works.")
    events = live.turn("Hi")
    (retry,) = retries(events)
    assert "429" in retry["content"][0]["detail"]
    assert of_type(events, "error") == []
    assert said(events) == ["Now it works."]
    assert outcome(events) == "completed"
    goes_on(live)


def test_nobody_listens(claude: Bench) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        live = claude.session(env={"ANTHROPIC_BASE_URL": url})
        told = failed_with(live.turn("Hi"))
        assert told["code"] == "connection_failed"
        assert len(retries(live.events())) == 1
        assert failed_with(live.turn("Still there?")) == told
    live.conforms()


def is_said_anew(claude: Bench, end: str) -> None:
    live = claude.session(
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
    assert outcome(events) == "completed"
    goes_on(live)


def test_a_message_whose_connection_is_cut_is_said_anew(claude: Bench) -> None:
    is_said_anew(claude, "cut_in_block")


def test_a_message_with_an_error_in_its_stream_is_said_anew(claude: Bench) -> None:
    is_said_anew(claude, "error_in_block")


def test_a_message_that_is_cut_between_blocks_is_gone_on_with(claude: Bench) -> None:
    live = claude.session({"text": ["Once ", "upon"], "end": "error"}, "a time.")
    events = live.turn("Tell me")
    first, second = items(events, "message", "assistant")
    assert (text(first), first["status"], first["reason"]) == ("Once upon", "failed", "cut_off")
    assert (text(second), second["status"]) == ("a time.", "completed")
    assert outcome(events) == "completed"
    goes_on(live)


def test_a_call_that_is_cut_fails_with_its_message(claude: Bench) -> None:
    cut = {**calls(bash("touch never.txt"), text="Let me."), "end": "error_in_block"}
    live = claude.session(cut, "Never mind.")
    events = live.turn("Touch it")
    (call,) = items(events, "tool_call")
    first, _ = items(events, "message", "assistant")
    assert (call["status"], call["reason"]) == ("failed", "retracted")
    assert (text(first), first["status"], first["reason"]) == ("Let me.", "failed", "cut_off")
    goes_on(live)


def test_a_message_that_fails_every_time(claude: Bench) -> None:
    live = claude.session({"text": ["Once ", "upon"], "end": "error_in_block", "times": 20})
    events = live.turn("Tell me")
    assert failed_with(events)["code"] == "overloaded_error"
    assert {item["status"] for item in items(events, "message", "assistant")} <= {"failed"}
    goes_on(live)


def test_too_many_tokens(claude: Bench) -> None:
    live = claude.session({"text": "And so on", "stop_reason": "max_tokens", "times": 20})
    events = live.turn("Go on for ever")
    assert failed_with(events)["code"] == "max_output_tokens"
    goes_on(live)


def test_the_model_refuses(claude: Bench) -> None:
    live = claude.session({"text": "I can", "stop_reason": "refusal", "times": 20})
    events = live.turn("Do something bad")
    assert failed_with(events)["code"] == "refusal"
    goes_on(live)
