"""Errors, cuts, silence and pauses: what a test needs and a real model rarely does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from dragoman.errors import StartRefused
from dragoman.testing.model import ScriptedModel, ScriptError
from tests.testing.model_client import APIS, PATHS, answer, body, events, said, streaming, text_of

LONG = ["one ", "two ", "three"]


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


def until_cut(model: ScriptedModel, api: str) -> list[dict[str, Any]]:
    """The events of a stream that breaks off."""
    seen: list[dict[str, Any]] = []
    with (
        pytest.raises(httpx2.RemoteProtocolError, match="incomplete"),
        streaming(model, api) as stream,
    ):
        seen.extend(stream.events())
    return seen


# --- Errors ---


@pytest.mark.parametrize("api", APIS)
def test_an_error_comes_instead_of_an_answer(model: ScriptedModel, api: str) -> None:
    error = {"status": 429, "message": "slow down", "headers": {"Retry-After": "3"}}
    model.script({"error": error, "times": 2}, "fine")
    for stream in (True, False):
        refused = answer(model, api, stream=stream)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "3"
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert refused.json()["error"]["message"] == "slow down"
    assert said(model, api) == "fine"


def test_an_error_can_be_short_or_have_a_type_and_a_code(model: ScriptedModel) -> None:
    model.script({"error": 529}, {"error": {"status": 400, "type": "odd", "code": "too_long"}})
    overloaded = answer(model, "messages").json()
    assert overloaded["type"] == "error"
    assert overloaded["error"]["type"] == "overloaded_error"
    refused = answer(model, "chat").json()["error"]
    assert (refused["type"], refused["code"]) == ("odd", "too_long")


def test_an_error_in_mid_stream_is_told_in_each_api(model: ScriptedModel) -> None:
    step = {"text": LONG, "end": "error", "stream_error": {"type": "odd", "message": "oh"}}
    model.script(*[step] * 3)
    assert events(model, "messages")[-1] == {
        "type": "error",
        "error": {"type": "odd", "message": "oh"},
    }
    failed = events(model, "responses")[-1]
    assert failed["type"] == "response.failed"
    assert failed["response"]["error"] == {"code": "odd", "message": "oh"}
    with streaming(model, "chat") as stream:
        assert list(stream.events())[-1]["error"]["message"] == "oh"
        assert not stream.done


def test_an_error_can_come_in_the_middle_of_a_block(model: ScriptedModel) -> None:
    model.script(*[{"text": LONG, "end": "error_in_block"}] * 2)
    stream = events(model, "messages")
    assert [event["type"] for event in stream[-2:]] == ["content_block_delta", "error"]
    numbers = [event["sequence_number"] for event in events(model, "responses")]
    assert numbers == list(range(len(numbers)))


def test_without_a_stream_an_error_is_one_of_http(model: ScriptedModel) -> None:
    model.script({"text": "x", "end": "error", "stream_error": {"message": "oh"}})
    refused = answer(model, "messages")
    assert (refused.status_code, refused.json()["error"]["message"]) == (529, "oh")


# --- Cuts ---


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("end", ["cut", "cut_in_block"])
def test_a_cut_drops_the_connection(model: ScriptedModel, api: str, end: str) -> None:
    model.script({"text": LONG, "end": end})
    seen = until_cut(model, api)
    assert "".join(map(text_of, seen)) == "one two three"
    assert model.requests[-1].outcome == "dropped"
    if api == "messages":
        last = "content_block_stop" if end == "cut" else "content_block_delta"
        assert seen[-1]["type"] == last


@pytest.mark.parametrize("api", APIS)
def test_a_document_can_be_cut_too(model: ScriptedModel, api: str) -> None:
    model.script({"text": "x", "end": "cut"})
    with pytest.raises(httpx2.RemoteProtocolError):
        answer(model, api)


def test_a_cut_costs_one_connection_only(model: ScriptedModel) -> None:
    model.script({"text": "x", "end": "cut"}, "fine")
    until_cut(model, "messages")
    assert said(model, "messages") == "fine"


# --- Silence ---


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("end", ["hang", "hang_in_block"])
def test_a_hanging_stream_ends_when_the_client_leaves(
    model: ScriptedModel, api: str, end: str
) -> None:
    model.script({"text": LONG, "end": end})
    before = len(model.requests)
    with streaming(model, api) as stream:
        texts = (text for event in stream.events() if (text := text_of(event)))
        assert [next(texts) for _ in LONG] == LONG
        assert model.requests[-1].outcome is None
    hung = model.requests[before]
    assert model.wait_for_request(lambda each: each is hung and bool(each.outcome)) is hung
    assert hung.outcome == "abandoned"


def test_it_starts_and_stops_at_once_even_when_streams_hang() -> None:
    begin = time.monotonic()
    with ScriptedModel([{"text": "x", "end": "hang", "times": 5}]) as model:
        started_s = time.monotonic() - begin
        asking = [threading.Thread(target=_ask_and_lose, args=(model,)) for _ in range(5)]
        for thread in asking:
            thread.start()
        model.wait_for_request(5)
        begin = time.monotonic()
    assert started_s < 0.1
    assert time.monotonic() - begin < 0.5
    for thread in asking:
        thread.join(10)
        assert not thread.is_alive()


def _ask_and_lose(model: ScriptedModel) -> None:
    with pytest.raises(httpx2.TransportError):
        events(model, "messages")


def test_stopping_twice_or_before_the_start_is_harmless() -> None:
    never = ScriptedModel(["x"])
    never.close()
    with ScriptedModel() as model:
        model.close()


def test_a_port_that_is_taken_is_refused(model: ScriptedModel) -> None:
    port = int(model.url.rpartition(":")[2])
    with pytest.raises(StartRefused, match=f"{port}.*in use"):
        ScriptedModel(port=port).start()


# --- Pauses ---


@pytest.mark.parametrize("api", APIS)
def test_a_gate_holds_back_the_last_delta(api: str) -> None:
    step = {"text": LONG, "gate": "rest"}
    with ScriptedModel([step]) as model, streaming(model, api) as stream:
        texts = (text for event in stream.events() if (text := text_of(event)))
        assert [next(texts), next(texts)] == LONG[:2]
        model.open("rest")
        assert list(texts) == LONG[2:]


def test_a_gate_before_holds_back_even_the_headers() -> None:
    done: list[httpx2.Response] = []
    with ScriptedModel([{"error": 500, "gate_before": "go"}]) as model:
        asking = threading.Thread(target=lambda: done.append(answer(model, "chat")))
        asking.start()
        assert model.wait_for_request().outcome is None
        assert not done
        model.open("go")
        asking.join(10)
    assert done[0].status_code == 500


def test_a_gate_can_stand_between_blocks() -> None:
    blocks = [{"gate": "a"}, {"text": "first"}, {"gate": "b"}, {"text": "second"}]
    with ScriptedModel([{"blocks": blocks}]) as model, streaming(model, "messages") as stream:
        seen = stream.events()
        assert [next(seen)["type"], next(seen)["type"]] == ["message_start", "ping"]
        model.open("a")
        kinds = [next(seen) for _ in range(3)]
        assert text_of(kinds[1]) == "first"
        model.open("b")
        assert [event["index"] for event in seen if "index" in event] == [1, 1, 1]


def test_a_gate_can_be_opened_before_it_is_reached() -> None:
    with ScriptedModel([{"text": "x", "gate": "early", "times": 2}]) as model:
        model.open("early")
        assert said(model, "chat") + said(model, "chat") == "xx"


def test_an_unknown_gate_is_a_mistake() -> None:
    with (
        ScriptedModel([{"text": "x", "gate": "known"}]) as model,
        pytest.raises(ScriptError, match=r"no step has a gate 'unknown'; known: known"),
    ):
        model.open("unknown")


def test_a_slow_model_takes_its_time(model: ScriptedModel) -> None:
    model.script({"text": LONG, "delay_s": 0.1, "before_s": 0.2})
    begin = time.monotonic()
    with httpx2.stream("POST", model.url + PATHS["messages"], json=body("messages")) as response:
        assert time.monotonic() - begin >= 0.2
        response.read()
    assert time.monotonic() - begin >= 0.4
