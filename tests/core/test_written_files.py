"""A file that is written whole has the diff to what was there, where that is known."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dragoman.core.written_files import FoundFile, WrittenFiles, find_nothing
from dragoman.schema.items import FileAction, FileRef, ToolResult
from dragoman.steps import CompleteItem, WrittenFile


def completed(files: WrittenFiles, path: str = "/a", action: FileAction = "write") -> str | None:
    """The diff that a result gets."""
    parts = (ToolResult(call_id="c", output=""), FileRef(path=path, action=action))
    content = files.complete(CompleteItem(key="k", content=parts)).content
    assert content is not None
    (file,) = [part for part in content if isinstance(part, FileRef)]
    return file.diff


def written(files: Mapping[str, str | None], *contents: str) -> WrittenFiles:
    """Calls that are about to write /a, one after another."""
    found = WrittenFiles(lambda path: FoundFile(files[path]) if path in files else None)
    for content in contents:
        found.expect(WrittenFile(path="/a", content=content))
    return found


def test_a_file_is_written_over() -> None:
    diff = completed(written({"/a": "one\n"}, "two\n"))
    assert diff is not None
    assert diff.endswith("@@ -1 +1 @@\n-one\n+two\n")


def test_a_file_is_new() -> None:
    assert "new file mode" in (completed(written({"/a": None}, "two\n")) or "")


def test_calls_of_one_message_write_in_turn() -> None:
    files = written({"/a": "one\n"}, "two\n", "three\n")
    assert "-one\n+two\n" in (completed(files) or "")
    assert "-two\n+three\n" in (completed(files) or "")
    assert completed(files) is None


@pytest.mark.parametrize("known", [{}, {"/a": "two\n"}], ids=["unknown", "the agent was faster"])
def test_what_is_not_known_has_no_diff(known: dict[str, str | None]) -> None:
    assert completed(written(known, "two\n")) is None


def test_another_file_one_that_is_read_and_a_turn_that_is_over_have_none() -> None:
    files = written({"/a": None}, "two\n")
    assert completed(files, "/b") is None
    assert completed(files, action="read") is None
    files.clear()
    assert completed(files) is None
    assert find_nothing("/a") is None


def test_after_a_call_that_failed_nothing_is_known() -> None:
    """Before, the next diff was to what the failed call would have written."""
    files = written({"/a": "one\n"}, "two\n", "three\n")
    files.complete(CompleteItem(key="k", status="failed"))
    assert completed(files) is None
    files.expect(WrittenFile(path="/a", content="four\n"))
    assert "-one\n+four\n" in (completed(files) or "")
