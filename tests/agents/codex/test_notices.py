"""Status items and reports of errors, also of odd ones."""

from __future__ import annotations

import pytest

from dragoman.agents.codex import native
from tests.agents.codex.session import THREAD, CodexSession, completed


@pytest.fixture
def session() -> CodexSession:
    return CodexSession()


def test_a_tool_tells_how_far_it_is(session: CodexSession) -> None:
    call = {"type": "mcpToolCall", "id": "t1", "server": "tiny", "tool": "slow", "arguments": {}}
    begun = session.tell("item/started", item=call)
    (progress,) = completed(
        session.tell("item/mcpToolCall/progress", itemId="t1", message="half way")
    )
    part = progress["content"][0]
    assert (part["label"], part["detail"]) == ("progress", "half way")
    assert progress["parent_id"] == completed(begun)[0]["item_id"]


@pytest.mark.parametrize("method", sorted(native.OTHER_NOTIFICATIONS))
def test_what_we_have_no_word_for_is_shown_as_it_is(method: str) -> None:
    (item,) = completed(CodexSession().tell(method, about="something"))
    status, params = item["content"]
    assert status["label"] == method
    assert params["json"] == {"threadId": THREAD, "turnId": "turn-1", "about": "something"}


def test_a_model_that_answers_for_another_is_shown() -> None:
    told = {"fromModel": "gpt-9", "toModel": "gpt-8", "reason": "highRiskCyberActivity"}
    (item,) = completed(CodexSession().tell("model/rerouted", **told))
    assert item["content"][0]["detail"] == "gpt-9 → gpt-8"


def test_a_deprecation_is_a_warning_with_its_details() -> None:
    (item,) = completed(CodexSession().tell("deprecationNotice", summary="old", details="use new"))
    assert item["content"][0] == {"type": "status", "label": "warning", "detail": "old: use new"}


def test_limits_are_told_where_they_change_and_what_is_known_stays() -> None:
    session = CodexSession()
    empty = {"limitId": "codex", "primary": None, "planType": None}
    assert session.tell("account/rateLimits/updated", rateLimits=empty) == []
    half = {**empty, "primary": {"usedPercent": 50}}
    ((_, first),) = session.tell("account/rateLimits/updated", rateLimits=half)
    assert first["rate_limits"] == {"limitId": "codex", "primary": {"usedPercent": 50}}
    assert session.tell("account/rateLimits/updated", rateLimits=half) == []
    plan = {"limitId": "codex", "planType": "plus"}
    ((_, second),) = session.tell("account/rateLimits/updated", rateLimits=plan)
    assert second["rate_limits"] == {**first["rate_limits"], "planType": "plus"}


def test_an_error_without_a_name_has_the_one_of_its_retry() -> None:
    session = CodexSession()
    lost = {"responseStreamDisconnected": {"httpStatusCode": None}}
    again = {"message": "Reconnecting...", "codexErrorInfo": lost}
    assert completed(session.tell("error", error=again, willRetry=True))
    final = {"message": "stream disconnected", "codexErrorInfo": "other"}
    ((_, data),) = session.tell("error", error=final, willRetry=False)
    assert data["code"] == "response_stream_disconnected"


def test_case_16_a_limit_without_a_proper_name_is_shown() -> None:
    """Before, an id that was a list was a defect of the converter's own."""
    limits = {"limitId": ["x"], "primary": {"usedPercent": 1}}
    (told,) = CodexSession().tell("account/rateLimits/updated", rateLimits=limits)
    assert told == ("session.updated", {"rate_limits": limits})


def test_case_16_an_error_with_a_deep_nest_in_its_message_is_told() -> None:
    """Before, its message was looked into without a bound."""
    error = {"message": '{"x":' + "[" * 3000 + "]" * 3000 + "}"}
    (told,) = CodexSession().tell("error", error=error, willRetry=False)
    assert told[1]["message"] == error["message"]
