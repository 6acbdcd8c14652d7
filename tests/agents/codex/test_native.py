"""Which line is whose, and what becomes of lines that are seldom, old or unknown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman.adapter import EVERYONE
from dragoman.agents.codex import native
from dragoman.schema.commands import Interrupt, Prompt
from dragoman.schema.events import Draft
from dragoman.wire.jsonrpc import RpcError
from tests.agents.codex.session import THREAD, TURN, Heard, completed
from tests.agents.counts import NO_COUNTS


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
    assert native.route(line("thread/started", **params)) == keys


def test_what_names_no_thread_is_for_everyone_or_about_the_process() -> None:
    assert native.route(line("configWarning", summary="x")) == ()
    assert native.route(line("warning", threadId="t", message="x")) == ("t",)
    assert native.route(line("account/rateLimits/updated", rateLimits={})) == (EVERYONE,)
    assert native.route(line("remoteControl/status/changed", status="off")) == ()


def test_what_older_versions_say_twice_is_heard_once() -> None:
    heard = Heard()
    assert heard.tell("codex/event/agent_message", msg={"type": "agent_message"}) == []
    assert isinstance(native.decode(line("codex/event/task_started")), native.IgnoredNotification)


def test_a_notification_that_nobody_knows_is_kept() -> None:
    ((type, data),) = Heard().tell("thread/telepathy", thought="hm")
    assert type == "agent.unparsed"
    assert "thread/telepathy" in data["error"]


def test_a_notification_of_another_shape_is_kept() -> None:
    ((type, _),) = Heard().tell("turn/completed", turn="over")
    assert type == "agent.unparsed"


def test_a_line_without_a_method_is_no_message() -> None:
    with pytest.raises(msgspec.ValidationError):
        native.decode(b"{}")


@pytest.mark.parametrize("method", sorted(native.OTHER_NOTIFICATIONS))
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
    heard.on_reply("start:msg_2", {"turn": {"id": "turn-2"}})
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
    heard.interpreter.on_reply("start:msg_2", RpcError(code=-32600, message="no"), b"{}")
    heard.interpreter.take()
    heard.say(Prompt(message_id="msg_3", text="Again"))
    heard.on_reply("start:msg_3", {"turn": {"id": "turn-3"}})
    assert "turn/interrupt" not in [request.method for request in heard.requests()]


@pytest.mark.parametrize("is_over", [False, True])
def test_a_message_that_came_too_late_to_join_begins_a_turn(is_over: bool) -> None:
    heard = Heard()
    heard.say(Prompt(message_id="msg_2", text="More"))
    over = {"id": "turn-1", "status": "completed"}
    refused = RpcError(code=-32600, message="no active turn to steer")
    if is_over:
        heard.tell("turn/completed", turn=over)
    heard.interpreter.on_reply("steer:msg_2", refused, b"{}")
    heard.out += heard.interpreter.take()
    if not is_over:
        heard.tell("turn/completed", turn=over)
    sent = [request.method for request in heard.requests()]
    assert sent == ["thread/start", "turn/start", "turn/steer", "turn/start"]


# --- Counts that cannot be ---

COUNTS = {"inputTokens": 100, "cachedInputTokens": 5, "cacheWriteInputTokens": 6,
          "outputTokens": 10, "reasoningOutputTokens": 7, "totalTokens": 110}  # fmt: skip
OURS = {"cachedInputTokens": "cached_input_tokens", "cacheWriteInputTokens": "cache_write_tokens",
        "outputTokens": "output_tokens", "reasoningOutputTokens": "reasoning_tokens",
        "inputTokens": "input_tokens"}  # fmt: skip


def used(heard: Heard, *totals: dict[str, Any]) -> Any:
    """What a turn used in which Codex tells these totals."""
    for total in totals:
        heard.tell("thread/tokenUsage/updated", tokenUsage={"total": total, "last": total})
    told = heard.tell("turn/completed", turn={"id": TURN, "status": "completed"})
    return next(data["usage"] for type, data in told if type == "turn.ended")


def begin(heard: Heard) -> None:
    """Another turn."""
    heard.say(Prompt(message_id="msg_2", text="Go on"))
    heard.on_reply("start:msg_2", {"turn": {"id": "turn-2"}})
    heard.tell("turn/started", turn={"id": "turn-2"}, turnId="turn-2")


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
@pytest.mark.parametrize("name", OURS)
def test_case_16_a_count_that_cannot_be_is_not_added_up(name: str, count: Any) -> None:
    """Before, a negative count made the next turn's too large, and a word cost all the counts."""
    heard = Heard()
    usage = used(heard, {**COUNTS, name: count})
    assert usage[OURS[name]] == 0
    assert all(number >= 0 for number in usage.values())
    begin(heard)
    total = {name: 2 * count for name, count in COUNTS.items()}
    heard.tell("thread/tokenUsage/updated", turnId="turn-2",
               tokenUsage={"total": total, "last": COUNTS})  # fmt: skip
    told = heard.tell("turn/completed", turn={"id": "turn-2", "status": "completed"})
    usage = next(data["usage"] for type, data in told if type == "turn.ended")
    assert all(0 <= number <= 2 * 100 for number in usage.values())


