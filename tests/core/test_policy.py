"""Permission modes and rules: the whole table."""

from __future__ import annotations

import itertools

import pytest

from dragoman.core.policy import decide, overdue, rule_of
from dragoman.core.requests import resolution
from dragoman.schema.commands import PERMISSION_MODES, AnswerPermission, PermissionMode
from dragoman.schema.events import Approver, PermissionResolved, Question
from dragoman.steps import AskPermission, AskQuestion

from .stage import Stage

TABLE: dict[tuple[PermissionMode, bool, bool], tuple[str, str] | None] = {
    # mode, edits files, a rule allows it: the answer and what gave it; None: a person decides
    ("default", False, False): None,
    ("default", True, False): None,
    ("default", False, True): ("once", "always:bash"),
    ("default", True, True): ("once", "always:bash"),
    ("plan", False, False): None,
    ("plan", True, False): ("reject", "mode:plan"),
    ("plan", False, True): ("once", "always:bash"),
    ("plan", True, True): ("reject", "mode:plan"),
    ("bypass", False, False): ("once", "mode:bypass"),
    ("bypass", True, False): ("once", "mode:bypass"),
    ("bypass", False, True): ("once", "mode:bypass"),
    ("bypass", True, True): ("once", "mode:bypass"),
    ("acceptEdits", False, False): None,
    ("acceptEdits", True, False): ("once", "mode:acceptEdits"),
    ("acceptEdits", False, True): ("once", "always:bash"),
    ("acceptEdits", True, True): ("once", "mode:acceptEdits"),
}


def test_the_table_is_whole() -> None:
    assert set(TABLE) == set(itertools.product(PERMISSION_MODES, (False, True), (False, True)))


@pytest.mark.parametrize(("mode", "edits", "ruled"), TABLE)
def test_mode_edits_and_rule_decide(mode: PermissionMode, edits: bool, ruled: bool) -> None:
    ask = AskPermission(key="p", action="bash", edits_files=edits)
    answer = decide(ask, mode, ["bash"] if ruled else ["other"])
    expected = TABLE[mode, edits, ruled]
    if expected is None:
        assert answer is None
    else:
        assert answer is not None
        assert answer.key == "p"
        assert answer.approver is not None
        assert (answer.reply, answer.approver.rule) == expected
        assert (answer.message is not None) == (answer.reply == "reject")


def test_what_is_guarded_no_mode_accepts_but_a_plan_refuses_it() -> None:
    ask = AskPermission(key="p", action="edit", edits_files=True, guarded=True)
    assert decide(ask, "acceptEdits", []) is None
    refused = decide(ask, "plan", [])
    assert refused is not None
    assert refused.reply == "reject"


def test_a_rule_is_the_agents_own_or_the_action() -> None:
    assert rule_of(AskPermission(key="p", action="bash")) == "bash"
    assert rule_of(AskPermission(key="p", action="bash", rule="bash(git *)")) == "bash(git *)"


def test_a_narrower_rule_does_not_allow_the_action() -> None:
    ask = AskPermission(key="p", action="bash", rule="bash(git *)")
    assert decide(ask, "default", ["bash"]) is None


def test_what_a_mode_decides_is_still_in_the_stream() -> None:
    stage = Stage(mode="bypass").say(AskPermission(key="p", action="bash"))
    assert stage.tape.types()[-2:] == ["permission.requested", "permission.resolved"]
    resolved = stage.tape.bodies[-1]
    assert isinstance(resolved, PermissionResolved)
    assert resolved.approver
    assert resolved.approver.rule == "mode:bypass"
    assert not stage.interpreter.requests


def test_what_nobody_answers_is_refused_by_the_deadline() -> None:
    stage = Stage().say(
        AskPermission(key="p", action="bash"),
        AskQuestion(key="q", questions=(Question(prompt="Why?"),)),
    )
    for request in list(stage.interpreter.requests):
        answer = overdue(request.key, request.body, 2.5)
        body = resolution(request.body, answer)
        assert body is not None
        assert body.status in ("reject", "rejected")
        assert body.approver == Approver(rule="deadline")
        assert body.metadata
        assert body.metadata["reason"] == "deadline"
        if isinstance(answer, AnswerPermission):
            assert answer.message == "nobody answered within 2.5 s"
