"""Text and thoughts, as real agents stream them."""

from __future__ import annotations

import pytest

from tests.agents.live import Bench, calls
from tests.agents.results import streamed
from tests.testing.story import items, of_type, outcome, parts, said, text

ODD = (
    "  \nÜnïcödé 🐉 👩\u200d👩\u200d👧 \u202eright\u202c to left\r\n"
    "tab\t\u2028line\u2029para\u0085next\x1b[31m <&> \\n \\u0041 \" ' end\n\n"
)


@pytest.mark.needs("streamingDeltas")
def test_text_streams_word_by_word(bench: Bench) -> None:
    live = bench.session({"text": ["Hello ", "there, ", "friend."]}, "And again.")
    first = live.turn("Hi")
    pieces = [each["delta"] for each in of_type(first, "item.delta")]
    assert pieces == ["Hi", "Hello ", "there, ", "friend."]
    (answer,) = items(first, "message", "assistant")
    assert (text(answer), answer["status"]) == ("Hello there, friend.", "completed")
    second = live.turn("Once more")
    assert said(second) == ["And again."]
    assert [text(item) for item in items(second, "message", "user")] == ["Once more"]
    assert (outcome(first), outcome(second)) == ("completed", "completed")
    live.conforms()


@pytest.mark.needs("reasoning")
def test_a_thought_comes_before_its_answer(bench: Bench) -> None:
    """Before, Claude's answer was opened first, empty, and each thought stood below it."""
    live = bench.session({"blocks": [{"thinking": "Let me see."}, {"text": "It is 42."}]})
    events = live.turn("What is it?")
    thought, answer = [
        data["item"]
        for data in of_type(events, "item.started")
        if data["item"]["role"] == "assistant"
    ]
    assert parts(thought, "reasoning")
    assert parts(answer, "text")
    assert thought["parent_id"] is None
    (final,) = [item for item in items(events) if item["item_id"] == thought["item_id"]]
    assert parts(final, "reasoning")[0]["text"] == "Let me see."
    assert said(events) == ["It is 42."]
    live.conforms()


def test_every_character_survives(bench: Bench) -> None:
    live = bench.session({"text": list(ODD)})
    events = live.turn(ODD)
    assert said(events) == [ODD]
    assert [text(item) for item in items(events, "message", "user")] == [ODD]
    assert live.model.mains[0].text == bench.agent.sent(ODD)
    live.conforms()


def test_a_long_text_arrives_whole(bench: Bench) -> None:
    pages = [f"page {n} äöü 🐉 ".ljust(2000, ".") for n in range(100)]
    live = bench.session({"text": pages})
    events = live.turn("Tell me everything. " * 5000)
    (answer,) = items(events, "message", "assistant")
    assert text(answer) == streamed(events, answer, "text") == "".join(pages)
    assert len(text(items(events, "message", "user")[0])) == 100_000
    live.conforms()


@pytest.mark.needs("commandExecution")
def test_a_message_before_and_after_a_tool_are_two(bench: Bench) -> None:
    shell = bench.agent.shell
    live = bench.session(calls(shell("echo a"), text="Before."), "After.", permissionMode="bypass")
    events = live.turn("Run it")
    assert said(events) == ["Before.", "After."]
    started = [data["item"]["kind"] for data in of_type(events, "item.started")]
    kinds = [kind for kind in started if kind != "status"]
    assert kinds == ["message", "message", "tool_call", "tool_result", "message"]
    live.conforms()


@pytest.mark.needs("commandExecution")
def test_commands_side_by_side_have_a_result_each(bench: Bench) -> None:
    commands = [bench.agent.shell(f"echo {n}") for n in range(4)]
    live = bench.session(calls(*commands, text="All."), "Done.", permissionMode="bypass")
    events = live.turn("Run them")
    results = items(events, "tool_result")
    printed = [parts(item, "tool_result")[0]["output"].strip() for item in results]
    assert sorted(printed) == ["0", "1", "2", "3"]
    message = items(events, "message", "assistant")[0]
    tools = items(events, "tool_call") + results
    assert {item["parent_id"] for item in tools} == {message["item_id"]}
    live.conforms()


@pytest.mark.needs("commandExecution")
def test_a_session_works_in_its_directory(bench: Bench) -> None:
    live = bench.session(calls(bench.agent.shell("pwd")), "There.", permissionMode="bypass")
    (result,) = items(live.turn("Where?"), "tool_result")
    assert parts(result, "tool_result")[0]["output"].strip() == str(live.workspace)
    assert (result["status"], result["exit_code"]) == ("completed", 0)
    live.conforms()
