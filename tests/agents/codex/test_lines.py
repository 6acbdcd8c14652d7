"""Which line is whose, and what becomes of lines that are seldom, old or unknown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman.adapter import EVERYONE
from dragoman.agents.codex import lines, native
from dragoman.schema.commands import Interrupt, Prompt
from dragoman.wire.jsonrpc import Refused
from tests.agents.codex.lines import THREAD, Heard, completed


def line(method: str, **params: Any) -> bytes:
    return json.dumps({"method": method, "params": params}).encode()


@pytest.mark.parametrize(
    ("params", "keys"),
    [
        ({"threadId": "t"}, ("t",)),
        ({"conversationId": "t"}, ("t",)),
        ({"thread": {"id": "child", "parentThreadId": "t"}}, ("child", "t")),
        ({}, ()),
    ],
)
def test_a_line_is_for_the_thread_that_it_names(params: Any, keys: tuple[str, ...]) -> None:
    assert lines.route(line("thread/started", **params)) == keys


def test_what_names_no_thread_is_for_everyone_or_about_the_process() -> None:
    assert lines.route(line("configWarning", summary="x")) == ()
    assert lines.route(line("warning", threadId="t", message="x")) == ("t",)
    assert lines.route(line("account/rateLimits/updated", rateLimits={})) == (EVERYONE,)
    assert lines.route(line("remoteControl/status/changed", status="off")) == ()


def test_what_older_versions_say_twice_is_heard_once() -> None:
    heard = Heard()
    assert heard.tell("codex/event/agent_message", msg={"type": "agent_message"}) == []
    assert isinstance(lines.decode(line("codex/event/task_started")), native.Quiet)


def test_a_notification_that_nobody_knows_is_kept() -> None:
    ((type, data),) = Heard().tell("thread/telepathy", thought="hm")
    assert type == "agent.unparsed"
    assert "thread/telepathy" in data["error"]


def test_a_notification_of_another_shape_is_kept() -> None:
    ((type, _),) = Heard().tell("turn/completed", turn="over")
    assert type == "agent.unparsed"


def test_a_line_without_a_method_is_no_message() -> None:
    with pytest.raises(msgspec.ValidationError):
        lines.decode(b"{}")


@pytest.mark.parametrize("method", sorted(lines.REMARKS))
def test_what_we_have_no_word_for_is_shown_as_it_is(method: str) -> None:
    (item,) = completed(Heard().tell(method, about="something"))
    status, params = item["content"]
    assert status["label"] == method
    assert params["json"] == {"threadId": THREAD, "turnId": "turn-1", "about": "something"}


def test_a_model_that_answers_for_another_is_shown() -> None:
    told = {"fromModel": "gpt-9", "toModel": "gpt-8", "reason": "highRiskCyberActivity"}
    (item,) = completed(Heard().tell("model/rerouted", **told))
    assert item["content"][0]["detail"] == "gpt-9 → gpt-8"


def test_a_deprecation_is_a_warning_with_its_details() -> None:
    (item,) = completed(Heard().tell("deprecationNotice", summary="old", details="use new"))
    assert item["content"][0] == {"type": "status", "label": "warning", "detail": "old: use new"}


def test_a_name_is_the_title() -> None:
    assert Heard().tell("thread/name/updated", threadName="Dragons") == [
        ("session.updated", {"title": "Dragons"})
    ]


def test_limits_are_told_where_they_change_and_what_is_known_stays() -> None:
    heard = Heard()
    empty = {"limitId": "codex", "primary": None, "planType": None}
    assert heard.tell("account/rateLimits/updated", rateLimits=empty) == []
    half = {**empty, "primary": {"usedPercent": 50}}
    ((_, first),) = heard.tell("account/rateLimits/updated", rateLimits=half)
    assert first["rate_limits"] == {"limitId": "codex", "primary": {"usedPercent": 50}}
    assert heard.tell("account/rateLimits/updated", rateLimits=half) == []
    plan = {"limitId": "codex", "planType": "plus"}
    ((_, second),) = heard.tell("account/rateLimits/updated", rateLimits=plan)
    assert second["rate_limits"] == {**first["rate_limits"], "planType": "plus"}


def test_an_error_is_told_once_where_the_turn_says_it_again() -> None:
    heard = Heard()
    error = {"message": "No more.", "codexErrorInfo": "usageLimitExceeded"}
    told = heard.tell("error", error=error, willRetry=False)
    told += heard.tell("turn/completed", turn={"id": "turn-1", "status": "failed", "error": error})
    assert [data["code"] for type, data in told if type == "error"] == ["usage_limit_exceeded"]
    assert [data["outcome"] for type, data in told if type == "turn.ended"] == ["failed"]


def test_an_error_that_only_the_turn_tells_is_told() -> None:
    error = {"message": "No.", "codexErrorInfo": {"httpConnectionFailed": {"httpStatusCode": 403}}}
    turn = {"id": "turn-1", "status": "failed", "error": error}
    told = Heard().tell("turn/completed", turn=turn)
    ((_, data),) = [each for each in told if each[0] == "error"]
    assert (data["code"], data["message"]) == ("unauthorized", "No.")


def test_an_error_without_a_name_has_the_one_of_its_retry() -> None:
    heard = Heard()
    lost = {"responseStreamDisconnected": {"httpStatusCode": None}}
    again = {"message": "Reconnecting...", "codexErrorInfo": lost}
    assert completed(heard.tell("error", error=again, willRetry=True))
    final = {"message": "stream disconnected", "codexErrorInfo": "other"}
    ((_, data),) = heard.tell("error", error=final, willRetry=False)
    assert data["code"] == "response_stream_disconnected"


def test_a_message_that_was_shown_before_it_was_repeated_is_shown_once() -> None:
    heard = Heard()
    heard.tell("turn/completed", turn={"id": "turn-1", "status": "completed"})
    heard.say(Prompt(message_id="msg_2", text="More"))
    heard.replied("start:msg_2", {"turn": {"id": "turn-2"}})
    told = heard.tell("turn/started", turn={"id": "turn-2"})
    told += heard.tell("item/started", item={"type": "contextCompaction", "id": "c1"})
    told += heard.tell("item/completed", item={"type": "contextCompaction", "id": "c1"})
    words = [{"type": "text", "text": "More"}]
    echo = {"type": "userMessage", "id": "u2", "clientId": "msg_2", "content": words}
    assert heard.tell("item/started", item=echo) == []
    first, second = completed(told)
    assert (first["role"], first["content"][0]["text"]) == ("user", "More")
    assert second["content"][0]["label"] == "compacting"


def test_an_interrupt_of_a_turn_that_was_refused_does_not_hit_the_next() -> None:
    heard = Heard()
    heard.tell("turn/completed", turn={"id": "turn-1", "status": "completed"})
    heard.say(Prompt(message_id="msg_2", text="More"))
    heard.say(Interrupt())
    heard.interpreter.replied("start:msg_2", Refused(code=-32600, message="no"), b"{}")
    heard.interpreter.take()
    heard.say(Prompt(message_id="msg_3", text="Again"))
    heard.replied("start:msg_3", {"turn": {"id": "turn-3"}})
    assert "turn/interrupt" not in [request.method for request in heard.requests()]


@pytest.mark.parametrize("is_over", [False, True])
def test_a_message_that_came_too_late_to_join_begins_a_turn(is_over: bool) -> None:
    heard = Heard()
    heard.say(Prompt(message_id="msg_2", text="More"))
    over = {"id": "turn-1", "status": "completed"}
    refused = Refused(code=-32600, message="no active turn to steer")
    if is_over:
        heard.tell("turn/completed", turn=over)
    heard.interpreter.replied("steer:msg_2", refused, b"{}")
    heard.out += heard.interpreter.take()
    if not is_over:
        heard.tell("turn/completed", turn=over)
    sent = [request.method for request in heard.requests()]
    assert sent == ["thread/start", "turn/start", "turn/steer", "turn/start"]
