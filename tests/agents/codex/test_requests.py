"""Requests that Codex seldom makes, and the answers to them."""

from __future__ import annotations

import pytest

from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Approver
from tests.agents.codex.session import THREAD, CodexSession, completed

PERSON = Approver(token="default", scope="admin")


@pytest.fixture
def session() -> CodexSession:
    return CodexSession()


def test_a_request_that_is_known_and_not_offered_is_refused(session: CodexSession) -> None:
    (note,) = completed(session.ask("currentTime/read"))
    assert note["content"][0] == {
        "type": "status", "label": "refused", "detail": "currentTime/read"
    }  # fmt: skip
    assert session.answers() == [-32601]


def test_a_request_that_nobody_knows_is_refused_and_kept(session: CodexSession) -> None:
    [(type, data)] = session.ask("hologram/render", shape="cube")
    assert (type, "hologram/render" in data["error"]) == ("agent.unparsed", True)
    assert session.answers() == [-32601]


def test_a_tool_that_nobody_offers_has_failed(session: CodexSession) -> None:
    session.ask("item/tool/call", callId="d1", tool="look", arguments={})
    (answer,) = session.answers()
    assert answer["success"] is False
    assert "look" in answer["contentItems"][0]["text"]


def test_a_form_that_cannot_be_asked_for_is_declined(session: CodexSession) -> None:
    session.ask("mcpServer/elicitation/request", serverName="tiny", mode="form", message="?",
              requestedSchema={"type": "string"})  # fmt: skip
    assert session.answers() == [{"action": "decline"}]


def test_a_command_that_wants_to_connect_names_the_host(session: CodexSession) -> None:
    command = {"type": "commandExecution", "id": "c1", "command": "curl", "cwd": "/workspace"}
    session.tell("item/started", item=command)
    where = {"host": "example.com", "protocol": "https"}
    [(_, asked)] = session.ask("item/commandExecution/requestApproval", itemId="c1",
                             command="curl", networkApprovalContext=where)  # fmt: skip
    about = asked["metadata"]
    assert about["network"] == where
    assert about["rule"] == "network(https://example.com)"
    session.say(AnswerPermission(key="0", reply="always", approver=PERSON))
    assert session.answers() == [{"decision": "acceptForSession"}]


def test_a_command_is_asked_for_before_it_is_told(session: CodexSession) -> None:
    events = session.ask("item/commandExecution/requestApproval", itemId="c1", command="ls",
                       cwd="/workspace")  # fmt: skip
    (call,) = completed(events)
    assert events[-1][1]["metadata"]["item_id"] == call["item_id"]
    item = {"type": "commandExecution", "id": "c1", "command": "ls", "cwd": "/workspace"}
    assert session.tell("item/started", item=item) == []


def test_permissions_are_given_for_the_session(session: CodexSession) -> None:
    wish = {"network": {"enabled": True}}
    session.ask("item/permissions/requestApproval", itemId="p1", permissions=wish)
    session.say(AnswerPermission(key="0", reply="always", approver=PERSON))
    assert session.answers() == [{"permissions": wish, "scope": "session"}]


def test_a_secret_answer_is_in_no_event(session: CodexSession) -> None:
    asked = {"id": "password", "question": "Which?", "isSecret": True}
    session.ask("item/tool/requestUserInput", itemId="q1", questions=[asked])
    events = session.say(AnswerQuestion(key="0", answers=(("hush",),), approver=PERSON))
    assert session.answers() == [{"answers": {"password": {"answers": ["hush"]}}}]
    assert [type for type, _ in events] == ["question.resolved"]
    assert "hush" not in str(events)


def test_two_calls_that_are_alike_are_asked_for_one_by_one(session: CodexSession) -> None:
    call = {"type": "mcpToolCall", "server": "tiny", "tool": "echo", "arguments": {"text": "a"}}
    begun = [session.tell("item/started", item={**call, "id": id}) for id in ("t1", "t2")]
    about = {"codex_approval_kind": "mcp_tool_call", "tool_params": {"text": "a"}}
    asked = [
        session.ask("mcpServer/elicitation/request", id, serverName="tiny", mode="form",
                  message='Allow the tiny MCP server to run tool "echo"?', _meta=about)[0][1]
        for id in (0, 1)
    ]  # fmt: skip
    calls = [completed(events)[0]["item_id"] for events in begun]
    assert [each["metadata"]["item_id"] for each in asked] == calls
    session.say(AnswerPermission(key="0", reply="always", approver=PERSON))
    session.say(AnswerPermission(key="1", reply="reject", approver=PERSON))
    lasting = {"action": "accept", "content": {}, "_meta": {"persist": "session"}}
    assert session.answers() == [lasting, {"action": "decline"}]


def test_a_request_that_codex_takes_back_is_withdrawn(session: CodexSession) -> None:
    session.ask("item/permissions/requestApproval", itemId="p1", permissions={})
    [(type, data)] = session.tell("serverRequest/resolved", requestId=0)
    assert (type, data["metadata"]["reason"]) == ("permission.resolved", "agent")
    assert session.answers() == []
    assert THREAD not in str(data)
