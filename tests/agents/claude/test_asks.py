"""What Claude Code hears when a person has decided."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.agents.claude.native import Wanted
from dragoman.agents.claude.requests import (
    DECLINED,
    REFINE,
    ask_of,
    permission,
    permission_answer,
    question,
    question_answer,
)
from dragoman.agents.claude.subagents import MAIN
from dragoman.schema.commands import AnswerPermission, AnswerQuestion


def wanted(tool: str, **given: Any) -> Wanted:
    """A tool that needs leave."""
    return Wanted(subtype="can_use_tool", tool_name=tool, input=given, tool_use_id="call")


def heard(asked: Wanted, *answers: tuple[str, ...]) -> dict[str, Any]:
    """The answer to a question."""
    return question_answer(ask_of(asked, "/w"), AnswerQuestion(key="k", answers=answers))


def diff_of(asked: Wanted) -> str:
    """The preview of a change."""
    ask = ask_of(asked, "/w")
    return str(permission("k", asked, ask.rule, MAIN).metadata["diff"])


def test_a_plan_is_approved_by_that_word_only() -> None:
    plan = wanted("ExitPlanMode", plan="# Plan")
    assert heard(plan, ("Approve",)) == {"behavior": "allow", "updatedInput": {"plan": "# Plan"}}
    assert heard(plan, ("Approve",), ("later",))["behavior"] == "deny"
    assert heard(plan, ("First test it",)) == {"behavior": "deny", "message": "First test it"}
    assert heard(plan, ()) == {"behavior": "deny", "message": REFINE}


def test_answers_are_joined_and_named_by_their_questions() -> None:
    asked = wanted("AskUserQuestion", questions=[{"question": "A?"}, {"question": "B?"}])
    given = heard(asked, ("x", "y"), ("z",))
    assert given["updatedInput"]["answers"] == {"A?": "x, y", "B?": "z"}


def test_a_question_that_nobody_wants_to_answer_is_declined() -> None:
    ask = ask_of(wanted("AskUserQuestion", questions=[]), "/w")
    declined = question_answer(ask, AnswerQuestion(key="k", answers=None))
    assert declined == {"behavior": "deny", "message": DECLINED}


def test_odd_questions_are_still_questions() -> None:
    asked = wanted("AskUserQuestion", questions=["Plain?", {"options": ["a", {"label": "b"}]}])
    found = question("k", asked, MAIN)
    assert found is not None
    assert [each.prompt for each in found.questions] == ["Plain?", ""]
    assert [option.label for option in found.questions[1].options] == ["a", "b"]


def test_always_sends_no_rule_that_claude_would_read_wider() -> None:
    ask = ask_of(wanted("Bash", command="rm build/*"), "/w")
    given = permission_answer(ask, AnswerPermission(key="k", reply="always"))
    assert given == {"behavior": "allow", "updatedInput": {"command": "rm build/*"}}


def test_the_preview_of_an_edit_does_not_speak_of_the_files_end() -> None:
    edit = wanted("Edit", file_path="/w/x", old_string="one", new_string="two")
    assert diff_of(edit).endswith("@@ -1 +1 @@\n-one\n+two\n")


def test_the_preview_of_a_new_file() -> None:
    written = wanted("Write", file_path="/w/x", content="one\n")
    assert "new file mode" in diff_of(written)


def test_case_16_a_path_that_is_no_text_is_only_in_the_input() -> None:
    """Before, it was a defect of the converter's own, and the agent waited for ever."""
    asked = wanted("Write", file_path=[None], content="x")
    about = permission("k", asked, ask_of(asked, "/w").rule, MAIN).metadata
    assert (about["input"]["file_path"], "paths" in about) == ([None], False)


def test_a_kind_of_reason_is_not_told_as_the_agents_words() -> None:
    """Before, a person read "subcommandResults" as the reason that the agent gives."""
    asked = msgspec.structs.replace(
        wanted("Bash", command="touch x; ls"), decision_reason_type="subcommandResults"
    )
    ask = ask_of(asked, "/w")
    assert "agent_reason" not in permission("k", asked, ask.rule, MAIN).metadata
    said = msgspec.structs.replace(asked, decision_reason="It writes.")
    assert permission("k", said, ask.rule, MAIN).metadata["agent_reason"] == "It writes."
