"""Permissions, forms and pages: what is asked, and that each is answered once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema.commands import Interrupt
from tests.dialects.acp.peer import Peer

ONCE, ALWAYS = ("o", "allow_once"), ("a", "allow_always")
NO, NEVER = ("n", "reject_once"), ("x", "reject_always")
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def options(*offered: tuple[str, str]) -> list[dict[str, str]]:
    return [{"optionId": id, "name": id, "kind": kind} for id, kind in offered]


def ask(peer: Peer, *offered: tuple[str, str], **about: Any) -> str:
    told = {"toolCallId": "c1", "title": "rm a", "kind": "execute", **about}
    return peer.asks(
        "session/request_permission",
        sessionId="n1",
        toolCall=told,
        options=options(*(offered or (ALWAYS, ONCE, NO))),
    )


def selected(id: str) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": id}}


@pytest.mark.parametrize(
    ("offered", "reply", "expected"),
    [
        ((ALWAYS, ONCE, NO, NEVER), "once", selected("o")),
        ((ALWAYS, ONCE, NO, NEVER), "always", selected("o")),
        ((ALWAYS, ONCE, NEVER, NO), "reject", selected("n")),
        ((ALWAYS, NO), "once", selected("a")),
        ((ONCE, NEVER), "reject", selected("x")),
        ((ONCE,), "reject", CANCELLED),
        ((NO,), "once", CANCELLED),
    ],
)
def test_the_option_that_does_no_more_than_is_meant(
    offered: Any, reply: Any, expected: Any
) -> None:
    """ "Always" is a rule of ours: what an agent makes of it may hold for ever."""
    peer = Peer().in_turn()
    key = ask(peer, *offered)
    peer.permit(key, reply)
    assert peer.responses(key) == [expected]
    peer.update("tool_call_update", toolCallId="c1", status="failed")
    peer.end()
    peer.conforms()


def test_what_a_person_sees() -> None:
    peer = Peer().in_turn()
    change = {"type": "diff", "path": "a.txt", "oldText": "a\n", "newText": "b\n"}
    warning = {"type": "content", "content": {"type": "text", "text": "Mind the gap."}}
    ask(
        peer,
        title="Edit a.txt",
        kind="edit",
        rawInput={"path": "a.txt"},
        content=[warning, change],
    )
    (asked,) = peer.of_type("permission.requested")
    about = asked["metadata"]
    assert (about["title"], about["message"]) == ("Edit a.txt", "Mind the gap.")
    assert about["path"] == "/project/a.txt"
    assert "-a\n+b\n" in about["diff"]
    assert [each["kind"] for each in about["options"]] == ["allow_always", "allow_once",
                                                           "reject_once"]  # fmt: skip
    assert peer.items("tool_result") == []
    assert not [e for e in peer.of_type("item.delta") if e["content_type"] == "output"]


def test_a_request_does_not_change_what_is_known_of_its_call() -> None:
    peer = Peer().in_turn()
    peer.update(
        "tool_call",
        toolCallId="c1",
        title="bash",
        kind="execute",
        status="in_progress",
        rawInput={"command": "rm a", "description": "Removes"},
    )
    ask(peer, kind="other", rawInput={"command": "rm a"})
    (asked,) = peer.of_type("permission.requested")
    assert asked["metadata"]["input"] == {"command": "rm a", "description": "Removes"}
    assert (asked["action"], asked["metadata"]["permission"]) == ("bash", "execute")


def test_a_request_that_comes_before_the_input_is_known_names_its_command() -> None:
    """Before, "always" allowed every command of the directory."""
    peer = Peer().in_turn()
    told = {"title": "bash", "kind": "execute", "rawInput": {"cwd": "/project"}}
    peer.update("tool_call", toolCallId="c1", status="pending", **told)
    ask(peer, title="rm a", rawInput={"command": "rm a"})
    (asked,) = peer.of_type("permission.requested")
    assert asked["metadata"]["rule"] == "bash(rm a)"
    assert asked["metadata"]["input"] == {"command": "rm a", "cwd": "/project"}


def test_a_command_that_nobody_names_is_known_by_what_is_said_of_it() -> None:
    peer = Peer().in_turn()
    rules = []
    for number, words in enumerate(("Running: rm a", "Running: rm b")):
        block = {"type": "content", "content": {"type": "text", "text": words}}
        ask(peer, title="Bash", toolCallId=f"c{number}", content=[block])
        rules.append(peer.of_type("permission.requested")[-1]["metadata"]["rule"])
    assert rules[0] != rules[1]


def test_a_refusal_is_a_declined_result() -> None:
    peer = Peer().in_turn()
    peer.permit(ask(peer), "reject")
    peer.update("tool_call_update", toolCallId="c1", status="failed")
    peer.end()
    (result,) = peer.items("tool_result")
    assert (result["status"], result["reason"]) == ("failed", "declined")
    peer.conforms()


def test_a_stop_answers_all_that_is_open_with_cancelled() -> None:
    peer = Peer().in_turn()
    permission = ask(peer)
    form = peer.asks("elicitation/create", mode="form", message="?", requestedSchema=SCHEMA)
    peer.command(Interrupt())
    assert peer.responses(permission) == [CANCELLED]
    assert peer.responses(form) == [{"action": "cancel"}]
    late = ask(peer, toolCallId="c2")
    assert peer.responses(late) == [CANCELLED]
    peer.end("cancelled")
    assert [each["outcome"] for each in peer.of_type("turn.ended")] == ["interrupted"]
    peer.conforms()


def test_nobody_is_asked_between_turns() -> None:
    peer = Peer().open()
    assert peer.responses(ask(peer)) == [CANCELLED]
    assert peer.of_type("permission.requested") == []
    assert peer.status("refused")
    peer.conforms()


def test_the_agent_may_take_its_request_back() -> None:
    peer = Peer().in_turn()
    key = ask(peer)
    peer.says("$/cancel_request", requestId=int(key))
    assert peer.responses(key) == [-32800]
    assert peer.of_type("permission.resolved")[0]["metadata"]["reason"] == "agent"
    peer.permit(key, "once")
    assert len(peer.responses(key)) == 1
    peer.update("tool_call_update", toolCallId="c1", status="failed")
    peer.end()
    peer.conforms()


SCHEMA = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "title": "Colour", "enum": ["Red", "Blue"]},
        "count": {"type": "integer", "description": "How many"},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
    },
    "required": ["colour"],
}


def test_a_form_is_asked_field_by_field() -> None:
    peer = Peer().in_turn()
    key = peer.asks(
        "elicitation/create", sessionId="n1", mode="form", message="Say", requestedSchema=SCHEMA
    )
    (asked,) = peer.of_type("question.requested")
    assert [each["prompt"] for each in asked["questions"]] == [
        "Colour", "count: How many", "sure", "tags"
    ]  # fmt: skip
    peer.answer(key, ("Blue",), ("3",), ("Yes",), ("a", "b"))
    content = {"colour": "Blue", "count": 3, "sure": True, "tags": ["a", "b"]}
    assert peer.responses(key) == [{"action": "accept", "content": content}]
    peer.end()
    peer.conforms()


def test_a_form_is_not_filled_in() -> None:
    peer = Peer().in_turn()
    key = peer.asks("elicitation/create", mode="form", message="Say", requestedSchema=SCHEMA)
    peer.answer(key)
    assert peer.responses(key) == [{"action": "decline"}]


@pytest.mark.parametrize(("answer", "action"), [("Done", "accept"), ("Decline", "decline")])
def test_a_page_is_visited_or_not(answer: str, action: str) -> None:
    peer = Peer().in_turn()
    key = peer.asks(
        "elicitation/create", mode="url", message="Log in", url="https://a.example", elicitationId=
        "e1",
    )  # fmt: skip
    (asked,) = peer.of_type("question.requested")
    assert "https://a.example" in asked["prompt"]
    peer.answer(key, (answer,))
    assert peer.responses(key) == [{"action": action}]


def test_an_agent_that_sees_the_visit_needs_no_answer() -> None:
    peer = Peer().in_turn()
    key = peer.asks(
        "elicitation/create", mode="url", message="Go", url="https://a.example", elicitationId="e1"
    )
    peer.says("elicitation/complete", elicitationId="other")
    assert peer.responses(key) == []
    peer.says("elicitation/complete", elicitationId="e1")
    assert peer.responses(key) == [{"action": "accept"}]
    peer.end()
    peer.conforms()


def test_a_mode_that_is_new_is_refused() -> None:
    peer = Peer().in_turn()
    key = peer.asks("elicitation/create", mode="telepathy", message="?")
    assert peer.responses(key) == [-32601]
    assert peer.of_type("agent.unparsed")


def test_a_method_that_is_not_offered_is_refused_and_told_once() -> None:
    peer = Peer().in_turn()
    keys = [peer.asks("fs/write_text_file", path="/a", content="") for _ in range(2)]
    assert [peer.responses(key) for key in keys] == [[-32601], [-32601]]
    assert len(peer.status("refused")) == 1
    peer.end()
    peer.conforms()


ACTS = st.lists(
    st.sampled_from(["ask", "form", "once", "reject", "stop", "withdraw", "end", "exit"]),
    max_size=12,
)


@given(ACTS)
def test_every_request_is_answered_exactly_once(acts: list[str]) -> None:
    """But for those of a process that is gone."""
    peer = Peer().in_turn()
    keys: list[str] = []
    gone: list[str] = []
    for number, act in enumerate(acts):
        waiting = [each for each in keys if not peer.responses(each)]
        match act:
            case "ask":
                keys.append(ask(peer, toolCallId=f"c{number}"))
            case "form":
                form = {"mode": "form", "message": "?", "requestedSchema": SCHEMA}
                keys.append(peer.asks("elicitation/create", **form))
            case "once" | "reject" if waiting:
                if peer.is_permission(waiting[0]):
                    peer.permit(waiting[0], "once" if act == "once" else "reject")
                else:
                    peer.answer(waiting[0])
            case "stop":
                peer.command(Interrupt())
            case "withdraw" if keys:
                peer.says("$/cancel_request", requestId=int(keys[-1]))
            case "end":
                peer.end()
                peer.send()
            case "exit":
                gone += waiting
                keys = [each for each in keys if each not in waiting]
                peer.exits()
                peer.open()
                peer.send()
    peer.end()
    assert [len(peer.responses(each)) for each in keys] == [1] * len(keys)
    assert not any(map(peer.responses, gone))
    peer.conforms()
