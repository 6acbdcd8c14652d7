"""From a greeting to a session: logging in, going on, settings, and what goes wrong."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.dialects.acp.profile import Profile
from dragoman.schema.commands import Configure, Interrupt
from tests.dialects.acp.peer import CAN_ALL, SPEC, Peer

GREETING: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": CAN_ALL}
RESUMED = replace(SPEC, native_session_id="n0")


def greeting(**can: Any) -> dict[str, Any]:
    return {"protocolVersion": 1, "agentCapabilities": can}


# --- Sessions ---


@pytest.mark.parametrize(
    ("can", "method"),
    [
        (CAN_ALL, "session/resume"),
        ({"loadSession": True}, "session/load"),
        ({}, "session/new"),
    ],
)
def test_a_session_is_gone_on_with_by_the_best_way_there_is(can: Any, method: str) -> None:
    peer = Peer(RESUMED)
    peer.replies(greeting(**can))
    assert peer.due == [method]
    assert peer.last(method).get("sessionId") == (None if method == "session/new" else "n0")
    told = [each["content"][0]["detail"] for each in peer.status("not resumed")]
    assert bool(told) == (method == "session/new")


def test_what_comes_while_a_session_is_loaded_is_no_new_history() -> None:
    peer = Peer(RESUMED)
    peer.replies(greeting(loadSession=True))
    peer.update("user_message_chunk", content={"type": "text", "text": "Hi"})
    peer.chunk("Said before.")
    peer.update("tool_call", toolCallId="c1", title="ls", status="completed")
    peer.update("plan", entries=[{"content": "a", "status": "pending"}])
    peer.replies({})
    peer.send("Go on")
    peer.chunk("Said now.")
    peer.end()
    assert peer.said() == ["Said now."]
    assert peer.items("tool_call") == peer.status("plan") == []
    peer.conforms()


def test_a_fork_is_a_session_of_its_own() -> None:
    peer = Peer(replace(RESUMED, fork=True))
    peer.replies(GREETING)
    assert peer.due == ["session/fork"]
    peer.replies({"sessionId": "n2"})
    peer.send()
    peer.chunk("Hello.")
    peer.end()
    assert peer.events[-1].native_session_id == "n2"


def test_an_agent_that_cannot_fork_says_so() -> None:
    peer = Peer(replace(RESUMED, fork=True))
    peer.replies(greeting(loadSession=True))
    (end,) = peer.of_type("session.ended")
    assert "cannot fork" in end["message"]


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32002, "message": "Resource not found"},
        {"code": -32603, "message": "Internal error", "data": {"details": "Session not found: n0"}},
    ],
)
def test_a_session_that_is_not_there_ends_ours(error: Any) -> None:
    peer = Peer(RESUMED)
    peer.send("Go on")
    peer.replies(GREETING)
    peer.refuses(**error)
    (end,) = peer.of_type("session.ended")
    assert (end["reason"], "n0" in end["message"]) == ("error", True)
    assert peer.of_type("turn.ended")[0]["outcome"] == "failed"
    peer.conforms()


@pytest.mark.parametrize("is_there", [True, False])
def test_where_the_agent_does_not_say_it_is_asked_for_its_sessions(is_there: bool) -> None:
    """OpenCode (1.18.33) says only that it failed."""
    peer = Peer(RESUMED)
    peer.send("Go on")
    peer.replies(GREETING)
    peer.refuses(message="Internal error: service failure", data={"service": "session"})
    assert peer.due == ["session/list"]
    peer.replies({"sessions": [{"sessionId": "n7"}], "nextCursor": "2"})
    assert peer.last("session/list")["cursor"] == "2"
    peer.replies({"sessions": [{"sessionId": "n0"}] if is_there else []})
    assert bool(peer.of_type("session.ended")) != is_there
    assert peer.of_type("error")[0]["message"].endswith("service failure")
    peer.conforms()


def test_a_list_without_end_is_left() -> None:
    peer = Peer(RESUMED)
    peer.replies(GREETING)
    peer.refuses()
    for _ in range(150):
        if not peer.due:
            break
        peer.replies({"sessions": [], "nextCursor": "again"})
    assert peer.of_type("session.ended")


def test_a_session_that_was_never_stored_is_begun_anew() -> None:
    peer = Peer(replace(SPEC, tentative_id="n0"))
    peer.replies(GREETING)
    peer.refuses(-32002, "not found")
    assert peer.due == ["session/new"]
    peer.replies({"sessionId": "n1"})
    peer.send()
    assert peer.due == ["session/prompt"]


def test_another_version_is_refused() -> None:
    peer = Peer()
    peer.send()
    peer.replies({"protocolVersion": 2})
    (error,) = peer.of_type("error")
    assert error["code"] == "protocol_version"
    assert peer.of_type("turn.ended")[0]["outcome"] == "failed"
    peer.conforms()


def test_an_interrupt_before_the_session_is_open_ends_its_turn() -> None:
    peer = Peer()
    peer.send()
    peer.command(Interrupt())
    assert peer.of_type("turn.ended")[0]["outcome"] == "interrupted"
    peer.open()
    assert peer.due == []
    peer.conforms()


# --- Logging in ---

KEY = {"id": "api-key", "name": "API key", "type": "env_var"}
BROWSER = {"id": "web", "name": "Log in with a browser", "description": "Run `agent login`"}


def test_a_way_that_needs_no_person_is_tried_once() -> None:
    peer = Peer()
    peer.send()
    peer.replies({**GREETING, "authMethods": [BROWSER, KEY]})
    peer.refuses(-32000, "Authentication required")
    assert peer.last("authenticate") == {"methodId": "api-key"}
    peer.replies({})
    assert peer.due == ["session/new"]
    peer.refuses(-32000, "Authentication required")
    (error,) = peer.of_type("error")
    assert error["code"] == "auth_required"
    assert "Run `agent login`" in error["message"]
    assert [each["id"] for each in error["details"]["auth_methods"]] == ["web", "api-key"]
    peer.conforms()


def test_the_way_that_is_set_is_tried() -> None:
    peer = Peer(profile=Profile(name="Agent", auth_method="special"))
    peer.replies({**GREETING, "authMethods": [KEY]})
    peer.refuses(-32000, "Authentication required")
    assert peer.last("authenticate") == {"methodId": "special"}
    peer.refuses(-32603, "bad key")
    assert peer.of_type("error")[0]["code"] == "auth_required"


def test_the_next_message_tries_again() -> None:
    peer = Peer()
    peer.send("One")
    peer.replies({**GREETING, "authMethods": [BROWSER]})
    peer.refuses(-32000, "Authentication required")
    peer.send("Two")
    assert peer.due == ["session/new"]
    peer.replies({"sessionId": "n1"})
    peer.chunk("Hello.")
    peer.end()
    assert [each["outcome"] for each in peer.of_type("turn.ended")] == ["failed", "completed"]
    peer.conforms()


# --- MCP servers ---

SERVERS: dict[str, Any] = {
    "near": {"type": "local", "command": ["run", "it"], "env": {"A": "1"}},
    "far": {"type": "remote", "url": "https://a.example", "headers": {"X": "y"}},
    "events": {"type": "remote", "url": "https://b.example", "transport": "sse"},
    "off": {"type": "local", "command": ["no"], "enabled": False},
    "secret": {"type": "remote", "url": "https://c.example", "bearerTokenEnvVar": "TOKEN"},
}


def test_servers_are_given_in_the_protocols_words() -> None:
    peer = Peer(replace(SPEC, mcp=SERVERS, env={"TOKEN": "t"}))
    peer.replies(GREETING)
    near, far, events, secret = peer.last("session/new")["mcpServers"]
    assert (near["command"], near["args"]) == ("run", ["it"])
    assert near["env"] == [{"name": "A", "value": "1"}]
    assert (far["type"], far["headers"]) == ("http", [{"name": "X", "value": "y"}])
    assert events["type"] == "sse"
    assert secret["headers"] == [{"name": "Authorization", "value": "Bearer t"}]


def test_servers_that_cannot_be_had_are_told() -> None:
    peer = Peer(replace(SPEC, mcp=SERVERS))
    peer.replies(greeting(mcpCapabilities={"http": True}))
    assert [each["name"] for each in peer.last("session/new")["mcpServers"]] == ["near", "far"]
    told = [each["content"][0]["detail"] for each in peer.status("mcp_server")]
    assert ["SSE" in told[0], "TOKEN" in told[1]] == [True, True]


# --- Settings ---


def option(id: str, category: str, current: str, *values: str) -> dict[str, Any]:
    return {
        "id": id,
        "type": "select",
        "name": id,
        "category": category,
        "currentValue": current,
        "options": [{"value": each, "name": each.title()} for each in values],
    }


OPTIONS = [
    option("m", "model", "one", "one", "two"),
    option("e", "thought_level", "low", "low", "high"),
    option("d", "mode", "ask", "ask", "plan"),
    {"id": "s", "type": "boolean", "name": "A switch", "currentValue": True},
]


def changed(id: str, value: str) -> list[Any]:
    return [{**each, "currentValue": value} if each["id"] == id else each for each in OPTIONS]


def test_a_session_gets_what_it_was_created_with() -> None:
    peer = Peer(replace(SPEC, model="two", variant="high", agent_mode="plan"))
    peer.send()
    peer.replies(GREETING)
    peer.replies({"sessionId": "n1", "configOptions": OPTIONS})
    values = []
    for _ in range(3):
        assert peer.due == ["session/set_config_option"]
        values.append((peer.last(peer.due[0])["configId"], peer.last(peer.due[0])["value"]))
        peer.replies({})
    assert values == [("m", "two"), ("e", "high"), ("d", "plan")]
    assert peer.due == ["session/prompt"]


def test_one_setting_may_change_another_and_none_is_switched_twice() -> None:
    """Before, an agent whose modes have models of their own was switched for ever."""
    peer = Peer(replace(SPEC, model="two", agent_mode="plan"))
    peer.replies(GREETING)
    peer.replies({"sessionId": "n1", "configOptions": OPTIONS})
    peer.replies({"configOptions": changed("m", "two")})
    peer.replies({"configOptions": changed("d", "plan")})
    assert peer.due == []
    assert peer.of_type("session.updated")[-1] == {"model": "one", "mode": "plan"}


def test_older_ways_are_taken_where_there_are_no_options() -> None:
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "plan"}]}
    models = {"currentModelId": "one", "availableModels": [{"modelId": "one"}, {"modelId": "two"}]}
    peer = Peer(replace(SPEC, model="two", agent_mode="plan"))
    peer.replies(GREETING)
    peer.replies({"sessionId": "n1", "modes": modes, "models": models})
    assert peer.last("session/set_model")["modelId"] == "two"
    peer.replies({})
    assert peer.last("session/set_mode")["modeId"] == "plan"
    peer.replies(None)
    first, *more = peer.of_type("session.updated")
    assert (first["model"], more) == ("two", [{"mode": "plan"}])


def test_a_switch_is_told_at_once_and_taken_back_where_the_agent_refuses() -> None:
    peer = Peer().open(configOptions=OPTIONS)
    peer.command(Configure(model="three"))
    assert peer.of_type("session.updated")[-1]["model"] == "three"
    peer.send("Wait for it")
    peer.refuses(-32602, "no such model")
    assert peer.of_type("session.updated")[-1]["model"] == "one"
    assert "no such model" in peer.of_type("error")[0]["message"]
    assert peer.due == ["session/prompt"]


def test_a_setting_that_the_agent_does_not_have_is_let_go() -> None:
    peer = Peer(replace(SPEC, model="two", agent_mode="plan")).open()
    assert peer.due == []


def test_the_agent_may_change_its_mode_itself() -> None:
    peer = Peer().in_turn(configOptions=OPTIONS)
    peer.update("current_mode_update", currentModeId="plan")
    peer.update("config_option_update", configOptions=changed("e", "high"))
    updates = peer.of_type("session.updated")
    assert (updates[-2]["mode"], updates[-1]["variant"]) == ("plan", "high")
    peer.end()
    assert peer.due == [], "what the agent has chosen is not switched back"


# --- Processes ---


def test_a_process_that_ends_in_a_turn_leaves_a_session_to_go_on_with() -> None:
    peer = Peer().in_turn()
    peer.chunk("One ")
    peer.exits()
    assert peer.of_type("turn.ended")[0]["outcome"] == "failed"
    peer.replies(GREETING)
    assert peer.last("session/resume")["sessionId"] == "n1"
    peer.replies({})
    peer.send("Go on")
    peer.chunk("Two.")
    peer.end()
    assert peer.said()[-1] == "Two."
    peer.conforms()
