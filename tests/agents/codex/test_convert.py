"""What Codex seldom says, or only online: hand-written lines, and what they become."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from dragoman.core.blobs import StoreFile
from dragoman.schema.commands import AnswerPermission, AnswerQuestion, Prompt
from dragoman.schema.events import Approver
from tests.agents.codex.session import THREAD, TURN, Heard, Told, completed

PERSON = Approver(token="default", scope="admin")
PIXEL = base64.b64encode(b"\x89PNG").decode()


@pytest.fixture
def heard() -> Heard:
    return Heard()


def tool(events: list[Told]) -> tuple[Any, Any]:
    """The call and the result of the one tool."""
    call, result = completed(events)
    assert (call["kind"], result["kind"]) == ("tool_call", "tool_result")
    assert call["content"][0]["call_id"] == result["content"][0]["call_id"]
    return call["content"][0], result


def streamed(events: list[Told]) -> str:
    return "".join(data["delta"] for type, data in events if type == "item.delta")


# --- Items ---


def test_a_search_that_is_known_at_its_end_only(heard: Heard) -> None:
    begun = heard.tell("item/started", item={"type": "webSearch", "id": "w1", "query": ""})
    assert [type for type, _ in begun] == ["item.started"]
    found = [{"url": "https://example.com", "title": "Dragons"}]
    search = {"type": "webSearch", "id": "w1", "query": "dragons", "results": found}
    call, result = tool(begun + heard.tell("item/completed", item=search))
    assert (call["name"], json.loads(call["arguments"])["query"]) == ("webSearch", "dragons")
    assert result["content"][1] == {"type": "json", "json": found}


def test_an_image_that_was_made_and_saved(heard: Heard) -> None:
    call, result = tool(
        heard.item(type="imageGeneration", id="g1", status="completed",
                   revisedPrompt="A dragon", savedPath="/workspace/d.png")
    )  # fmt: skip
    assert json.loads(call["arguments"]) == {"prompt": "A dragon"}
    assert result["content"][1] == {
        "type": "image",
        "path": "/workspace/d.png",
        "mime": "image/png",
    }
    assert result["status"] == "completed"


def test_an_image_that_comes_with_its_bytes_is_stored(heard: Heard) -> None:
    heard.item(type="imageGeneration", id="g1", status="completed", result=PIXEL)
    (stored,) = [each for each in heard.out if isinstance(each, StoreFile)]
    assert stored.data == b"\x89PNG"


def test_an_image_that_was_not_made_has_failed(heard: Heard) -> None:
    why = {"type": "usageLimitExceeded", "limitId": "images"}
    _, result = tool(heard.item(type="imageGeneration", id="g1", status="failed", failure=why))
    assert result["status"] == "failed"
    assert result["content"][1]["json"] == why


def test_a_dynamic_tool_gives_text_and_images(heard: Heard) -> None:
    parts = [
        {"type": "inputText", "text": "one"},
        {"type": "inputText", "text": "two"},
        {"type": "inputImage", "imageUrl": f"data:image/png;base64,{PIXEL}"},
        {"type": "inputImage", "imageUrl": "https://example.com/p.png"},
    ]
    call, result = tool(
        heard.item(type="dynamicToolCall", id="d1", tool="look", namespace="apps",
                   arguments={"at": 1}, status="completed", contentItems=parts, success=True)
    )  # fmt: skip
    assert (call["name"], call["arguments"]) == ("apps__look", '{"at":1}')
    output, image, link = result["content"]
    assert (output["output"], image["mime"], link["json"]) == ("one\ntwo", "image/png", parts[3])


def test_a_dynamic_tool_fails(heard: Heard) -> None:
    _, result = tool(
        heard.item(type="dynamicToolCall", id="d1", tool="look", arguments={},
                   status="completed", contentItems=[], success=False)
    )  # fmt: skip
    assert result["status"] == "failed"


@pytest.mark.parametrize(
    ("item", "kind", "part"),
    [
        (
            {"type": "sleep", "durationMs": 1500},
            "status",
            {"type": "status", "label": "sleep", "detail": "1.5 s"},
        ),
        (
            {"type": "hookPrompt", "fragments": [{"hookRunId": "h", "text": "Mind the gap."}]},
            "system",
            {"type": "text", "text": "Mind the gap."},
        ),
        (
            {"type": "functionCallOutput", "name": "get_goal", "output": "none"},
            "status",
            {"type": "status", "label": "output", "detail": "get_goal"},
        ),
        (
            {"type": "hologram", "shape": "cube"},
            "unknown",
            {"type": "json", "json": {"type": "hologram", "id": "i1", "shape": "cube"}},
        ),
    ],
    ids=["sleep", "hook", "output", "unknown"],
)
def test_an_item_that_is_no_tool(heard: Heard, item: Any, kind: str, part: Any) -> None:
    (found,) = completed(heard.item(id="i1", **item))
    assert (found["kind"], found["content"][0]) == (kind, part)
    assert found["native_item_id"] == "i1"


def test_an_item_of_another_shape_costs_only_itself(heard: Heard) -> None:
    (found,) = completed(heard.item(type="commandExecution", id="c1", command=["ls"]))
    assert (found["kind"], found["content"][0]["json"]["command"]) == ("unknown", ["ls"])
    (message,) = completed(heard.item(type="agentMessage", id="m1", text="Still here."))
    assert message["content"][0]["text"] == "Still here."


def test_the_parts_of_a_summary_are_set_apart_as_they_stream(heard: Heard) -> None:
    heard.tell("item/started", item={"type": "reasoning", "id": "r1"})
    pieces = [(0, "One"), (0, " and"), (1, "Two"), (2, "Three")]
    method = "item/reasoning/summaryTextDelta"
    told = [
        each
        for index, piece in pieces
        for each in heard.tell(method, itemId="r1", delta=piece, summaryIndex=index)
    ]
    whole = {"type": "reasoning", "id": "r1", "summary": ["One and", "Two", "Three"]}
    (thought,) = completed(heard.tell("item/completed", item=whole))
    assert streamed(told) == thought["content"][0]["text"] == "One and\n\nTwo\n\nThree"


def test_a_tool_tells_how_far_it_is(heard: Heard) -> None:
    call = {"type": "mcpToolCall", "id": "t1", "server": "tiny", "tool": "slow", "arguments": {}}
    begun = heard.tell("item/started", item=call)
    (progress,) = completed(
        heard.tell("item/mcpToolCall/progress", itemId="t1", message="half way")
    )
    part = progress["content"][0]
    assert (part["label"], part["detail"]) == ("progress", "half way")
    assert progress["parent_id"] == completed(begun)[0]["item_id"]


# --- Commands that run on ---


def test_an_interrupted_command_may_still_print(heard: Heard) -> None:
    command = {"type": "commandExecution", "id": "c1", "command": "serve", "cwd": "/workspace"}
    heard.tell("item/started", item=command)
    ended = heard.tell("turn/completed", turn={"id": TURN, "status": "interrupted"})
    (result,) = completed(ended)
    assert (result["status"], result["reason"]) == ("failed", "interrupted")
    later = heard.tell("item/commandExecution/outputDelta", itemId="c1", delta="bye\n")
    over = {**command, "status": "completed", "exitCode": 0, "aggregatedOutput": "hi\nbye\n"}
    printed, end = completed(later + heard.tell("item/completed", item=over))
    assert printed["content"][0] == {
        "type": "status", "label": "command.output", "detail": "bye\n"
    }  # fmt: skip
    assert end["content"][0]["label"] == "command.completed"
    assert end["content"][1]["json"]["output"] == "hi\nbye\n"


# --- Requests ---


def test_a_request_that_is_known_and_not_offered_is_refused(heard: Heard) -> None:
    (note,) = completed(heard.ask("currentTime/read"))
    assert note["content"][0] == {
        "type": "status", "label": "refused", "detail": "currentTime/read"
    }  # fmt: skip
    assert heard.answers() == [-32601]


def test_a_request_that_nobody_knows_is_refused_and_kept(heard: Heard) -> None:
    [(type, data)] = heard.ask("hologram/render", shape="cube")
    assert (type, "hologram/render" in data["error"]) == ("agent.unparsed", True)
    assert heard.answers() == [-32601]


def test_a_tool_that_nobody_offers_has_failed(heard: Heard) -> None:
    heard.ask("item/tool/call", callId="d1", tool="look", arguments={})
    (answer,) = heard.answers()
    assert answer["success"] is False
    assert "look" in answer["contentItems"][0]["text"]


def test_a_form_that_cannot_be_asked_for_is_declined(heard: Heard) -> None:
    heard.ask("mcpServer/elicitation/request", serverName="tiny", mode="form", message="?",
              requestedSchema={"type": "string"})  # fmt: skip
    assert heard.answers() == [{"action": "decline"}]


def test_a_command_that_wants_to_connect_names_the_host(heard: Heard) -> None:
    command = {"type": "commandExecution", "id": "c1", "command": "curl", "cwd": "/workspace"}
    heard.tell("item/started", item=command)
    where = {"host": "example.com", "protocol": "https"}
    [(_, asked)] = heard.ask("item/commandExecution/requestApproval", itemId="c1",
                             command="curl", networkApprovalContext=where)  # fmt: skip
    about = asked["metadata"]
    assert about["network"] == where
    assert about["rule"] == "network(https://example.com)"
    heard.say(AnswerPermission(key="0", reply="always", approver=PERSON))
    assert heard.answers() == [{"decision": "acceptForSession"}]


def test_a_command_is_asked_for_before_it_is_told(heard: Heard) -> None:
    events = heard.ask("item/commandExecution/requestApproval", itemId="c1", command="ls",
                       cwd="/workspace")  # fmt: skip
    (call,) = completed(events)
    assert events[-1][1]["metadata"]["item_id"] == call["item_id"]
    item = {"type": "commandExecution", "id": "c1", "command": "ls", "cwd": "/workspace"}
    assert heard.tell("item/started", item=item) == []


def test_permissions_are_given_for_the_session(heard: Heard) -> None:
    wish = {"network": {"enabled": True}}
    heard.ask("item/permissions/requestApproval", itemId="p1", permissions=wish)
    heard.say(AnswerPermission(key="0", reply="always", approver=PERSON))
    assert heard.answers() == [{"permissions": wish, "scope": "session"}]


def test_a_secret_answer_is_in_no_event(heard: Heard) -> None:
    asked = {"id": "password", "question": "Which?", "isSecret": True}
    heard.ask("item/tool/requestUserInput", itemId="q1", questions=[asked])
    events = heard.say(AnswerQuestion(key="0", answers=(("hush",),), approver=PERSON))
    assert heard.answers() == [{"answers": {"password": {"answers": ["hush"]}}}]
    assert [type for type, _ in events] == ["question.resolved"]
    assert "hush" not in str(events)


def test_two_calls_that_are_alike_are_asked_for_one_by_one(heard: Heard) -> None:
    call = {"type": "mcpToolCall", "server": "tiny", "tool": "echo", "arguments": {"text": "a"}}
    begun = [heard.tell("item/started", item={**call, "id": id}) for id in ("t1", "t2")]
    about = {"codex_approval_kind": "mcp_tool_call", "tool_params": {"text": "a"}}
    asked = [
        heard.ask("mcpServer/elicitation/request", id, serverName="tiny", mode="form",
                  message='Allow the tiny MCP server to run tool "echo"?', _meta=about)[0][1]
        for id in (0, 1)
    ]  # fmt: skip
    calls = [completed(events)[0]["item_id"] for events in begun]
    assert [each["metadata"]["item_id"] for each in asked] == calls
    heard.say(AnswerPermission(key="0", reply="always", approver=PERSON))
    heard.say(AnswerPermission(key="1", reply="reject", approver=PERSON))
    lasting = {"action": "accept", "content": {}, "_meta": {"persist": "session"}}
    assert heard.answers() == [lasting, {"action": "decline"}]


def test_a_request_that_codex_takes_back_is_withdrawn(heard: Heard) -> None:
    heard.ask("item/permissions/requestApproval", itemId="p1", permissions={})
    [(type, data)] = heard.tell("serverRequest/resolved", requestId=0)
    assert (type, data["metadata"]["reason"]) == ("permission.resolved", "agent")
    assert heard.answers() == []
    assert THREAD not in str(data)


# --- Codex up to 0.101 repeats messages without our ids ---


def anonymous() -> Heard:
    """A session with such a Codex."""
    return Heard(echoes_ids=False)


def joins(heard: Heard, *texts: str) -> None:
    """Messages are sent into the turn, and Codex says that they join it."""
    for number, text in enumerate(texts, 2):
        heard.say(Prompt(message_id=f"msg_{number}", text=text))
        heard.on_reply(f"steer:msg_{number}", {"turnId": TURN})


def repeat(heard: Heard, text: str) -> list[Told]:
    """Codex repeats a message."""
    words = [{"type": "text", "text": text}]
    return heard.item(type="userMessage", id=f"u-{text}", content=words)


def end(heard: Heard, status: str = "completed") -> list[Told]:
    return heard.tell("turn/completed", turn={"id": TURN, "status": status})


def starts(heard: Heard) -> int:
    return [request.method for request in heard.requests()].count("turn/start")


def test_a_message_that_joined_is_known_by_its_words() -> None:
    """Before, it was shown as the agent's own, and sent again when the turn was over."""
    heard = anonymous()
    joins(heard, "First this", "Then that")
    for text, message_id in (("First this", "msg_2"), ("Then that", "msg_3")):
        (item,) = completed(repeat(heard, text))
        assert (item["role"], item["message_id"]) == ("user", message_id)
        assert item["content"] == ({"type": "text", "text": text},)
    end(heard)
    assert starts(heard) == 1


@pytest.mark.parametrize("status", ["completed", "interrupted"])
def test_a_message_that_may_have_been_heard_is_shown_and_not_sent_again(status: str) -> None:
    """Before, the agent got it twice."""
    heard = anonymous()
    joins(heard, "And be quick")
    events = end(heard, status)
    item, note = completed(events)
    assert (item["role"], item["message_id"]) == ("user", "msg_2")
    assert note["content"][0]["label"] == "perhaps not heard"
    assert events[-1][0] == "turn.ended"
    assert starts(heard) == 1


def test_words_of_codex_itself_are_no_persons() -> None:
    heard = anonymous()
    joins(heard, "And be quick")
    (item,) = completed(repeat(heard, "Something else"))
    assert item["role"] == "system"


def test_where_ids_are_repeated_a_message_that_was_not_heard_has_a_turn_of_its_own(
    heard: Heard,
) -> None:
    joins(heard, "And be quick")
    (item,) = completed(repeat(heard, "And be quick"))
    assert item["role"] == "system"
    end(heard)
    assert starts(heard) == 2
