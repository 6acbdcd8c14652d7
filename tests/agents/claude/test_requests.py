"""Permissions and questions: what "always" allows, and what Claude Code is answered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.agents.claude.native import ControlRequestBody
from dragoman.agents.claude.requests import (
    DECLINED,
    REFINE,
    is_plain_edit,
    pending_request,
    permission,
    permission_answer,
    question,
    question_answer,
    rule_of,
)
from dragoman.agents.claude.subagents import MAIN
from dragoman.schema.commands import AnswerPermission, AnswerQuestion

# --- What "always" allows ---


WORKSPACE = "/work space"


def bash(command: str, *suggested: str, **more: Any) -> ControlRequestBody:
    """A command, and the rules that Claude Code suggests for it."""
    rules = [{"toolName": "Bash", "ruleContent": content} for content in suggested]
    suggestions = (
        {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    )
    return ControlRequestBody(
        subtype="can_use_tool",
        tool_name="Bash",
        input={"command": command},
        permission_suggestions=suggestions,
        **more,
    )


@pytest.mark.parametrize(
    ("command", "suggested", "rule"),
    [
        ("touch x", "touch x *", "Bash(touch *)"),
        ("mkdir -p a/b", "mkdir -p a/b", "Bash(mkdir *)"),
        ("touch '/work space/x'", "touch x *", "Bash(touch '/work space/x')"),
        ("git commit -m 'a; b'", "git commit *", "Bash(git commit *)"),
        ('git commit -m "a && b"', "git commit *", "Bash(git commit *)"),
        ("npm run test --x", "npm run *", "Bash(npm run *)"),
        ("rm -rf q", "rm -rf q", "Bash(rm -rf q)"),
    ],
)
def test_a_plain_command_stands_for_those_like_it(command: str, suggested: str, rule: str) -> None:
    assert str(rule_of(bash(command, suggested), WORKSPACE)) == rule


@pytest.mark.parametrize(
    "command",
    [
        "touch x; rm -rf y",
        "touch x && rm y",
        "touch x\nrm y",
        "touch x | tee y",
        "touch x > y",
        "touch $(rm y)",
        "touch `rm y`",
        'touch "$(rm y)"',
        "touch 'x' \"`rm y`\"",
        "touch 'x; rm y",
        "touch /etc/x",
        "touch ../x",
        "touch a/../../x",
        "touch ~/x",
        "touch --reference=/etc/passwd x",
        "touch '/etc/x'",
        "touch \\; rm",
    ],
)
def test_a_command_that_may_do_more_is_allowed_word_for_word(command: str) -> None:
    rule = rule_of(bash(command, "touch x *"), WORKSPACE)
    assert (rule.tool, rule.content, rule.is_native) == ("Bash", command, False)


def test_a_command_of_several_parts_is_allowed_word_for_word() -> None:
    rule = rule_of(bash("touch x", "touch x *", "rm y *"), WORKSPACE)
    assert str(rule) == "Bash(touch x)"


def test_a_command_without_a_suggestion_is_allowed_word_for_word() -> None:
    loop = "for i in 1; do rm $i; done"
    assert str(rule_of(bash(loop), WORKSPACE)) == f"Bash({loop})"
    request = ControlRequestBody(subtype="can_use_tool", tool_name="Bash", input={"command": ""})
    assert str(rule_of(request, WORKSPACE)) == "Bash()"


def test_a_suggestion_for_another_command_is_not_taken() -> None:
    assert str(rule_of(bash("rm -r x", "cp *"), WORKSPACE)) == "Bash(rm -r x)"


def test_a_native_rule_is_for_the_session_only() -> None:
    assert rule_of(bash("touch x", "touch x *"), WORKSPACE).as_update() == {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "touch *"}],
        "behavior": "allow",
        "destination": "session",
    }


def write(path: str, **more: Any) -> ControlRequestBody:
    """A file to be written."""
    return ControlRequestBody(
        subtype="can_use_tool", tool_name="Write", input={"file_path": path}, **more
    )


def test_writing_is_allowed_in_the_workspace() -> None:
    request = write("/work space/x")
    assert is_plain_edit(request)
    rule = rule_of(request, WORKSPACE)
    assert (str(rule), rule.is_native) == ("Write(/work space/**)", False)


@pytest.mark.parametrize("reason", [{"decision_reason_type": "workingDir"},
                                    {"decision_reason": "a sensitive file"}])  # fmt: skip
def test_writing_for_a_reason_is_allowed_for_that_file(reason: dict[str, str]) -> None:
    request = write("/etc/x", **reason)
    assert not is_plain_edit(request)
    assert str(rule_of(request, WORKSPACE)) == "Write(/etc/x)"


def test_that_the_mode_asks_is_no_reason() -> None:
    assert is_plain_edit(write("/work space/x", decision_reason_type="mode"))


def test_other_tools_are_allowed_as_they_are_suggested() -> None:
    domain = [{"toolName": "WebFetch", "ruleContent": "domain:a.example"}]
    fetch = ControlRequestBody(
        subtype="can_use_tool",
        tool_name="WebFetch",
        input={"url": "http://a.example/"},
        permission_suggestions=({"type": "addRules", "rules": domain},),
    )
    assert str(rule_of(fetch, WORKSPACE)) == "WebFetch(domain:a.example)"


def test_a_tool_without_a_suggestion_is_allowed_as_such() -> None:
    request = ControlRequestBody(
        subtype="can_use_tool", tool_name="mcp__tiny__echo", input={"text": "x"}
    )
    assert str(rule_of(request, WORKSPACE)) == "mcp__tiny__echo"


def test_reading_without_a_suggestion_is_allowed_for_that_file() -> None:
    request = ControlRequestBody(
        subtype="can_use_tool", tool_name="Read", input={"file_path": "/etc/x"}
    )
    assert str(rule_of(request, WORKSPACE)) == "Read(/etc/x)"


@pytest.mark.parametrize("odd", [None, 7, {}, {"rules": 7}, {"rules": [7, {}]}], ids=repr)
def test_suggestions_without_sense_are_none(odd: Any) -> None:
    request = ControlRequestBody(
        subtype="can_use_tool",
        tool_name="Bash",
        input={"command": "touch x"},
        permission_suggestions=({"type": "addRules", **odd} if isinstance(odd, dict) else odd,),
    )
    assert str(rule_of(request, WORKSPACE)) == "Bash(touch x)"


# --- Answers ---


def can_use(tool: str, **arguments: Any) -> ControlRequestBody:
    """A request to use a tool."""
    return ControlRequestBody(
        subtype="can_use_tool", tool_name=tool, input=arguments, tool_use_id="call"
    )


def response_to(request: ControlRequestBody, *answers: tuple[str, ...]) -> dict[str, Any]:
    """The answer to a question."""
    return question_answer(pending_request(request, "/w"), AnswerQuestion(key="k", answers=answers))


def diff_of(request: ControlRequestBody) -> str:
    """The preview of a change."""
    pending = pending_request(request, "/w")
    return str(permission("k", request, pending.rule, MAIN).metadata["diff"])


def test_a_plan_is_approved_by_that_word_only() -> None:
    plan = can_use("ExitPlanMode", plan="# Plan")
    assert response_to(plan, ("Approve",)) == {
        "behavior": "allow",
        "updatedInput": {"plan": "# Plan"},
    }
    assert response_to(plan, ("Approve",), ("later",))["behavior"] == "deny"
    assert response_to(plan, ("First test it",)) == {"behavior": "deny", "message": "First test it"}
    assert response_to(plan, ()) == {"behavior": "deny", "message": REFINE}


def test_answers_are_joined_and_named_by_their_questions() -> None:
    request = can_use("AskUserQuestion", questions=[{"question": "A?"}, {"question": "B?"}])
    response = response_to(request, ("x", "y"), ("z",))
    assert response["updatedInput"]["answers"] == {"A?": "x, y", "B?": "z"}


def test_a_question_that_nobody_wants_to_answer_is_declined() -> None:
    pending = pending_request(can_use("AskUserQuestion", questions=[]), "/w")
    declined = question_answer(pending, AnswerQuestion(key="k", answers=None))
    assert declined == {"behavior": "deny", "message": DECLINED}


def test_odd_questions_are_still_questions() -> None:
    request = can_use("AskUserQuestion", questions=["Plain?", {"options": ["a", {"label": "b"}]}])
    found = question("k", request, MAIN)
    assert found is not None
    assert [each.prompt for each in found.questions] == ["Plain?", ""]
    assert [option.label for option in found.questions[1].options] == ["a", "b"]


def test_always_sends_no_rule_that_claude_would_read_wider() -> None:
    pending = pending_request(can_use("Bash", command="rm build/*"), "/w")
    response = permission_answer(pending, AnswerPermission(key="k", reply="always"))
    assert response == {"behavior": "allow", "updatedInput": {"command": "rm build/*"}}


def test_the_preview_of_an_edit_does_not_speak_of_the_files_end() -> None:
    edit = can_use("Edit", file_path="/w/x", old_string="one", new_string="two")
    assert diff_of(edit).endswith("@@ -1 +1 @@\n-one\n+two\n")


def test_the_preview_of_a_new_file() -> None:
    written = can_use("Write", file_path="/w/x", content="one\n")
    assert "new file mode" in diff_of(written)


def test_case_16_a_path_that_is_no_text_is_only_in_the_input() -> None:
    """Before, it was a defect of the converter's own, and the agent waited for ever."""
    request = can_use("Write", file_path=[None], content="x")
    about = permission("k", request, pending_request(request, "/w").rule, MAIN).metadata
    assert (about["input"]["file_path"], "paths" in about) == ([None], False)


def test_a_kind_of_reason_is_not_told_as_the_agents_words() -> None:
    """Before, a person read "subcommandResults" as the reason that the agent gives."""
    request = msgspec.structs.replace(
        can_use("Bash", command="touch x; ls"), decision_reason_type="subcommandResults"
    )
    pending = pending_request(request, "/w")
    assert "agent_reason" not in permission("k", request, pending.rule, MAIN).metadata
    explained = msgspec.structs.replace(request, decision_reason="It writes.")
    assert permission("k", explained, pending.rule, MAIN).metadata["agent_reason"] == "It writes."
