"""What Grok asks people: permissions by their kinds, questions, plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.grok.live.agent import GROK
from tests.agents.grok.live.scripts import command, tool
from tests.agents.live import Bench, Live, calls
from tests.agents.results import results
from tests.agents.watch import asked, outcomes
from tests.testing.story import items, of_type, said

ALWAYS = '[ui]\npermission_mode = "always-approve"\n'


def careless(url: str, home: Path) -> dict[str, str]:
    """The environment of a user who has told Grok never to ask."""
    env = GROK.environ(url, home)
    config = home / ".grok" / "config.toml"
    config.write_text(ALWAYS + config.read_text())
    return env


# --- Permissions ---


def test_it_asks_whatever_the_users_own_configuration_says(grok: Bench) -> None:
    live = grok.session(calls(command("rm -f a")), "Done.", environ=careless)
    live.send("Remove it")
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    assert said(live.conforms()) == ["Done."]


def test_a_refusal_without_a_reason_stops_the_turn(grok: Bench) -> None:
    live = grok.session(calls(command("rm -f a")), "Next.")
    live.send("Remove it")
    live.reply(live.until("permission.requested"), "reject")
    end = live.until("turn.ended")["data"]
    assert (end["outcome"], end["stop_reason"]) == ("interrupted", "cancelled")
    assert said(live.turn("Go on")) == ["Next."]
    assert "User rejected" in asked(live, 2)
    assert outcomes(live.conforms()) == ["interrupted", "completed"]


def test_always_is_a_rule_of_ours(grok: Bench) -> None:
    """What Grok would keep holds for other sessions in the same project, too."""
    remove = calls(command("rm -f a"))
    live = grok.session(remove, remove, "Done.")
    live.send("Remove it twice")
    live.reply(live.until("permission.requested"), "always")
    live.until("turn.ended")
    _, second = of_type(live.conforms(), "permission.resolved")
    assert second["approver"]["rule"].startswith("always:run_terminal_command(")
    kept = [file.read_text() for file in live.home.rglob("permission*.toml")]
    assert not [text for text in kept if "rm -f" in text]


def test_an_edit_shows_what_it_would_change(grok: Bench) -> None:
    live = grok.session()
    path = live.workspace / "a.txt"
    path.write_text("one\n")
    edit = tool("search_replace", file_path=str(path), old_string="one", new_string="two")
    live.model.add(calls(tool("read_file", target_file=str(path))), calls(edit), "Then not.")
    live.send("Change it")
    request = live.until("permission.requested")
    about = request["data"]["metadata"]
    assert (about["path"], about["permission"]) == (str(path), "edit")
    assert "-one\n+two\n" in about["diff"]
    kinds = [each["kind"] for each in about["options"]]
    assert kinds == ["allow_always", "allow_once", "reject_once"]
    live.reply(request, "reject", message="Leave it.")
    live.until("turn.ended")
    assert path.read_text() == "one\n"
    assert said(live.conforms()) == ["Then not."]


def test_some_commands_are_never_asked_for(grok: Bench) -> None:
    """Documented: Grok holds these to be harmless."""
    live = grok.session(calls(command("ls"), command("touch a"), command("mkdir b")), "Done.")
    events = live.turn("Look")
    assert of_type(events, "permission.requested") == []
    assert [each["status"] for each in results(events)] == ["completed"] * 3
    live.conforms()


# --- Questions ---


def test_several_answers_to_one_question(grok: Bench) -> None:
    question = {**GROK.question("cheese", "Which cheeses?", "Brie", "Feta"), "multiSelect": True}
    live = grok.session(calls(GROK.ask(question)), "Noted.")
    live.send("Ask me")
    request = live.until("question.requested")
    assert request["data"]["questions"][0]["multi_select"] is True
    live.answer(request, ["Brie", "Feta"])
    live.until("turn.ended")
    assert "Brie, Feta" in asked(live, 2)
    live.conforms()


# --- Plans ---


def planned(live: Live, *after: Any) -> None:
    """Let the model write a plan and hand it in."""
    folder = next((live.home / ".grok" / "sessions").glob("*/*-*-*-*-*"))
    write = tool("write", file_path=str(folder / "plan.md"), content="# Plan\n\nDo it.\n")
    live.model.add(calls(write), calls(tool("exit_plan_mode")), *after)


@pytest.mark.parametrize("how", ["agentMode", "permissionMode"])
def test_a_plan_is_approved(grok: Bench, how: str) -> None:
    live = grok.session("Let me think.", **{how: "plan"})
    live.turn("How would you do it?")
    assert live.info["agentMode"] == "plan"
    path = live.workspace / "made"
    planned(live, calls(command(f"rm -f {path}")), "Built.")
    live.send("Plan it")
    request = live.until("question.requested")
    about = request["data"]
    assert (about["prompt"], about["options"]) == (
        "# Plan\n\nDo it.\n",
        ["Approve", "Keep planning"],
    )
    live.answer(request, ["Approve"])
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    assert (live.info["agentMode"], live.info["permissionMode"]) == ("default", "default")
    assert said(live.conforms())[-1] == "Built."


@pytest.mark.parametrize("answer", ["Keep planning", "Make it smaller."], ids=["again", "anew"])
def test_a_plan_is_not_approved(grok: Bench, answer: str) -> None:
    live = grok.session("Let me think.", agentMode="plan")
    live.turn("How would you do it?")
    planned(live, "Then I think on.")
    live.send("Plan it")
    live.answer(live.until("question.requested"), [answer])
    live.until("turn.ended")
    assert live.info["agentMode"] == "plan"
    assert "wants to revise the plan" in asked(live, 4)
    assert (answer in asked(live, 4)) == (answer != "Keep planning")
    live.conforms()


def test_plan_mode_changes_no_file(grok: Bench) -> None:
    live = grok.session(agentMode="plan")
    path = live.workspace / "a.txt"
    live.model.add(calls(GROK.write(str(path), "a\n")), "I may not.")
    events = live.turn("Write it")
    assert [each["status"] for each in results(events)] == ["failed"]
    assert not path.exists()
    live.conforms()


def test_the_agent_enters_plan_mode_itself(grok: Bench) -> None:
    live = grok.session(calls(tool("enter_plan_mode")), "Planning.")
    live.turn("This is hard")
    assert live.info["agentMode"] == "plan"
    live.patch(agentMode="default")
    live.model.add("Building.")
    live.turn("Do it")
    assert live.info["agentMode"] == "default"
    assert len(items(live.conforms(), "tool_call")) == 1
