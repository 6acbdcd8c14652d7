"""Hooks of the workspace and of the person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agents.claude.live.scripts import bash
from tests.agents.live import Bench, calls
from tests.agents.watch import labels
from tests.testing.story import items, outcome, said


def hook(event: str, command: str, **matcher: str) -> dict[str, Any]:
    entry = {**matcher, "hooks": [{"type": "command", "command": command}]}
    return {"hooks": {event: [entry]}}


def write(folder: Path, settings: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(settings))


def test_a_hook_before_a_tool_is_shown(claude: Bench) -> None:
    live = claude.session(calls(bash("echo hello")), "Done.")
    write(live.workspace / ".claude", hook("PreToolUse", "echo watching", matcher="Bash"))
    events = live.turn("Say hello")
    (shown,) = [item for item in items(events, "status") if labels(item) == ["hook"]]
    assert shown["content"][0]["detail"] == "PreToolUse:Bash success"
    assert shown["content"][1]["json"]["stdout"] == "watching\n"
    assert said(events)[-1] == "Done."
    live.conforms()


def test_a_hook_that_blocks_a_tool(claude: Bench) -> None:
    live = claude.session(calls(bash("touch never.txt")), "I may not.")
    refuse = "echo not here >&2; exit 2"
    write(live.home / ".claude", hook("PreToolUse", refuse, matcher="Bash"))
    events = live.turn("Touch it")
    (shown,) = [item for item in items(events, "status") if labels(item) == ["hook"]]
    assert shown["status"] == "failed"
    (result,) = items(events, "tool_result")
    assert result["status"] == "failed"
    assert "not here" in result["content"][0]["output"]
    assert not (live.workspace / "never.txt").exists()
    assert outcome(events) == "completed"
    live.conforms()


def test_a_hook_at_the_end_of_a_turn_is_shown(claude: Bench) -> None:
    live = claude.session("Hello.")
    write(live.home / ".claude", hook("Stop", "echo goodbye"))
    events = live.turn("Hi")
    (shown,) = [item for item in items(events, "status") if labels(item) == ["hook"]]
    assert shown["content"][1]["json"]["stdout"] == "goodbye\n"
    assert said(events) == ["Hello."]
    live.conforms()
