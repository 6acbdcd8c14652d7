"""Patches of the real Codex: a diff leads from before to after."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.codex.live.heard import told
from tests.agents.codex.live.scripts import added, deleted, patch, run, updated
from tests.agents.live import Bench, Live, calls
from tests.agents.results import called, file_of, output, result, results
from tests.agents.watch import statuses
from tests.testing.story import Item, of_type, outcome, parts, said

Files = dict[str, bytes]


@pytest.fixture
def editor(codex: Bench) -> Live:
    """A session that may change files without asking."""
    return codex.session(permissionMode="acceptEdits")


def files_in(folder: Path) -> Files:
    """Every file, by its name in the folder."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def lay_out(folder: Path, files: Files) -> None:
    """Write files into a folder."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def git_apply(folder: Path, depth: int, before: Files, diff: str) -> Files:
    """What `git apply` makes of the files, in a folder of its own."""
    folder.mkdir()
    lay_out(folder, before)
    command = ["git", "apply", f"-p{depth}", "--whitespace=nowarn", "-"]
    subprocess.run(command, cwd=folder, input=diff.encode(), check=True)
    return files_in(folder)


def change(live: Live, before: Files, *changes: str) -> Item:
    """Have files changed, and prove that the diffs tell how; the result."""
    # A turn's diff is relative to where a `.git` is found, and while any sandbox of Codex runs,
    # there is an empty one beside all our folders.
    subprocess.run(["git", "init", "-q"], cwd=live.workspace, check=True)
    lay_out(live.workspace, before)
    live.model.add(calls(patch(*changes)), "Done.")
    events = live.turn("Change them")
    (changed,) = results(events)
    assert changed["status"] == "completed"
    after = files_in(live.workspace)
    diff = "".join(file["diff"] for file in parts(changed, "file_ref"))
    depth = len(live.workspace.parts)
    assert git_apply(live.folder / "git", depth, before, diff) == after
    assert len(called(events, "fileChange")) == 1
    (shown,) = statuses(events, "turn.diff")
    whole = parts(shown, "json")[0]["json"]["diff"]
    for above in live.workspace.parents:
        # While a sandbox is up, there may be a `.git` in one of them, to which paths are relative.
        whole = whole.replace(f"/{live.workspace.relative_to(above)}/", "/")
    assert git_apply(live.folder / "whole", 1, before, whole) == after
    live.conforms()
    return changed


def test_a_file_is_added(editor: Live) -> None:
    changed = change(editor, {}, added("src/new.txt", "one", "two 🐉"))
    file = file_of(changed)
    assert (file["path"], file["action"]) == (str(editor.workspace / "src/new.txt"), "write")
    assert (editor.workspace / "src/new.txt").read_text() == "one\ntwo 🐉\n"


def test_a_file_is_updated(editor: Live) -> None:
    before = {"a.txt": b"".join(b"line %d\n" % n for n in range(40))}
    changed = change(
        editor, before, updated("a.txt", " line 9", "-line 10", "+zehn", "+10", " line 11")
    )
    file = file_of(changed)
    assert (file["path"], file["action"]) == (str(editor.workspace / "a.txt"), "patch")
    assert "+zehn\n" in file["diff"]
    assert b"line 9\nzehn\n10\nline 11" in (editor.workspace / "a.txt").read_bytes()


def test_a_file_is_deleted(editor: Live) -> None:
    change(editor, {"a.txt": b"one\ntwo\n", "b.txt": b"stays\n"}, deleted("a.txt"))
    assert files_in(editor.workspace) == {"b.txt": b"stays\n"}


def test_a_file_is_moved_and_changed(editor: Live) -> None:
    changed = change(
        editor, {"a.txt": b"one\ntwo\n"}, updated("a.txt", " one", "-two", "+zwei", to="b/c.txt")
    )
    assert file_of(changed)["path"] == str(editor.workspace / "b/c.txt")
    assert files_in(editor.workspace) == {"b/c.txt": b"one\nzwei\n"}


def test_several_files_are_changed_at_once(editor: Live) -> None:
    before = {"a.txt": b"a\n", "b.txt": b"b\n", "c.txt": b"c\n", "stays.txt": b"s\n"}
    changed = change(
        editor,
        before,
        added("n 1/ü.txt", "new"),
        updated("a.txt", "-a", "+A"),
        deleted("b.txt"),
        updated("c.txt", "-c", "+C", to="d.txt"),
    )
    names = {Path(file["path"]).name: file["action"] for file in parts(changed, "file_ref")}
    assert names == {"ü.txt": "write", "a.txt": "patch", "b.txt": "patch", "d.txt": "patch"}


def test_a_file_without_a_last_newline_gets_one(editor: Live) -> None:
    change(editor, {"a.txt": b"one\ntwo"}, updated("a.txt", "-two", "+zwei"))
    assert files_in(editor.workspace) == {"a.txt": b"one\nzwei\n"}


def test_a_patch_through_the_shell_is_a_patch(editor: Live) -> None:
    text = patch(added("sh.txt", "from the shell"))["input"]
    editor.model.add(calls(run(f"apply_patch <<'EOF'\n{text}EOF\n")), "Done.")
    events = editor.turn("Write it")
    assert called(events, "commandExecution") == []
    (call,) = called(events, "fileChange")
    assert file_of(result(events, call))["diff"].endswith("+from the shell\n")
    assert (editor.workspace / "sh.txt").read_text() == "from the shell\n"
    editor.conforms()


def test_a_patch_that_fits_nowhere_leaves_no_trace(editor: Live) -> None:
    lay_out(editor.workspace, {"a.txt": b"one\n"})
    editor.model.add(calls(patch(updated("a.txt", "-two", "+x"))), "Sorry.")
    events = editor.turn("Change it")
    assert results(events) == []
    assert "Failed to find expected lines" in told(editor)
    assert said(events) == ["Sorry."]
    assert files_in(editor.workspace) == {"a.txt": b"one\n"}
    editor.conforms()


def test_a_patch_is_asked_for_with_its_diff_and_refused(codex: Bench) -> None:
    live = codex.session(calls(patch(added("a.txt", "one"), added("b.txt", "two"))), "As you wish.")
    live.send("Write them")
    asked = live.until("permission.requested")
    about: dict[str, Any] = asked["data"]["metadata"]
    paths = [str(live.workspace / name) for name in ("a.txt", "b.txt")]
    assert (asked["data"]["action"], about["paths"]) == ("fileChange", paths)
    depth = len(live.workspace.parts)
    after = {"a.txt": b"one\n", "b.txt": b"two\n"}
    assert git_apply(live.folder / "git", depth, {}, about["diff"]) == after
    assert files_in(live.workspace) == {}
    live.reply(asked, "reject")
    live.until("turn.ended")
    events = live.conforms()
    (call,) = called(events, "fileChange")
    assert about["item_id"] == call["item_id"]
    assert about["call_id"] == parts(call, "tool_call")[0]["call_id"]
    refused = result(events, call)
    assert (refused["status"], refused["reason"], output(refused)) == ("failed", "declined", "")
    assert not parts(refused, "file_ref")
    assert files_in(live.workspace) == {}
    assert statuses(events, "turn.diff") == []
    assert (outcome(events), said(events)) == ("completed", ["As you wish."])


def test_a_patch_outside_of_the_workspace_is_asked_for(editor: Live) -> None:
    out = editor.folder / "out.txt"
    editor.model.add(
        calls(patch(added(str(out), "one"))),
        calls(patch(added("in.txt", "in"), added("../both.txt", "out"))),
        calls(patch(added(".git/hooks/pre-commit", "#!/bin/sh"))),
        calls(patch(added("in.txt", "in"))),
        "Done.",
    )
    editor.send("Write it")
    first = editor.until("permission.requested")
    assert first["data"]["metadata"]["paths"] == [str(out)]
    editor.reply(first, "once")
    second = editor.until("permission.requested")
    assert str(editor.folder / "both.txt") in second["data"]["metadata"]["paths"]
    editor.reply(second, "reject")
    editor.reply(editor.until("permission.requested"), "reject")
    editor.until("turn.ended")
    events = editor.conforms()
    assert [given["status"] for given in results(events)] == [
        "completed", "failed", "failed", "completed"
    ]  # fmt: skip
    assert file_of(results(events)[0])["path"] == str(out)
    assert out.read_text() == "one\n"
    assert files_in(editor.workspace) == {"in.txt": b"in\n"}
    ours = [each["approver"].get("rule") for each in of_type(events, "permission.resolved")]
    assert ours == [None, None, None, "mode:acceptEdits"]
