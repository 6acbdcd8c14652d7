"""The tools that Codex seldom calls, and commands that outlive their turn."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from dragoman.core.blobs import StoreFile
from tests.agents.codex.session import TURN, CodexSession, EventData, completed

PIXEL = base64.b64encode(b"\x89PNG").decode()


@pytest.fixture
def session() -> CodexSession:
    return CodexSession()


def tool(events: list[EventData]) -> tuple[Any, Any]:
    """The call and the result of the one tool."""
    call, result = completed(events)
    assert (call["kind"], result["kind"]) == ("tool_call", "tool_result")
    assert call["content"][0]["call_id"] == result["content"][0]["call_id"]
    return call["content"][0], result


def test_a_search_that_is_known_at_its_end_only(session: CodexSession) -> None:
    begun = session.tell("item/started", item={"type": "webSearch", "id": "w1", "query": ""})
    assert [type for type, _ in begun] == ["item.started"]
    found = [{"url": "https://example.com", "title": "Dragons"}]
    search = {"type": "webSearch", "id": "w1", "query": "dragons", "results": found}
    call, result = tool(begun + session.tell("item/completed", item=search))
    assert (call["name"], json.loads(call["arguments"])["query"]) == ("webSearch", "dragons")
    assert result["content"][1] == {"type": "json", "json": found}


def test_an_image_that_was_made_and_saved(session: CodexSession) -> None:
    call, result = tool(
        session.item(type="imageGeneration", id="g1", status="completed",
                   revisedPrompt="A dragon", savedPath="/workspace/d.png")
    )  # fmt: skip
    assert json.loads(call["arguments"]) == {"prompt": "A dragon"}
    assert result["content"][1] == {
        "type": "image",
        "path": "/workspace/d.png",
        "mime": "image/png",
    }
    assert result["status"] == "completed"


def test_an_image_that_comes_with_its_bytes_is_stored(session: CodexSession) -> None:
    session.item(type="imageGeneration", id="g1", status="completed", result=PIXEL)
    (stored,) = [each for each in session.out if isinstance(each, StoreFile)]
    assert stored.data == b"\x89PNG"


def test_an_image_that_was_not_made_has_failed(session: CodexSession) -> None:
    why = {"type": "usageLimitExceeded", "limitId": "images"}
    _, result = tool(session.item(type="imageGeneration", id="g1", status="failed", failure=why))
    assert result["status"] == "failed"
    assert result["content"][1]["json"] == why


def test_a_dynamic_tool_gives_text_and_images(session: CodexSession) -> None:
    parts = [
        {"type": "inputText", "text": "one"},
        {"type": "inputText", "text": "two"},
        {"type": "inputImage", "imageUrl": f"data:image/png;base64,{PIXEL}"},
        {"type": "inputImage", "imageUrl": "https://example.com/p.png"},
    ]
    call, result = tool(
        session.item(type="dynamicToolCall", id="d1", tool="look", namespace="apps",
                   arguments={"at": 1}, status="completed", contentItems=parts, success=True)
    )  # fmt: skip
    assert (call["name"], call["arguments"]) == ("apps__look", '{"at":1}')
    output, image, link = result["content"]
    assert (output["output"], image["mime"], link["json"]) == ("one\ntwo", "image/png", parts[3])


def test_a_dynamic_tool_fails(session: CodexSession) -> None:
    _, result = tool(
        session.item(type="dynamicToolCall", id="d1", tool="look", arguments={},
                   status="completed", contentItems=[], success=False)
    )  # fmt: skip
    assert result["status"] == "failed"


def test_an_interrupted_command_may_still_print(session: CodexSession) -> None:
    command = {"type": "commandExecution", "id": "c1", "command": "serve", "cwd": "/workspace"}
    session.tell("item/started", item=command)
    ended = session.tell("turn/completed", turn={"id": TURN, "status": "interrupted"})
    (result,) = completed(ended)
    assert (result["status"], result["reason"]) == ("failed", "interrupted")
    later = session.tell("item/commandExecution/outputDelta", itemId="c1", delta="bye\n")
    over = {**command, "status": "completed", "exitCode": 0, "aggregatedOutput": "hi\nbye\n"}
    printed, end = completed(later + session.tell("item/completed", item=over))
    assert printed["content"][0] == {
        "type": "status", "label": "command.output", "detail": "bye\n"
    }  # fmt: skip
    assert end["content"][0]["label"] == "command.completed"
    assert end["content"][1]["json"]["output"] == "hi\nbye\n"


def test_case_16_a_command_that_began_as_nothing_known_still_has_its_result() -> None:
    """Before, its completion was a defect of the converter's own, and its output was lost."""
    session = CodexSession()
    begun = {"type": "commandExecution", "id": "call_1", "processId": [7]}
    session.tell("item/started", item=begun)
    done = {**begun, "processId": "7", "command": "ls", "aggregatedOutput": "a", "exitCode": 0}
    items = completed(session.tell("item/completed", item={**done, "status": "completed"}))
    assert [item["kind"] for item in items] == ["unknown", "tool_call", "tool_result"]


def test_case_16_bytes_in_letters_that_no_base64_has_are_kept_as_they_are() -> None:
    """Before, they were a defect of the converter's own, and the result was lost."""
    part = {"type": "image", "data": "caf\u00e9", "mimeType": "image/png"}
    call = {"type": "mcpToolCall", "id": "call_1", "server": "s", "tool": "t"}
    given = {**call, "status": "completed", "result": {"content": [part]}}
    (_, done) = completed(CodexSession().item(**given))
    assert list(done["content"][1:]) == [{"type": "json", "json": part}]
