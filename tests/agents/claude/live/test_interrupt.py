"""An interrupt where only Claude Code streams."""

from __future__ import annotations

from tests.agents.claude.live.scripts import bash
from tests.agents.live import Bench, calls
from tests.agents.watch import ended, goes_on, heard
from tests.testing.story import items, text


def test_interrupt_in_the_arguments_of_a_tool(claude: Bench) -> None:
    touch = calls(bash("touch a_file_with_a_long_name"), text="Let me.")
    live = claude.session({**touch, "gate": "never"})
    live.send("Touch it")
    heard(live, lambda event: event["data"].get("content_type") == "arguments")
    live.interrupt()
    heard(live, ended("interrupted"))
    (answer,) = items(live.events(), "message", "assistant")
    (call,) = items(live.events(), "tool_call")
    assert (text(answer), answer["status"]) == ("Let me.", "failed")
    assert (answer["reason"], call["reason"]) == ("interrupted", "interrupted")
    assert "stop_reason" not in answer
    goes_on(live)
