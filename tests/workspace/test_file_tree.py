"""What a look at files finds to have happened."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from dragoman.workspace.file_tree import FileTree, PathChange
from tests.workspace.trees import write


def seen(tree: FileTree, changes: list[PathChange]) -> list[tuple[str, str]]:
    root = f"{tree.directory}/"
    return sorted((change.type, change.path.removeprefix(root)) for change in changes)


def test_what_is_there_at_the_first_look_is_no_news_later(tmp_path: Path) -> None:
    write(tmp_path, {"a": "1", "sub/b": "2", ".git/x": "3", "node_modules/y": "4"})
    tree = FileTree(str(tmp_path))
    tree.scan()
    assert tree.file_count == 2
    assert tree.scan() == []


def test_a_file_is_made_changed_and_deleted(tmp_path: Path) -> None:
    tree = FileTree(str(tmp_path))
    tree.scan()
    path = tmp_path / "a"
    path.write_text("1")
    assert seen(tree, tree.look([str(path)])) == [("create", "a")]
    assert tree.look([str(path)]) == []
    path.write_text("22")
    assert seen(tree, tree.look([str(path)])) == [("change", "a")]
    path.unlink()
    assert seen(tree, tree.look([str(path)])) == [("delete", "a")]


def test_an_editor_that_writes_by_rename_has_changed_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"a": "1"})
    tree = FileTree(str(tmp_path))
    tree.scan()
    (tmp_path / ".a.swap").write_text("2")
    (tmp_path / ".a.swap").replace(tmp_path / "a")
    assert seen(tree, tree.look([f"{tmp_path}/.a.swap", f"{tmp_path}/a"])) == [("change", "a")]


def test_a_renamed_folder_is_all_its_files(tmp_path: Path) -> None:
    write(tmp_path, {"old/a": "1", "old/deep/b": "2"})
    tree = FileTree(str(tmp_path))
    tree.scan()
    (tmp_path / "old").rename(tmp_path / "new")
    assert seen(tree, tree.look([f"{tmp_path}/old", f"{tmp_path}/new"])) == [
        ("create", "new/a"), ("create", "new/deep/b"),
        ("delete", "old/a"), ("delete", "old/deep/b"),
    ]  # fmt: skip


def test_a_file_in_place_of_a_folder_and_back(tmp_path: Path) -> None:
    write(tmp_path, {"x/a": "1"})
    tree = FileTree(str(tmp_path))
    tree.scan()
    shutil.rmtree(tmp_path / "x")
    (tmp_path / "x").write_text("file")
    assert seen(tree, tree.look([f"{tmp_path}/x"])) == [("create", "x"), ("delete", "x/a")]
    (tmp_path / "x").unlink()
    write(tmp_path, {"x/b": "2"})
    assert seen(tree, tree.look([f"{tmp_path}/x"])) == [("create", "x/b"), ("delete", "x")]


def test_links_are_entries_and_lead_nowhere(tmp_path: Path) -> None:
    write(tmp_path, {"outside/a": "1"})
    work = tmp_path / "work"
    work.mkdir()
    tree = FileTree(str(work))
    tree.scan()
    (work / "link").symlink_to(tmp_path / "outside")
    (work / "loop").symlink_to(work)
    assert seen(tree, tree.scan()) == [("create", "link"), ("create", "loop")]
    assert list(tree.folders) == [str(work)]


def test_a_directory_that_is_gone_and_made_again(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, {"a": "1", "sub/b": "2"})
    tree = FileTree(str(work))
    tree.scan()
    shutil.rmtree(work)
    assert seen(tree, tree.look([str(work)])) == [("delete", "a"), ("delete", "sub/b")]
    write(work, {"c": "3"})
    assert seen(tree, tree.look([str(work)])) == [("create", "c")]


NAMES = st.sampled_from(["a", "b", "x/a", "x/y/b", "x/y"])


class AnyStory(RuleBasedStateMachine):
    """Whatever happens to files, what is found adds up to what is on the disk."""

    @initialize(folder=st.just(None))
    def begin(self, folder: None) -> None:
        self.folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"story-{os.getpid()}-{id(self)}"
        self.folder.mkdir()
        self.tree = FileTree(str(self.folder))
        self.tree.scan()
        self.files: set[str] = set()

    @rule(name=NAMES, size=st.integers(0, 9))
    def write(self, name: str, size: int) -> None:
        path = self.folder / name
        for above in reversed(path.relative_to(self.folder).parents):
            place = self.folder / above
            if place.is_file():
                place.unlink()
            place.mkdir(exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.write_text("x" * size)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        path = self.folder / name
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()

    @rule(old=NAMES, new=st.sampled_from(["c", "d"]))
    def rename(self, old: str, new: str) -> None:
        if (self.folder / old).exists() and not (self.folder / new).exists():
            (self.folder / old).rename(self.folder / new)

    @rule()
    def look(self) -> None:
        for change in self.tree.scan():
            name = change.path.removeprefix(f"{self.folder}/")
            if change.type == "create":
                assert name not in self.files
                self.files.add(name)
            elif change.type == "delete":
                self.files.remove(name)
            else:
                assert name in self.files
        on_disk = (path for path in self.folder.rglob("*") if path.is_file())
        assert self.files == {str(path.relative_to(self.folder)) for path in on_disk}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.look()
            shutil.rmtree(self.folder)


TestAnyStory = AnyStory.TestCase
TestAnyStory.settings = settings(max_examples=50, deadline=None)
