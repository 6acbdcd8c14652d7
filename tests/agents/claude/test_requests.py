"""What "always" allows: never more than what was shown."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agents.claude.native import Wanted
from dragoman.agents.claude.rules import is_plain_edit, rule_of

WORKSPACE = "/work space"


def bash(command: str, *suggested: str, **more: Any) -> Wanted:
    """A command, and the rules that Claude Code suggests for it."""
    rules = [{"toolName": "Bash", "ruleContent": content} for content in suggested]
    suggestions = (
        {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    )
    return Wanted(
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
    assert (rule.tool, rule.content, rule.native) == ("Bash", command, False)


def test_a_command_of_several_parts_is_allowed_word_for_word() -> None:
    rule = rule_of(bash("touch x", "touch x *", "rm y *"), WORKSPACE)
    assert str(rule) == "Bash(touch x)"


def test_a_command_without_a_suggestion_is_allowed_word_for_word() -> None:
    loop = "for i in 1; do rm $i; done"
    assert str(rule_of(bash(loop), WORKSPACE)) == f"Bash({loop})"
    wanted = Wanted(subtype="can_use_tool", tool_name="Bash", input={"command": ""})
    assert str(rule_of(wanted, WORKSPACE)) == "Bash()"


def test_a_suggestion_for_another_command_is_not_taken() -> None:
    assert str(rule_of(bash("rm -r x", "cp *"), WORKSPACE)) == "Bash(rm -r x)"


def test_a_native_rule_is_for_the_session_only() -> None:
    assert rule_of(bash("touch x", "touch x *"), WORKSPACE).added() == {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "touch *"}],
        "behavior": "allow",
        "destination": "session",
    }


def write(path: str, **more: Any) -> Wanted:
    """A file to be written."""
    return Wanted(subtype="can_use_tool", tool_name="Write", input={"file_path": path}, **more)


def test_writing_is_allowed_in_the_workspace() -> None:
    wanted = write("/work space/x")
    assert is_plain_edit(wanted)
    rule = rule_of(wanted, WORKSPACE)
    assert (str(rule), rule.native) == ("Write(/work space/**)", False)


@pytest.mark.parametrize("reason", [{"decision_reason_type": "workingDir"},
                                    {"decision_reason": "a sensitive file"}])  # fmt: skip
def test_writing_for_a_reason_is_allowed_for_that_file(reason: dict[str, str]) -> None:
    wanted = write("/etc/x", **reason)
    assert not is_plain_edit(wanted)
    assert str(rule_of(wanted, WORKSPACE)) == "Write(/etc/x)"


def test_that_the_mode_asks_is_no_reason() -> None:
    assert is_plain_edit(write("/work space/x", decision_reason_type="mode"))


def test_other_tools_are_allowed_as_they_are_suggested() -> None:
    domain = [{"toolName": "WebFetch", "ruleContent": "domain:a.example"}]
    fetch = Wanted(
        subtype="can_use_tool",
        tool_name="WebFetch",
        input={"url": "http://a.example/"},
        permission_suggestions=({"type": "addRules", "rules": domain},),
    )
    assert str(rule_of(fetch, WORKSPACE)) == "WebFetch(domain:a.example)"


def test_a_tool_without_a_suggestion_is_allowed_as_such() -> None:
    wanted = Wanted(subtype="can_use_tool", tool_name="mcp__tiny__echo", input={"text": "x"})
    assert str(rule_of(wanted, WORKSPACE)) == "mcp__tiny__echo"


def test_reading_without_a_suggestion_is_allowed_for_that_file() -> None:
    wanted = Wanted(subtype="can_use_tool", tool_name="Read", input={"file_path": "/etc/x"})
    assert str(rule_of(wanted, WORKSPACE)) == "Read(/etc/x)"


@pytest.mark.parametrize("odd", [None, 7, {}, {"rules": 7}, {"rules": [7, {}]}], ids=repr)
def test_suggestions_without_sense_are_none(odd: Any) -> None:
    wanted = Wanted(
        subtype="can_use_tool",
        tool_name="Bash",
        input={"command": "touch x"},
        permission_suggestions=({"type": "addRules", **odd} if isinstance(odd, dict) else odd,),
    )
    assert str(rule_of(wanted, WORKSPACE)) == "Bash(touch x)"
