"""What an agent does to its files: seen while it works, and as a diff when its turn ends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.agents.live import Bench, Live, calls
from tests.agents.watch import Wanted, heard
from tests.testing.story import of_type
from tests.workspace.trees import apply, contents, git, write

pytestmark = pytest.mark.needs("fileChanges", "commandExecution")

COMMAND = "echo more >> kept.txt && rm old.txt"


def file_event(change: str, path: Path) -> Wanted:
    """Something that happened to a file."""
    return lambda event: (
        event["type"] == "sandbox.file"
        and event["data"].items() >= {"type": change, "path": str(path)}.items()
    )


def dirty_repository(live: Live) -> Path:
    """A repository whose files are not all as they were committed, as a person leaves them."""
    work = live.workspace
    git(work, "init", "-q", "-b", "main")
    write(work, {"kept.txt": "first\n", "old.txt": "old\n"})
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "first")
    write(work, {"kept.txt": "changed\n", "staged.txt": "staged\n", "untracked.txt": "new\n"})
    git(work, "add", "staged.txt")
    return work


def test_files_are_told_of_while_the_turn_runs_and_their_diff_at_its_end(bench: Bench) -> None:
    # A process of its own: a shared one finds the model above the workspace, if no repository is.
    live = bench.session(permissionMode="bypass", env={"SCENARIO": "files"})
    work = dirty_repository(live)
    live.model.add(
        calls(bench.agent.write(str(work / "fresh.txt"), "one\ntwo\n")),
        calls(bench.agent.shell(COMMAND)),
        {"text": ["Almost ", "done."], "gate": "files"},
    )
    found, clone = live.folder / "found", live.folder / "clone"
    git(live.folder, "clone", "-q", str(work), str(clone))
    shutil.copytree(work, found)
    live.send("Go")
    for change, name in (("create", "fresh.txt"), ("change", "kept.txt"), ("delete", "old.txt")):
        heard(live, file_event(change, work / name))
    assert not of_type(live.events(), "turn.ended")
    live.model.open("files")
    ended = live.until("turn.ended")
    (whole,) = of_type(live.events(), "file.changed")
    (of_turn,) = of_type(live.events(), "turn.diff")
    apply(clone, whole["diff"])
    apply(found, of_turn["diff"])
    assert contents(clone) == contents(found) == contents(work)
    assert of_turn["turn_id"] == ended["data"]["turn_id"]
    live.conforms()
