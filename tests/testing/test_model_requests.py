"""Which request takes which step, and what is told about the requests."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Iterator

import httpx2
import pytest
import zstandard

from dragoman.testing.model import ScriptedModel, Step, Text, When
from tests.testing.model_client import APIS, PATHS, TOOLS, answer, body, said


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


def post(model: ScriptedModel, path: str, content: bytes, **headers: str) -> httpx2.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(model.url + path, content=content, headers=given)


def text_in(response: httpx2.Response) -> str:
    """The text of a document of the Messages API."""
    return str(response.json()["content"][0]["text"])


# --- Main requests and the others ---


def test_each_main_request_takes_the_next_step(model: ScriptedModel) -> None:
    model.script("one", {"text": "two", "times": 2}, Step(blocks=(Text(text="three"),)))
    assert [said(model, api) for api in (*APIS, "chat")] == ["one", "two", "two", "three"]
    assert model.remaining == []


@pytest.mark.parametrize("api", APIS)
def test_a_side_request_takes_no_step(model: ScriptedModel, api: str) -> None:
    model.script("for the main request")
    assert answer(model, api, main=False).status_code == 200
    assert not model.requests[-1].is_main
    assert said(model, api) == "for the main request"
    assert model.requests[-1].is_main


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("mark", ["Bash", "Suggest"])
def test_a_side_request_with_tools_is_known_by_a_mark(api: str, mark: str) -> None:
    prompt = "Suggest a title" if mark == "Suggest" else "hello"
    with ScriptedModel(["for the main request"], side=(mark,)) as model:
        assert answer(model, api, prompt).status_code == 200
        assert not model.requests[-1].is_main
        assert len(model.remaining) == 1
    with ScriptedModel(["for the main request"], side=("another", "title")) as model:
        assert said(model, api, prompt) == "for the main request"


def test_tools_may_come_as_an_item_of_the_input(model: ScriptedModel) -> None:
    model.script("taken")
    given = {"input": [{"type": "additional_tools", "tools": TOOLS}], "stream": False}
    response = httpx2.post(model.url + PATHS["responses"], json=given)
    assert response.json()["output"][0]["content"][0]["text"] == "taken"


def test_paths_may_have_a_prefix(model: ScriptedModel) -> None:
    model.script("x")
    url = f"{model.url}/any/prefix/v1/messages?beta=true"
    assert httpx2.post(url, json=body("messages", stream=False)).status_code == 200
    assert model.requests[-1].path == "/any/prefix/v1/messages"
    assert model.requests[-1].query == "beta=true"


def test_models_tokens_and_heads_are_answered(model: ScriptedModel) -> None:
    assert httpx2.head(model.url).status_code == 200
    assert httpx2.get(f"{model.url}/v1/models").json()["data"][0]["id"] == "scripted"
    assert httpx2.get(f"{model.url}/v1/models/big").json()["id"] == "big"
    counted = httpx2.post(f"{model.url}/v1/messages/count_tokens", json=body("messages"))
    assert counted.json() == {"input_tokens": 100}
    assert not any(request.is_main for request in model.requests[-4:])


def test_what_is_not_there_is_404(model: ScriptedModel) -> None:
    missing = httpx2.post(f"{model.url}/v1/nothing", json={})
    assert missing.status_code == 404
    assert "/v1/nothing" in missing.json()["error"]["message"]


def test_a_web_socket_is_declined(model: ScriptedModel) -> None:
    headers = {"connection": "upgrade", "upgrade": "websocket"}
    assert httpx2.get(f"{model.url}/v1/responses", headers=headers).status_code == 426


# --- Bodies ---


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_bodies_may_be_compressed(model: ScriptedModel, encoding: str) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "zstd": zstandard.ZstdCompressor().compress,
    }
    model.script("understood")
    asked = body("messages", "squeezed", stream=False)
    response = post(
        model,
        PATHS["messages"],
        packers[encoding](json.dumps(asked).encode()),
        content_encoding=encoding,
    )
    assert text_in(response) == "understood"
    assert model.requests[-1].body == asked
    assert model.requests[-1].text == "squeezed"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"{nonsense", "identity"),
        (b"plain", "gzip"),
        (b"x", "zstd"),
        (b"x", "deflate"),
        (b"x", "br"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    model: ScriptedModel, content: bytes, encoding: str
) -> None:
    model.script("kept")
    refused = post(model, PATHS["chat"], content, content_encoding=encoding)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"]
    assert len(model.remaining) == 1


# --- Matching ---


def test_a_step_is_for_the_requests_that_it_names(model: ScriptedModel) -> None:
    model.script(
        {"text": "sub", "when": {"subagent": True}},
        {"text": "about cats", "when": {"contains": "cats", "subagent": False}},
        {"text": "by header", "when": {"header": {"X-Test": "par"}}},
        {"text": "by model", "when": {"model": "some"}},
    )
    apart = {"x-some-agent-id": "a1"}
    assert text_in(answer(model, "messages", "cats", headers=apart)) == "sub"
    assert text_in(answer(model, "messages", "x", headers={"x-test": "a part"})) == "by header"
    assert text_in(answer(model, "messages", "many cats")) == "about cats"
    assert text_in(answer(model, "messages", "x")) == "by model"


def test_the_last_words_of_the_user_count(model: ScriptedModel) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "cats"}
    reminder = {"type": "text", "text": "<system-reminder>cats</system-reminder>"}
    asked = body("messages", "about cats", stream=False)
    asked["messages"] += [
        {"role": "assistant", "content": "which?"},
        {"role": "user", "content": [{"type": "text", "text": "dogs"}]},
        {"role": "assistant", "content": [{"type": "tool_use"}]},
        {"role": "user", "content": [result, reminder]},
    ]
    model.script(Step(text="wrong", when=When(contains="cats")), {"text": "right"})
    assert text_in(httpx2.post(model.url + PATHS["messages"], json=asked)) == "right"
    assert model.requests[-1].text == "dogs"


# --- Exhaustion ---


@pytest.mark.parametrize("api", APIS)
def test_an_exhausted_script_says_so(api: str) -> None:
    with ScriptedModel(["only"]) as model:
        said(model, api)
        assert model.exhausted == []
        assert "no step left" in said(model, api, "one more")
        assert [request.text for request in model.exhausted] == ["one more"]


def test_steps_for_others_are_left_alone() -> None:
    with ScriptedModel([{"text": "x", "when": {"contains": "cats"}}]) as model:
        assert "None of the 1 steps" in said(model, "chat", "dogs")
        assert len(model.exhausted) == len(model.remaining) == 1
        model.add("more")
        assert said(model, "chat", "dogs") == "more"


# --- Waiting ---


def test_a_test_can_wait_for_a_request() -> None:
    with ScriptedModel(["a", "b"]) as model:
        asking = threading.Thread(target=lambda: [said(model, "chat", p) for p in ("p1", "p2")])
        asking.start()
        assert model.wait_for_request(2).text == "p2"
        assert model.wait_for_request(lambda request: request.text == "p1").step == 1
        asking.join(10)
        assert [request.step for request in model.mains] == [1, 2]


def test_waiting_in_vain_tells_what_was_there() -> None:
    with ScriptedModel() as model:
        httpx2.head(f"{model.url}/there")
        with pytest.raises(TimeoutError, match="HEAD /there"):
            model.wait_for_request(timeout_s=0.01)


def test_requests_are_told_as_they_come() -> None:
    told: list[str] = []
    with ScriptedModel(["a"], on_request=lambda request: told.append(request.text)) as model:
        said(model, "responses", "hello")
    assert told == ["hello"]
