"""Commands that the real Claude Code runs in the background."""

from __future__ import annotations

from tests.agents.claude.live.scripts import bash
from tests.agents.live import Bench, calls
from tests.agents.watch import ended, heard, labels
from tests.testing.story import items, of_type, said, text

WAIT_FOR = (
    "python3 -c \"import pathlib,time\nwhile not pathlib.Path('go').exists(): time.sleep(.01)\""
)


def test_a_command_in_the_background_starts_a_turn_when_it_ends(claude: Bench) -> None:
    live = claude.session(
        calls(bash(WAIT_FOR, run_in_background=True), text="Starting."),
        "It runs.",
        "It has ended.",
        permissionMode="bypass",
    )
    first = live.turn("Run it")
    assert said(first) == ["Starting.", "It runs."]
    (result,) = items(first, "tool_result")
    assert "exit_code" not in result
    assert ["task.started"] in [labels(item) for item in items(first, "status")]
    (live.workspace / "go").touch()
    heard(live, ended(), after=first[-1])
    later = live.since(first[-1])
    assert said(later) == ["It has ended."]
    assert items(later, "message", "user") == []
    assert ["task.completed"] in [labels(item) for item in items(later, "status")]
    (over,) = of_type(later, "turn.ended")
    assert over["metadata"]["origin"]["kind"] == "task-notification"
    live.conforms()


def test_a_person_talks_on_while_a_command_runs_in_the_background(claude: Bench) -> None:
    live = claude.session(
        calls(bash(WAIT_FOR, run_in_background=True)),
        "It runs.",
        "Yes, still.",
        "It has ended.",
        permissionMode="bypass",
    )
    live.turn("Run it")
    second = live.turn("Does it run?")
    assert said(second) == ["Yes, still."]
    (live.workspace / "go").touch()
    heard(live, ended(), after=second[-1])
    events = live.conforms()
    assert said(events)[-1] == "It has ended."
    assert [text(item) for item in items(events, "message", "user")] == ["Run it", "Does it run?"]
