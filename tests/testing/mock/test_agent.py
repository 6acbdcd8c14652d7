"""The mock agent's process: its session, its requests, its interrupts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.agents.mock import ADAPTER
from dragoman.schema.commands import AnswerPermission, AnswerQuestion, Interrupt
from dragoman.steps import AskPermission, AskQuestion, Bind

from .process import DEADLINE_S, Agent, completed, ends_turn, is_delta, outcome, outputs, said

# --- Session ---


def bound(agent: Agent) -> str:
    (bind,) = agent.until(lambda step: isinstance(step, Bind))[:1]
    assert isinstance(bind, Bind)
    assert bind.native_session_id is not None
    return bind.native_session_id


def test_names_a_new_session_itself(start: Callable[..., Agent]) -> None:
    names = {bound(start()), bound(start())}
    assert len(names) == 2
    assert all(name.startswith("mock-") for name in names)


def test_resumes_the_session_it_is_given(start: Callable[..., Agent]) -> None:
    assert bound(start(native="mock-7")) == "mock-7"


def test_a_fork_has_a_name_of_its_own(start: Callable[..., Agent]) -> None:
    assert bound(start(native="mock-7", fork=True)) != "mock-7"


def test_ends_with_its_input(agent: Agent) -> None:
    bound(agent)
    assert agent.close() == 0


@pytest.mark.parametrize("prompt", ["slow 100000", "hang", "permission", "question"])
def test_ends_with_its_input_in_a_turn_too(agent: Agent, prompt: str) -> None:
    agent.prompt(prompt)
    agent.until(is_delta)
    assert agent.close() == 0


def test_ends_quietly_when_nobody_listens(agent: Agent) -> None:
    assert agent.process.stdout is not None
    assert agent.process.stderr is not None
    bound(agent)
    agent.process.stdout.close()
    agent.prompt("hello")
    assert agent.process.wait(DEADLINE_S) == 0
    assert agent.process.stderr.read() == b""


def test_is_not_fooled_by_modules_of_its_directory(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    assert bound(start()).startswith("mock-")


def test_imports_nothing_that_makes_its_start_slow(tmp_path: Path) -> None:
    code = (
        "import sys, dragoman.testing.mock.agent; "
        "print(*(name for name in ('msgspec', 'asyncio', 'subprocess') if name in sys.modules))"
    )
    done = subprocess.run(
        [*ADAPTER.command[:2], "-c", code], cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout.split() == []


# --- Requests ---


def ask(agent: Agent, prompt: str) -> AskPermission:
    agent.prompt(prompt)
    request = agent.until(lambda step: isinstance(step, AskPermission))[-1]
    assert isinstance(request, AskPermission)
    return request


@pytest.mark.parametrize("reply", ["once", "always"])
def test_an_allowed_command_runs(agent: Agent, reply: str) -> None:
    request = ask(agent, "permission")
    assert request.metadata["command"] == "make clean"
    agent.tell(AnswerPermission(key=request.key, reply="once" if reply == "once" else "always"))
    ((status, output),) = outputs(agent.until(ends_turn))
    assert status == "completed"
    assert "$ make clean" in output


def test_a_changed_command_runs_instead(agent: Agent) -> None:
    request = ask(agent, "permissions")
    changed = {"command": "make tidy"}
    agent.tell(AnswerPermission(key=request.key, reply="once", updated_input=changed))
    ((_, output),) = outputs(agent.until(ends_turn))
    assert "$ make tidy" in output


def test_a_declined_command_does_not_run(agent: Agent) -> None:
    request = ask(agent, "permission")
    agent.tell(AnswerPermission(key=request.key, reply="reject", message="Not now."))
    steps = agent.until(ends_turn)
    assert outputs(steps) == [("failed", "Not now.")]
    assert completed(steps, "tool_result")[0].fields["reason"] == "declined"
    assert "Not now." in said(steps)
    assert outcome(steps) == "completed"


def test_an_edit_shows_its_diff_before(agent: Agent) -> None:
    request = ask(agent, "edit")
    assert request.edits_files
    assert request.metadata["diff"].startswith("diff --git")
    agent.tell(AnswerPermission(key=request.key, reply="once"))
    assert [status for status, _ in outputs(agent.until(ends_turn))] == ["completed"]


def test_an_answer_to_something_else_is_not_taken(agent: Agent) -> None:
    request = ask(agent, "permission")
    agent.tell(AnswerPermission(key="p0", reply="once"))
    agent.tell(AnswerPermission(key=request.key, reply="reject"))
    assert [status for status, _ in outputs(agent.until(ends_turn))] == ["failed"]


def inquire(agent: Agent) -> AskQuestion:
    agent.prompt("questions")
    request = agent.until(lambda step: isinstance(step, AskQuestion))[-1]
    assert isinstance(request, AskQuestion)
    return request


def test_answers_are_echoed(agent: Agent) -> None:
    request = inquire(agent)
    assert [question.multi_select for question in request.questions] == [False, True]
    agent.tell(AnswerQuestion(key=request.key, answers=(("Red",), ("Apple", "Plum"))))
    assert said(agent.until(ends_turn)) == "You answered. Colour: Red; Fruit: Apple, Plum"


def test_rejected_questions_are_noticed(agent: Agent) -> None:
    request = inquire(agent)
    agent.tell(AnswerQuestion(key=request.key, answers=None))
    assert said(agent.until(ends_turn)) == "You did not answer."


# --- Interrupts and queues ---


@pytest.mark.parametrize("prompt", ["slow 100000", "hang", "permission", "edit", "question"])
def test_an_interrupt_ends_the_turn_and_not_the_session(agent: Agent, prompt: str) -> None:
    agent.prompt(prompt)
    agent.until(is_delta)
    agent.tell(Interrupt())
    assert outcome(agent.until(ends_turn)) == "interrupted"
    assert said(agent.turn("still here")) == "still here"


def test_an_interrupt_ends_a_burst(agent: Agent) -> None:
    agent.prompt("burst 5000000 200")
    agent.until(is_delta)
    agent.tell(Interrupt())
    assert outcome(agent.until(ends_turn)) == "interrupted"


def test_an_interrupt_without_a_turn_is_ignored(agent: Agent) -> None:
    agent.tell(Interrupt())
    assert outcome(agent.turn("hi")) == "completed"


def test_a_prompt_in_a_turn_is_the_next_turn(agent: Agent) -> None:
    agent.prompt("hang")
    agent.prompt("next")
    agent.until(is_delta)
    agent.tell(Interrupt())
    assert outcome(agent.until(ends_turn)) == "interrupted"
    assert said(agent.until(ends_turn)) == "next"
