"""Slash commands: Claude Code's own, a workspace's, and those that change the conversation."""

from __future__ import annotations

import json

from tests.agents.live import Bench
from tests.agents.watch import kill, labels
from tests.testing.story import items, of_type, outcome, said, text


def test_a_command_that_claude_answers_itself(claude: Bench) -> None:
    live = claude.session()
    events = live.turn("/context")
    assert [text(item) for item in items(events, "message", "user")] == ["/context"]
    told = [text(item) for item in items(events, "system")] + said(events)
    assert any("Context Usage" in each for each in told)
    assert outcome(events) == "completed"
    assert live.model.mains == []
    live.conforms()


def test_a_command_that_nobody_knows_is_for_the_model(claude: Bench) -> None:
    live = claude.session("What do you mean?")
    events = live.turn("/nonsense")
    assert said(events) == ["What do you mean?"]
    assert "/nonsense" in live.model.mains[0].text
    live.conforms()


def test_a_command_of_the_workspace(claude: Bench) -> None:
    live = claude.session("Greeted.")
    commands = live.workspace / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("Say a warm hello to $ARGUMENTS.\n")
    events = live.turn("/greet Rumpel")
    assert said(events) == ["Greeted."]
    assert [text(item) for item in items(events, "message", "user")] == ["/greet Rumpel"]
    assert "Say a warm hello to Rumpel." in json.dumps(live.model.mains[0].body)
    live.conforms()


def test_compact_is_a_status_that_opens_and_closes(claude: Bench) -> None:
    live = claude.session("Hello.", {"text": "A summary.", "times": 20})
    live.turn("Hi")
    events = live.turn("/compact")
    compacting = [item for item in items(events, "status") if labels(item) == ["compacting"]]
    assert [item["status"] for item in compacting] == ["completed"]
    assert outcome(events) == "completed"
    (about,) = [item["content"][1]["json"] for item in items(events, "status")
                if labels(item) == ["compacted"]]  # fmt: skip
    (context,) = [
        each["context"] for each in of_type(events, "session.updated") if "context" in each
    ]
    assert context["used"] == about["post_tokens"]
    live.model.script("Here I am.")
    assert said(live.turn("Go on")) == ["Here I am."]
    live.conforms()


def test_clear_begins_a_new_conversation_under_another_id(claude: Bench) -> None:
    live = claude.session("My name is Rumpel.", "I do not know.", "I still do not know.")
    first = live.turn("Who are you?")[-1]["native_session_id"]
    cleared = live.turn("/clear")
    assert outcome(cleared) == "completed"
    after = live.turn("Who was that?")
    second = after[-1]["native_session_id"]
    assert second not in (None, first)
    assert "My name is Rumpel." not in json.dumps(live.model.mains[1].body)
    kill(live)
    resumed = live.turn("And now?")
    assert resumed[-1]["native_session_id"] == second
    assert "I do not know." in json.dumps(live.model.mains[2].body)
    assert "My name is Rumpel." not in json.dumps(live.model.mains[2].body)
    assert of_type(live.conforms(), "error") == []
