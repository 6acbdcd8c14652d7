"""What a tool gave back, from what Claude Code tells people and the model about it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agents.claude.items import Call
from dragoman.agents.claude.model import ToolResultBlock
from dragoman.agents.claude.subagents import MAIN
from dragoman.agents.claude.tools import Given, result_steps
from dragoman.schema.items import FileRef, ToolResult
from dragoman.steps import AgentFile, CompleteItem


def completed(
    tool: str, text: str, structured: Any = None, *, error: bool = False, **given: Any
) -> CompleteItem:
    """The item of a result."""
    block = ToolResultBlock(tool_use_id="call", content=text, is_error=error)
    call = Call(tool, "msg", MAIN, main=True, input=given)
    steps = list(
        result_steps(
            Given(
                block=block,
                call=call,
                owner=MAIN,
                native_id=None,
                structured=structured,
                refused=None,
                directory="/w",
            )
        )
    )
    last = steps[-1]
    assert isinstance(last, CompleteItem)
    return last


def output(item: CompleteItem) -> str:
    """Its output."""
    assert item.content is not None
    part = item.content[0]
    assert isinstance(part, ToolResult)
    return part.output


@pytest.mark.parametrize(
    ("text", "structured", "shown", "code"),
    [
        ("Exit code 3\noops", "Error: Exit code 3\noops", "oops", 3),
        ("Exit code 3", "Error: Exit code 3", "", 3),
        ("Exit code 7\noops", None, "oops", 7),
        ("Exit code unknown", None, "Exit code unknown", None),
        ("Exit code 12 is what I print", None, "Exit code 12 is what I print", None),
        ("<tool_use_error>no</tool_use_error>", "InputValidationError: …", "no", None),
    ],
)
def test_a_command_that_failed(text: str, structured: Any, shown: str, code: int | None) -> None:
    item = completed("Bash", text, structured, error=True, command="x")
    assert (output(item), item.fields.get("exit_code")) == (shown, code)


def test_a_command_that_ended_well() -> None:
    item = completed("Bash", "told", {"stdout": "out", "stderr": "err"}, command="x")
    assert (output(item), item.fields["exit_code"]) == ("out\nerr", 0)


def test_what_only_prints_an_exit_code_keeps_it() -> None:
    assert output(completed("Read", "Exit code 3\nline", error=True)) == "Exit code 3\nline"


def test_words_for_the_model_are_not_shown() -> None:
    item = completed(
        "mcp__x__y", "it failed\n\nThis tool's schema …", "Error: it failed", error=True
    )
    assert output(item) == "it failed"


def test_an_edit_that_nothing_is_told_about_has_no_diff() -> None:
    item = completed("Edit", "updated", file_path="sub/../x")
    assert item.content is not None
    assert item.content[1] == FileRef(path="/w/x", action="patch", diff=None)


def test_a_rewrite_with_the_same_content_has_an_empty_diff() -> None:
    told = {"filePath": "/w/x", "content": "a", "originalFile": "a"}
    item = completed("Write", "updated", told, file_path="/w/x")
    assert item.content is not None
    assert item.content[1] == FileRef(path="/w/x", action="write", diff="")


def test_case_16_a_stderr_that_is_no_text_is_left_out() -> None:
    """Before, it was a defect of the converter's own, and the result was lost."""
    given = completed("Bash", "x", {"stdout": "out", "stderr": ["err"]})
    assert given.content == (ToolResult(call_id="call", output="out"),)


def test_case_16_an_exit_code_of_a_thousand_digits_is_only_text() -> None:
    """Before, more digits than Python reads were a defect of the converter's own."""
    text = f"Exit code {'9' * 5000}"
    given = completed("Bash", text, error=True)
    assert given.content == (ToolResult(call_id="call", output=text),)
    assert "exit_code" not in given.fields


CONVERSATION = "/home/me/.claude/projects/-w/766fb159-3947-434b-b72a-2ad5aeb28148"


def kept(item: CompleteItem) -> list[str]:
    """The files that are to be copied."""
    return [part.path for part in item.content or () if isinstance(part, AgentFile)]


def test_output_that_is_cut_says_so_and_all_of_it_is_kept() -> None:
    """Before, 30,000 characters looked like the whole output."""
    path = f"{CONVERSATION}/tool-results/b1.txt"
    item = completed("Bash", "…", {"stdout": "1", "persistedOutputPath": path}, command="seq 9")
    assert (item.fields["truncated"], item.fields["output_path"]) == (True, path)
    assert kept(item) == [path]
    assert "truncated" not in completed("Bash", "1", {"stdout": "1"}, command="seq 1").fields


def test_a_failed_commands_output_that_is_cut_says_so() -> None:
    text = "Exit code 3\n1\n\n... [20012 characters truncated] ...\n\n9"
    assert completed("Bash", text, f"Error: {text}", error=True).fields["truncated"] is True
    assert "truncated" not in completed("Grep", text, error=True).fields


@pytest.mark.parametrize(
    "path",
    ["/etc/shadow", f"{CONVERSATION}/../../../token", f"{CONVERSATION}/tool-results/../x", "x", 1],
)
def test_only_a_file_of_the_conversations_own_is_kept(path: object) -> None:
    assert kept(completed("Bash", "…", {"stdout": "1", "persistedOutputPath": path})) == []


def test_stderr_is_kept_apart_where_it_is_told_apart() -> None:
    """Before, what a command wrote to stderr could not be told from the rest of its output."""
    (part,) = completed("Bash", "…", {"stdout": "out", "stderr": "err"}).content or ()
    assert part == ToolResult(call_id="call", output="out\nerr", stderr="err")
    (part,) = completed("Bash", "…", {"stdout": "out\nerr", "stderr": ""}).content or ()
    assert part == ToolResult(call_id="call", output="out\nerr")
