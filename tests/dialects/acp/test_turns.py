"""How turns end, what they used, and what is told beside them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.acp import native
from dragoman.dialects.acp.listing import read_listing
from dragoman.dialects.acp.usage import usage_of
from dragoman.schema.commands import Attachment, Interrupt
from dragoman.schema.http import ModeList, ModelList
from tests.dialects.acp.peer import Peer
from tests.dialects.acp.test_opening import OPTIONS


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("end_turn", "completed"),
        ("cancelled", "interrupted"),
        ("max_tokens", "failed"),
        ("max_turn_requests", "failed"),
        ("refusal", "failed"),
        ("a_new_one", "failed"),
    ],
)
def test_why_a_turn_ended(reason: str, outcome: str) -> None:
    peer = Peer().in_turn()
    peer.end(reason)
    (end,) = peer.of_type("turn.ended")
    assert (end["outcome"], end["stop_reason"]) == (outcome, reason)
    codes = [each["code"] for each in peer.of_type("error")]
    assert codes == ([reason] if outcome == "failed" else [])
    peer.conforms()


def test_an_error_after_a_stop_is_no_failure() -> None:
    peer = Peer().in_turn()
    peer.command(Interrupt())
    peer.refuses(-32603, "aborted")
    assert peer.of_type("turn.ended")[0]["outcome"] == "interrupted"
    assert peer.of_type("error") == []
    peer.conforms()


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"code": 429, "message": "Slow down"}, "http_429", "Slow down"),
        ({"data": {"details": "500 no such luck"}, "message": "Internal error"}, "http_500",
         "500 no such luck"),
        ({"data": {"statusCode": 401}, "message": "bad key"}, "http_401", "bad key"),
        ({"data": {"errorName": "APIError"}, "message": "Internal error: oh"}, "api_error", "oh"),
        ({"data": {"details": "Connection error."}, "message": "Internal error"},
         "connection_failed", "Connection error."),
        ({"code": -32602, "message": "wrong"}, "invalid_params", "wrong"),
        ({"code": 7, "message": ""}, "7", "the agent did not say why"),
        ({"message": "Internal error", "data": "why"}, "internal_error", "why"),
    ],
)  # fmt: skip
def test_what_went_wrong(error: Any, code: str, message: str) -> None:
    peer = Peer().in_turn()
    peer.refuses(**error)
    (told,) = peer.of_type("error")
    assert (told["code"], told["message"]) == (code, message)
    assert peer.of_type("turn.ended")[0]["outcome"] == "failed"
    peer.conforms()


def test_a_message_has_its_files() -> None:
    peer = Peer().open()
    files = (Attachment(path="/a b.png", mime="image/png"), Attachment(path="/n.txt", filename="N"))
    peer.send("Look", attachments=files, images={"/a b.png": b"png"})
    words, image, mention, link = peer.last("session/prompt")["prompt"]
    assert mention["text"] == "Attached file: /n.txt (N)"
    assert words == {"type": "text", "text": "Look"}
    assert (image["type"], image["data"], image["uri"]) == ("image", "cG5n", "file:///a%20b.png")
    assert link == {"type": "resource_link", "uri": "file:///n.txt", "name": "N"}


# --- Usage ---


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"input": 20, "output": 7, "read": 1500, "total": 1527}, (20, 1500, 7, 0)),
        ({"input": 1520, "output": 7, "read": 1500, "total": 1527}, (20, 1500, 7, 0)),
        ({"input": 20, "output": 7, "thought": 5, "total": 32}, (20, 0, 12, 5)),
        ({"input": 20, "output": 7, "thought": 5, "total": 27}, (20, 0, 7, 5)),
        ({"input": -1, "output": "x", "total": None}, (0, 0, 0, 0)),
    ],
)
def test_tokens_are_counted_in_our_terms(told: Any, expected: Any) -> None:
    used = usage_of(
        native.TokenCounts(
            input_tokens=told.get("input"),
            output_tokens=told.get("output"),
            thought_tokens=told.get("thought"),
            cached_read_tokens=told.get("read"),
            total_tokens=told.get("total"),
        )
    )
    counts = used.input_tokens, used.cached_input_tokens, used.output_tokens
    assert (*counts, used.reasoning_tokens) == expected


@given(st.lists(st.integers(-5, 2000), min_size=6, max_size=6))
def test_tokens_are_never_below_zero(numbers: list[int]) -> None:
    names = ("input_tokens", "output_tokens", "thought_tokens", "cached_read_tokens",
             "cached_write_tokens", "total_tokens")  # fmt: skip
    used = usage_of(native.TokenCounts(**dict(zip(names, numbers, strict=True))))
    assert min(used.input_tokens, used.cached_input_tokens, used.output_tokens) >= 0


def test_each_request_counts_where_it_is_told() -> None:
    peer = Peer().in_turn()
    for count in (100, 200):
        usage = {"inputTokens": count, "outputTokens": 1, "totalTokens": count + 1}
        peer.chunk("", _meta={"usage": usage})
    peer.end(usage={"inputTokens": 200, "outputTokens": 1, "totalTokens": 201})
    used = peer.of_type("turn.ended")[0]["usage"]
    assert (used["input_tokens"], used["output_tokens"]) == (300, 2)


def test_costs_are_totals_and_the_window_is_told_once() -> None:
    peer = Peer().open()
    for amount in (0.25, 0.75):
        peer.send()
        cost = {"amount": amount, "currency": "USD"}
        peer.update("usage_update", used=10, size=100, cost=cost)
        peer.end()
    costs = [each["usage"]["cost_usd"] for each in peer.of_type("turn.ended")]
    assert costs == [0.25, 0.5]
    windows = [each for each in peer.of_type("session.updated") if "context" in each]
    assert windows == [{"context": {"used": 10, "window": 100}}]
    peer.conforms()


# --- Notices ---


def test_plans_commands_and_extensions_are_kept_as_status() -> None:
    peer = Peer().in_turn()
    entries = [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
    for _ in range(2):
        peer.update("plan", entries=entries)
        peer.update("available_commands_update", availableCommands=[{"name": "init"}])
    peer.says("_agent/own", deep={"value": 1})
    peer.says("agent/notify/other", value=2)
    peer.update("session_info_update", title="A title")
    peer.end()
    (plan,), (commands,) = peer.status("plan"), peer.status("commands")
    assert plan["content"][0]["detail"] == "1 of 2 done"
    assert commands["content"][0]["detail"] == "/init"
    assert peer.status("agent/own")[0]["content"][1]["json"] == {"deep": {"value": 1}}
    assert peer.status("agent/notify/other")
    assert peer.of_type("session.updated")[-1] == {"title": "A title"}
    peer.conforms()


def test_an_update_of_a_kind_that_is_new_is_unparsed() -> None:
    peer = Peer().in_turn()
    peer.update("a_new_kind", value=1)
    (unparsed,) = peer.of_type("agent.unparsed")
    assert "a_new_kind" in unparsed["error"]


# --- Lists ---


def test_models_and_modes_are_read_from_the_reply_that_opens_a_session() -> None:
    line = json.dumps({"id": "dragoman-2", "result": {"sessionId": "n", "configOptions": OPTIONS}})
    modes, models = read_listing(line.encode())
    assert isinstance(modes, ModeList)
    assert [each.id for each in modes.modes] == ["ask", "plan"]
    assert isinstance(models, ModelList)
    assert [(each.id, each.variants) for each in models.models] == [
        ("one", ("low", "high")), ("two", ("low", "high"))
    ]  # fmt: skip
    assert models.default_model == "one"
    for other in (b'{"id":"dragoman-1","result":{}}', b"noise", b'{"method":"x"}'):
        assert read_listing(other) == ()
    assert read_listing(b'{"id":"dragoman-2","error":{}}') == (
        ModeList(modes=()), ModelList(models=())
    )  # fmt: skip


# --- Anything at any time ---

UPDATES = st.sampled_from(
    [
        ("agent_message_chunk", {"content": {"type": "text", "text": "a"}}),
        ("agent_thought_chunk", {"content": {"type": "text", "text": "b"}}),
        ("user_message_chunk", {"content": {"type": "text", "text": "c"}}),
        ("tool_call", {"toolCallId": "c1", "title": "x"}),
        ("tool_call_update", {"toolCallId": "c1", "status": "in_progress"}),
        ("tool_call_update", {"toolCallId": "c1", "status": "completed"}),
        ("tool_call_update", {"toolCallId": "c2", "status": "failed"}),
        ("plan", {"entries": []}),
        ("usage_update", {"used": 1, "size": 2}),
        ("current_mode_update", {"currentModeId": "plan"}),
    ]
)


@given(st.lists(st.one_of(UPDATES, st.sampled_from(["send", "end", "stop", "exit"])), max_size=25))
def test_whatever_is_said_a_turn_is_opened_by_a_message_only(acts: list[Any]) -> None:
    peer, prompts = Peer().open(), 0
    for act in acts:
        in_turn = "session/prompt" in peer.due
        match act:
            case "send" if not in_turn:
                peer.send()
                prompts += 1
            case "end" if in_turn:
                peer.end()
            case "stop":
                peer.command(Interrupt())
            case "exit":
                peer.exits()
                peer.open()
            case (kind, about):
                peer.update(kind, **about)
    if "session/prompt" in peer.due:
        peer.end()
    assert len(peer.of_type("turn.started")) == len(peer.of_type("turn.ended")) == prompts
    peer.conforms()