def test_case_16_a_total_that_fell_is_counted_from_zero() -> None:
    """Before, a turn after which a total was smaller than before it had used nothing."""
    heard = Heard()
    used(heard, COUNTS)
    begin(heard)
    fallen = {**COUNTS, "inputTokens": 60, "outputTokens": 4}
    heard.tell("thread/tokenUsage/updated", turnId="turn-2",
               tokenUsage={"total": fallen, "last": fallen})  # fmt: skip
    told = heard.tell("turn/completed", turn={"id": "turn-2", "status": "completed"})
    usage = next(data["usage"] for type, data in told if type == "turn.ended")
    assert (usage["input_tokens"], usage["output_tokens"]) == (60, 4)


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
def test_case_16_a_context_that_cannot_be_is_not_told(count: Any) -> None:
    """Before, a window of -258401 tokens was."""
    for last, window in (({"totalTokens": count}, 1000), ({"totalTokens": 10}, count)):
        usage = {"total": COUNTS, "last": last, "modelContextWindow": window}
        assert Heard().tell("thread/tokenUsage/updated", tokenUsage=usage) == []


# --- Lines that are almost right ---


def test_case_16_a_command_that_began_as_nothing_known_still_has_its_result() -> None:
    """Before, its completion was a defect of the converter's own, and its output was lost."""
    heard = Heard()
    begun = {"type": "commandExecution", "id": "call_1", "processId": [7]}
    heard.tell("item/started", item=begun)
    done = {**begun, "processId": "7", "command": "ls", "aggregatedOutput": "a", "exitCode": 0}
    items = completed(heard.tell("item/completed", item={**done, "status": "completed"}))
    assert [item["kind"] for item in items] == ["unknown", "tool_call", "tool_result"]


def test_case_16_a_limit_without_a_proper_name_is_shown() -> None:
    """Before, an id that was a list was a defect of the converter's own."""
    limits = {"limitId": ["x"], "primary": {"usedPercent": 1}}
    (told,) = Heard().tell("account/rateLimits/updated", rateLimits=limits)
    assert told == ("session.updated", {"rate_limits": limits})


def test_case_16_bytes_in_letters_that_no_base64_has_are_kept_as_they_are() -> None:
    """Before, they were a defect of the converter's own, and the result was lost."""
    part = {"type": "image", "data": "caf\u00e9", "mimeType": "image/png"}
    call = {"type": "mcpToolCall", "id": "call_1", "server": "s", "tool": "t"}
    given = {**call, "status": "completed", "result": {"content": [part]}}
    (_, done) = completed(Heard().item(**given))
    assert list(done["content"][1:]) == [{"type": "json", "json": part}]


def test_case_16_a_hook_that_says_what_is_no_text_is_shown() -> None:
    """Before, it was a defect of the converter's own."""
    prompt = {"type": "hookPrompt", "id": "h1", "fragments": [{"text": ["x"]}, {"text": "Go on"}]}
    (item,) = completed(Heard().item(**prompt))
    assert list(item["content"]) == [{"type": "text", "text": "Go on"}]


def test_case_16_a_sleep_longer_than_any_number_is_shown() -> None:
    """Before, it was a defect of the converter's own."""
    line = b'{"method":"item/completed","params":{"threadId":"%b","item":{"type":"sleep","id":"z",'
    heard = Heard()
    heard.interpreter.receive(line % THREAD.encode() + b'"durationMs":1%b}}}' % (b"0" * 400))
    drafts = [draft for draft in heard.interpreter.take() if isinstance(draft, Draft)]
    assert [draft.body.type for draft in drafts] == ["item.started", "item.completed"]


def test_case_16_an_error_with_a_deep_nest_in_its_message_is_told() -> None:
    """Before, its message was looked into without a bound."""
    error = {"message": '{"x":' + "[" * 3000 + "]" * 3000 + "}"}
    (told,) = Heard().tell("error", error=error, willRetry=False)
    assert told[1]["message"] == error["message"]
