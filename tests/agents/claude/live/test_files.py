"""Files that the real Claude Code reads and changes: a diff leads from before to after."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.agents.claude.live.scripts import tool
from tests.agents.live import Bench, Live, calls
from tests.agents.results import file_of, output, results
from tests.testing.story import Item, items, of_type, parts

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def change(live: Live, name: str, before: bytes | None, **how: object) -> Item:
    """Have a file changed, and prove that the diff tells how; the result."""
    path = live.workspace / name
    read = [calls(tool("Read", file_path=str(path)))]
    if before is None:
        read = []
    else:
        path.write_bytes(before)
    kind = "Write" if "content" in how else "Edit"
    live.model.add(*read, calls(tool(kind, file_path=str(path), **how)), "Done.")
    changed = results(live.turn(f"Change {name}"))[-1]
    assert changed["status"] == "completed", output(changed)
    found = file_of(changed)
    assert found["path"] == str(path)
    assert git_apply(live.folder / "git", path, before, found["diff"]) == path.read_bytes()
    return changed


def git_apply(folder: Path, path: Path, before: bytes | None, diff: str) -> bytes:
    """The file as it is after `git apply`, in a folder of its own."""
    file = folder / path.relative_to("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    if before is not None:
        file.write_bytes(before)
    command = ["git", "apply", "-p1", "--whitespace=nowarn", "-"]
    subprocess.run(command, cwd=folder, input=diff.encode(), check=True)
    return file.read_bytes()


@pytest.fixture
def editor(claude: Bench) -> Live:
    """A session that may change files without asking."""
    return claude.session(permissionMode="acceptEdits")


def test_a_new_file_is_written(editor: Live) -> None:
    written = change(editor, "src/new.txt", None, content="one\ntwo 🐉")
    assert file_of(written)["action"] == "write"
    assert (editor.workspace / "src/new.txt").read_text() == "one\ntwo 🐉"
    assert not of_type(editor.conforms(), "permission.requested")


def test_an_empty_file_is_written(editor: Live) -> None:
    change(editor, "empty file.txt", None, content="")
    assert (editor.workspace / "empty file.txt").read_bytes() == b""
    editor.conforms()


def test_a_file_is_rewritten(editor: Live) -> None:
    before = "".join(f"line {n}\n" for n in range(60)).encode()
    written = change(editor, "old.txt", before, content=before.decode().replace("e 30", "e D"))
    assert file_of(written)["action"] == "write"
    assert file_of(written)["diff"].count("\n") == 3 + 1 + 3 + 2 + 3
    editor.conforms()


def test_a_file_is_edited(editor: Live) -> None:
    edited = change(
        editor, "a.txt", b"one\ntwo\nthree\n", old_string="two\n", new_string="zwei\nzwo\n"
    )
    assert file_of(edited)["action"] == "patch"
    assert (editor.workspace / "a.txt").read_text() == "one\nzwei\nzwo\nthree\n"
    editor.conforms()


def test_every_place_is_edited(editor: Live) -> None:
    before = ("grün 🐉\n" * 3 + "-\n" * 20 + "grün\n").encode()
    change(editor, "ü 1.txt", before, old_string="grün", new_string="blau", replace_all=True)
    assert (editor.workspace / "ü 1.txt").read_text().count("blau") == 4
    editor.conforms()


def test_a_file_without_a_last_newline_is_edited(editor: Live) -> None:
    change(editor, "a.txt", b"one\ntwo", old_string="two", new_string="zwei")
    change(editor, "b.txt", b"one\ntwo", old_string="two", new_string="zwei\n")
    editor.conforms()


def test_a_deleted_line_leaves_no_gap(editor: Live) -> None:
    change(editor, "a.txt", b"one\ntwo\nthree\n", old_string="two", new_string="")
    assert (editor.workspace / "a.txt").read_text() == "one\nthree\n"
    editor.conforms()


def test_curly_quotes_and_tabs_are_kept(editor: Live) -> None:
    before = "\tsay(“hello”)\n\t\tdone\n".encode()
    change(editor, "a.txt", before, old_string='"hello"', new_string='"bye"')
    change(editor, "b.txt", before, old_string="\t\tdone", new_string="\t\tDONE")
    editor.conforms()


def test_an_edit_makes_a_file(editor: Live) -> None:
    made = change(editor, "made.txt", None, old_string="", new_string="made\n")
    assert file_of(made)["action"] == "write"
    editor.conforms()


def test_an_edit_that_fits_nowhere_fails(editor: Live) -> None:
    path = editor.workspace / "a.txt"
    path.write_text("one\n")
    editor.model.add(
        calls(tool("Read", file_path=str(path))),
        calls(tool("Edit", file_path=str(path), old_string="two", new_string="x")),
        "Sorry.",
    )
    failed = results(editor.turn("Edit"))[-1]
    assert failed["status"] == "failed"
    assert output(failed).startswith("String to replace not found in file.")
    assert not parts(failed, "file_ref")
    assert path.read_text() == "one\n"
    editor.conforms()


def test_a_file_is_read(claude: Bench) -> None:
    live = claude.session()
    (live.workspace / "a.txt").write_text("one\ntwo\n")
    live.model.add(calls(tool("Read", file_path=str(live.workspace / "a.txt"))), "Two lines.")
    (read,) = results(live.turn("Read it"))
    assert file_of(read) == {
        "type": "file_ref", "path": str(live.workspace / "a.txt"), "action": "read", "diff": None
    }  # fmt: skip
    assert "one" in output(read)
    assert not of_type(live.conforms(), "permission.requested")


def test_an_image_that_is_read_is_stored(claude: Bench) -> None:
    live = claude.session()
    (live.workspace / "p.png").write_bytes(PNG)
    live.model.add(calls(tool("Read", file_path=str(live.workspace / "p.png"))), "A pixel.")
    (read,) = results(live.turn("Look at it"))
    (image,) = parts(read, "image")
    assert image["mime"] == "image/png"
    assert Path(image["path"]).read_bytes() == PNG
    assert file_of(read)["path"] == str(live.workspace / "p.png")
    live.conforms()


def test_a_notebook_is_edited(editor: Live) -> None:
    cell = (
        '{"cell_type": "code", "id": "c1", "metadata": {}, "source": ["print(1)"], "outputs": []}'
    )
    notebook = f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}'
    path = editor.workspace / "n.ipynb"
    path.write_text(json.dumps(json.loads(notebook), indent=1))
    before = path.read_bytes()
    editor.model.add(
        calls(tool("Read", file_path=str(path))),
        calls(tool("NotebookEdit", notebook_path=str(path), cell_id="c1", new_source="print(2)")),
        "Done.",
    )
    found = file_of(results(editor.turn("Edit it"))[-1])
    assert (found["path"], found["action"]) == (str(path), "patch")
    assert git_apply(editor.folder / "git", path, before, found["diff"]) == path.read_bytes()
    assert "print(2)" in path.read_text()
    editor.conforms()


def test_a_file_is_asked_for_with_a_preview(claude: Bench) -> None:
    live = claude.session()
    path = live.workspace / "a.txt"
    live.model.add(calls(tool("Write", file_path=str(path), content="one\n")), "As you wish.")
    live.send("Write it")
    asked = live.until("permission.requested")
    about = asked["data"]["metadata"]
    assert about["paths"] == [str(path)]
    assert about["diff"].endswith("+one\n")
    assert not path.exists()
    live.reply(asked, "reject")
    live.until("turn.ended")
    (refused,) = items(live.conforms(), "tool_result")
    assert (refused["status"], refused["reason"]) == ("failed", "declined")
    assert not parts(refused, "file_ref")
    assert not path.exists()


@pytest.mark.parametrize(
    "how",
    [
        {"old_string": "line 50", "new_string": "fifty"},
        {"content": "".join(f"line {n}\n" if n != 50 else "fifty\n" for n in range(1, 100))},
    ],
    ids=["Edit", "Write"],
)
def test_a_preview_has_the_real_lines(claude: Bench, how: dict[str, object]) -> None:
    """Before, an edit stood at line 1 without context, and a Write looked like a new file."""
    live = claude.session()
    path = live.workspace / "a.txt"
    path.write_text("".join(f"line {n}\n" for n in range(1, 100)))
    kind = "Write" if "content" in how else "Edit"
    read = calls(tool("Read", file_path=str(path)))
    live.model.add(read, calls(tool(kind, file_path=str(path), **how)), "As you wish.")
    live.send("Change it")
    asked = live.until("permission.requested")
    shown = asked["data"]["metadata"]["diff"]
    assert "@@ -47,7 +47,7 @@\n line 47\n" in shown
    assert "-line 50\n+fifty\n line 51\n" in shown
    live.reply(asked, "once")
    live.until("turn.ended")
    resolved = of_type(live.conforms(), "permission.resolved")[-1]
    assert resolved["metadata"]["diff"] == shown
