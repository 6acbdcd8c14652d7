"""What each of the mock agent's prompts shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from dragoman.schema.commands import Attachment, Configure, Prompt
from dragoman.schema.events import SessionUpdated
from dragoman.schema.items import FileRef, Json, Reasoning, Status, Text
from dragoman.steps import (
    AskQuestion,
    BeginTurn,
    Blob,
    CompleteItem,
    Delta,
    EndSession,
    EndTurn,
    Report,
    StartItem,
    Update,
)
from dragoman.testing.mock.faults import GARBAGE
from dragoman.testing.mock.lines import PNG
from dragoman.testing.mock.prompts import PLAIN, exact_word

from .process import DEADLINE_S, Agent, completed, ends_turn, outcome, said, started

WAITING = {"permission", "permissions", "edit", "question", "questions", "hang", "spawn-children"}
ENDING = {"crash", "end", "ignore-sigterm"}
UNDECODABLE = {"garbage": len(GARBAGE), "unparsed": 1}


@pytest.mark.parametrize("prompt", [*sorted(PLAIN.keys() - WAITING - ENDING), "Hello there"])
def test_a_prompt_is_one_well_formed_turn(agent: Agent, prompt: str) -> None:
    steps = agent.turn(prompt)
    assert sum(isinstance(step, BeginTurn) for step in steps) == 1
    assert len(agent.undecodable) == UNDECODABLE.get(prompt, 0)
    opened: list[str] = []
    for step in steps:
        if isinstance(step, StartItem):
            opened.append(step.key)
        elif isinstance(step, Delta):
            assert step.key in opened
        elif isinstance(step, CompleteItem):
            opened.remove(step.key)
    assert opened == []


@pytest.mark.parametrize(
    "prompt", ["demo", "tools", "markdown", "subagent", "Grüße 🙂\u2028 " * 99]
)
def test_what_is_streamed_is_what_is_said(agent: Agent, prompt: str) -> None:
    steps = agent.turn(prompt)
    for done in completed(steps, "message"):
        texts = [part.text for part in done.content or () if isinstance(part, Text)]
        streamed = [s.text for s in steps if isinstance(s, Delta) if s.key == done.key]
        assert done.content is None or "".join(texts) == "".join(streamed)


def test_an_unknown_prompt_is_echoed(agent: Agent) -> None:
    assert said(agent.turn("  Tools, please\n")) == "  Tools, please\n"


@pytest.mark.parametrize("prompt", ["echo demo", "say  demo ", "ECHO demo"])
def test_echo_says_the_rest(agent: Agent, prompt: str) -> None:
    assert said(agent.turn(prompt)) == "demo"


def test_says_the_exact_word(agent: Agent) -> None:
    assert said(agent.turn("Reply with exactly the word OK")) == "OK"


@pytest.mark.parametrize(
    ("prompt", "word"),
    [
        ("Reply with exactly the single word OK.", "OK"),
        ("reply exactly with: pong", "pong"),
        ("Please respond with exactly 'two words' and nothing else.", "two words"),
        ('Answer with exactly one word: "yes".', "yes"),
        ("Reply with exactly:OK", "OK"),
        ("Reply with only the word OK", "OK"),
        ("Answer only if you know", None),
        ("That is exactly right", None),
    ],
)
def test_finds_the_exact_word_in_a_sentence(prompt: str, word: str | None) -> None:
    assert exact_word(prompt) == word


def test_a_sentence_that_asks_for_a_command_calls_the_tool(agent: Agent) -> None:
    """Before, it was echoed; older clients try every agent with it."""
    steps = agent.turn(
        "Use the bash tool to run `ls` in the current directory. "
        "Do not answer without using the tool."
    )
    (call,) = started(steps, "tool_call")
    (done,) = completed(steps, "tool_result")
    assert (call.fields["command"], done.fields["exit_code"]) == ("ls", 0)


def test_a_sentence_that_asks_for_a_question_gets_one(agent: Agent) -> None:
    """Before, it was echoed; older clients try every agent with it."""
    agent.prompt(
        "Call the AskUserQuestion tool with exactly one yes/no question and wait for a reply. "
        "Do not answer yourself."
    )
    request = agent.until(lambda step: isinstance(step, AskQuestion))[-1]
    assert isinstance(request, AskQuestion)
    (question,) = request.questions
    assert [option.label for option in question.options] == ["Yes", "No"]


def test_help_lists_every_prompt(agent: Agent) -> None:
    text = said(agent.turn("help"))
    assert [name for name in [*PLAIN, "slow", "burst", "huge", "echo"] if name not in text] == []


def test_tools_show_every_kind_of_result(agent: Agent, tmp_path: Path) -> None:
    steps = agent.turn("tools")
    calls, results = started(steps, "tool_call"), completed(steps, "tool_result")
    assert len(calls) == len(results) == 6
    assert [call.fields["server"] for call in calls if "server" in call.fields] == ["docs"]
    assert [(r.status, r.fields["exit_code"]) for r in results if "exit_code" in r.fields] == [
        ("completed", 0),
        ("failed", 1),
    ]
    files = [p for r in results for p in r.content or () if isinstance(p, FileRef)]
    assert [file.action for file in files] == ["read", "write", "patch"]
    assert all(Path(file.path).is_relative_to(tmp_path) for file in files)
    assert [file.diff is None for file in files] == [True, False, False]
    for call in calls:
        deltas = [s.text for s in steps if isinstance(s, Delta) if s.key == call.key]
        assert len(deltas) > 1
        assert isinstance(msgspec.json.decode("".join(deltas)), dict)


def test_status_shows_a_plan(agent: Agent) -> None:
    first, plan = started(agent.turn("status"), "status")
    assert isinstance(first.content[0], Status)
    assert plan.content[0] == Status(label="plan")
    assert isinstance(plan.content[1], Json)


def test_image_shows_one_in_a_message_and_one_in_a_result(agent: Agent) -> None:
    steps = agent.turn("image")
    for kind in ("message", "tool_result"):
        (done,) = completed(steps, kind)
        assert (done.content or ())[1:] == (Blob(data=PNG, mime="image/png"),)


def test_unknown_is_an_unknown_item(agent: Agent) -> None:
    (unknown,) = started(agent.turn("unknown"), "unknown")
    assert isinstance(unknown.content[0], Json)


def test_reasoning_is_public_and_private(agent: Agent) -> None:
    parts = [item.content[0] for item in started(agent.turn("reasoning"), "message")]
    shown = [part.visibility for part in parts if isinstance(part, Reasoning)]
    assert shown == ["public", "private"]


def test_a_subagent_runs_inside_its_call(agent: Agent) -> None:
    steps = agent.turn("subagent")
    (status,) = started(steps, "status")
    assert {item.subagent for item in steps if isinstance(item, StartItem)} == {None, status.key}
    assert completed(steps, "status")


def test_error_fails_the_turn(agent: Agent) -> None:
    steps = agent.turn("error")
    (report,) = (step for step in steps if isinstance(step, Report))
    assert (report.code, outcome(steps)) == ("mock_error", "failed")


def test_every_turn_reports_its_usage(agent: Agent) -> None:
    end = agent.turn("usage")[-1]
    assert isinstance(end, EndTurn)
    assert end.usage is not None
    assert end.usage.cost_source == "reported"
    assert end.usage.output_tokens > 0


def test_end_ends_the_session_and_the_process(agent: Agent) -> None:
    agent.prompt("end")
    *_, turn_end, session_end = agent.until_end()
    assert isinstance(turn_end, EndTurn)
    assert session_end == EndSession(message="Goodbye.")
    assert agent.process.wait(DEADLINE_S) == 0


def test_attachments_are_seen(agent: Agent) -> None:
    agent.tell(Prompt(message_id="m", text="hi", attachments=(Attachment(path="/a.txt"),)))
    (status,) = started(agent.until(ends_turn), "status")
    assert status.content == (Status(label="attachments", detail="/a.txt"),)


def test_a_configured_model_does_the_next_turn(agent: Agent) -> None:
    agent.tell(Configure(model="mock-large"))
    end = agent.turn("hi")[-1]
    assert isinstance(end, EndTurn)
    assert end.usage is not None
    assert list(end.usage.models or ()) == ["mock-large"]


def test_the_model_it_starts_with_is_told(start: Callable[..., Agent]) -> None:
    steps = start().turn("hi")
    assert Update(body=SessionUpdated(model="mock")) in steps
