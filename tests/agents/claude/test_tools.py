"""Results of tools: output, exit codes, files, and what a file is after an edit."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agents.claude.native import ToolResultBlock
from dragoman.agents.claude.subagents import MAIN
from dragoman.agents.claude.tools import Edit, PendingCall, ToolOutcome, result_steps, text_after
from dragoman.schema.items import FileRef, Text, ToolResult
from dragoman.steps import AgentFile, CompleteItem

# --- Results ---


def completed(
    tool: str, text: str, native: Any = None, *, error: bool = False, **given: Any
) -> CompleteItem:
    """The item of a result."""
    block = ToolResultBlock(tool_use_id="call", content=text, is_error=error)
    call = PendingCall(tool, "msg", MAIN, is_main=True, input=given)
    steps = list(
        result_steps(
            ToolOutcome(
                block=block,
                content=(Text(text=text),),
                call=call,
                owner=MAIN,
                native_id=None,
                native_result=native,
                refusal=None,
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


# --- Edits ---


def hunk(start: int, *lines: str) -> dict[str, Any]:
    old = sum(line[0] in " -" for line in lines)
    new = sum(line[0] in " +" for line in lines)
    return {
        "oldStart": start, "oldLines": old, "newStart": start, "newLines": new, "lines": list(lines)
    }  # fmt: skip


def after(before: str, old: str, new: str, *hunks: Any, everywhere: bool = False) -> str | None:
    told = list(hunks)
    return text_after(Edit(before=before, old=old, new=new, everywhere=everywhere, hunks=told))


def test_a_string_is_replaced_once_or_everywhere() -> None:
    assert after("x x", "x", "y", hunk(1, "-x x", "\\ No", "+y x", "\\ No")) == "y x"
    assert after("x\nx\n", "x", "y", everywhere=True) == "y\ny\n"


def test_a_deleted_line_goes_with_its_newline() -> None:
    hunks = hunk(1, " one", "-two", " three")
    assert after("one\ntwo\nthree\n", "two", "", hunks) == "one\nthree\n"


def test_a_deleted_word_leaves_its_line() -> None:
    assert after("one two\n", " two", "", hunk(1, "-one two", "+one")) == "one\n"


def test_quotes_that_stay_curly_are_taken_from_the_hunk() -> None:
    hunks = hunk(1, "-say “hello”", "+say “bye”")
    assert after("say “hello”\n", "“hello”", '"bye"', hunks) == "say “bye”\n"


def test_tabs_survive_though_hunks_show_spaces() -> None:
    hunks = hunk(1, "   if x:", "-    y", "+    z")
    assert after("\tif x:\n\t\ty\n", "\t\ty", "\t\tz", hunks) == "\tif x:\n\t\tz\n"


def test_curly_quotes_in_a_line_with_tabs() -> None:
    hunks = hunk(1, "-  say “hello”", "+  say “bye”")
    assert after("\tsay “hello”\n", "“hello”", '"bye"', hunks) == "\tsay “bye”\n"


def test_an_edit_may_make_a_file() -> None:
    assert after("", "", "made\n", hunk(1, "+made")) == "made\n"


@pytest.mark.parametrize("hunks", [None, [], "x", [{}], [7], [hunk(9, " x")]], ids=repr)
def test_hunks_without_sense_leave_the_strings(hunks: Any) -> None:
    edit = Edit(before="a\n", old="a", new="b", everywhere=False, hunks=hunks)
    assert text_after(edit) == "b\n"


def test_an_edit_that_cannot_be_understood_has_no_result() -> None:
    assert after("a\n", "nowhere", "b") is None


@pytest.mark.parametrize(
    "hunks",
    [
        [{"oldStart": 1, "lines": ["-x", 1e30]}],
        [{"oldStart": "1", "lines": ["-x"]}],
        [{"oldStart": -3, "lines": ["-x"]}],
        [{"oldStart": 1, "lines": "-x"}],
        [{"oldStart": 1, "lines": [""]}],
        [{"oldStart": 9, "lines": ["-x"]}],
        [{"oldStart": 1, "lines": ["\\ No newline"]}],
        [None],
        {"oldStart": 1},
    ],
    ids=repr,
)
def test_case_16_hunks_that_make_no_sense_leave_the_strings(hunks: Any) -> None:
    """Before, a line of a hunk that was no text was a defect of the converter's own."""
    told = Edit(before="x\n", old="x", new="y", everywhere=False, hunks=hunks)
    assert text_after(told) == "y\n"
