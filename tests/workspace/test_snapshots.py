"""Snapshots of a directory, and patches between them that give the same tree, byte for byte."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.workspace import snapshots as module
from dragoman.workspace.git import GitError, GitTimeout
from dragoman.workspace.snapshots import Snapshots, SnapshotTooLarge
from tests.workspace.trees import apply, contents, git, repository, write

MOST = 1 << 20
TEN_LINES = "".join(f"line {number}\n" for number in range(10))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def snapshots_of(work: Path) -> Snapshots:
    return Snapshots(work, work.with_name("repository-of-ours"))


def test_every_kind_of_change_is_applied_byte_for_byte(work: Path, tmp_path: Path) -> None:
    repository(
        work, {"edited": TEN_LINES, "deleted": "gone\n", "renamed": TEN_LINES * 3, "mode": "#!\n"}
    )
    write(work, {"dirty": "not committed\n", "staged": "staged\n", "folder/untracked": "new"})
    git(work, "add", "staged")
    ours = snapshots_of(work)
    before, copy = ours.take(10), tmp_path / "copy"
    shutil.copytree(work, copy, symlinks=True)
    write(
        work, {"edited": TEN_LINES.replace("line 5", "LINE 5"), "made": "a\nb", "dirty": "other\n"}
    )
    (work / "deleted").unlink()
    (work / "renamed").rename(work / "folder" / "moved")
    (work / "mode").chmod(0o755)
    (work / "link").symlink_to("edited")
    write(work, {"näme with\ttab": "x\n", "empty": ""})
    patch = ours.diff(before, ours.take(10), most_bytes=MOST, deadline_s=10)
    apply(copy, patch.text)
    assert contents(copy) == contents(work)
    assert not patch.truncated
    assert {"renamed"} == {file.old_path for file in patch.files if file.old_path}


def test_the_head_is_found_although_everything_was_committed_since(
    work: Path, tmp_path: Path
) -> None:
    repository(work, {"a": "1\n", "b": "1\n"})
    ours = snapshots_of(work)
    head, copy = ours.head(10), tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(work), str(copy))
    write(work, {"a": "2\n", "c": "3\n"})
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "second")
    write(work, {"b": "4\n"})
    assert head is not None
    patch = ours.diff(head, ours.take(10), most_bytes=MOST, deadline_s=10)
    apply(copy, patch.text)
    assert contents(copy) == contents(work)


def test_nothing_is_written_to_the_repository_of_the_person(work: Path) -> None:
    repository(work, {"a": "1\n"})
    write(work, {"a": "2\n", "new": "x"})
    before = {path: path.read_bytes() for path in (work / ".git").rglob("*") if path.is_file()}
    ours = snapshots_of(work)
    head = ours.head(10)
    assert head is not None
    ours.diff(head, ours.take(10), most_bytes=MOST, deadline_s=10)
    assert before == {p: p.read_bytes() for p in (work / ".git").rglob("*") if p.is_file()}


def test_no_program_of_the_repository_is_run(work: Path, tmp_path: Path) -> None:
    """An agent can write its configuration; what it names would run outside of any sandbox."""
    witness = tmp_path / "witness"
    repository(work, {"a": "1\n", ".gitattributes": "* filter=evil diff=evil\n"})
    for name in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.command",
                 "diff.evil.textconv", "core.fsmonitor", "diff.external"):  # fmt: skip
        git(work, "config", name, f"touch {witness}; cat")
    hook = work / ".git" / "hooks" / "post-index-change"
    write(work, {".git/hooks/post-index-change": f"#!/bin/sh\ntouch {witness}\n"})
    hook.chmod(0o755)
    ours = snapshots_of(work)
    before = ours.take(10)
    write(work, {"a": "2\n", "b": "new\n"})
    patch = ours.diff(before, ours.take(10), most_bytes=MOST, deadline_s=10)
    assert "+2" in patch.text
    assert "+new" in patch.text
    assert not witness.exists()


def test_a_folder_without_git_has_snapshots_too(work: Path, tmp_path: Path) -> None:
    ours = snapshots_of(work)
    empty = ours.take(10)
    assert ours.head(10) is None
    write(work, {"a": "1\n", "node_modules/big": "x", "sub/b": "2\n", ".gitignore": "ignored\n"})
    write(work, {"ignored": "secret\n"})
    patch = ours.diff(empty, ours.take(10), most_bytes=MOST, deadline_s=10)
    assert sorted(file.path for file in patch.files) == [".gitignore", "a", "sub/b"]
    assert "secret" not in patch.text
    copy = tmp_path / "copy"
    copy.mkdir()
    apply(copy, patch.text)
    assert contents(copy).keys() == {".gitignore", "a", "sub/b"}


def test_a_repository_without_a_commit_is_compared_with_nothing(work: Path) -> None:
    git(work, "init", "-q")
    write(work, {"a": "1\n"})
    ours = snapshots_of(work)
    head = ours.head(10)
    assert head is not None
    assert [
        f.path for f in ours.diff(head, ours.take(10), most_bytes=MOST, deadline_s=10).files
    ] == ["a"]


def test_a_part_of_a_repository_is_a_tree_of_its_own(work: Path, tmp_path: Path) -> None:
    repository(work, {"above": "1\n", "part/inside": "1\n", ".gitignore": "*.log\n"})
    ours = snapshots_of(work / "part")
    before, head = ours.take(10), ours.head(10)
    write(work, {"above": "2\n", "part/inside": "2\n", "part/new": "3\n", "part/x.log": "ignored"})
    after = ours.take(10)
    for base in (before, head):
        assert base is not None
        patch = ours.diff(base, after, most_bytes=MOST, deadline_s=10)
        assert sorted(file.path for file in patch.files) == ["inside", "new"]
        assert "a/inside" in patch.text
    assert ours.ignored(["x.log", "new"], 10) == {"x.log"}


def test_a_linked_work_tree_is_a_repository(work: Path, tmp_path: Path) -> None:
    repository(tmp_path / "main", {"a": "1\n"})
    work.rmdir()
    git(tmp_path / "main", "worktree", "add", "-q", str(work))
    ours = snapshots_of(work)
    head = ours.head(10)
    assert head == ours.take(10)
    write(work, {"a": "2\n"})
    assert "+2" in ours.diff(head, ours.take(10), most_bytes=MOST, deadline_s=10).text


def test_repositories_inside_of_a_folder_are_looked_into(work: Path) -> None:
    repository(work / "one", {"a": "1\n", ".gitignore": "build/\n"})
    write(work, {"one/build/artifact": "x", "two/.git/HEAD": "ref: refs/heads/main\n"})
    git(work / "two", "init", "-q")
    write(work, {"two/b": "1\n"})
    ours = snapshots_of(work)
    before = ours.take(10)
    write(work, {"one/a": "2\n", "one/c": "3\n", "two/b": "2\n"})
    patch = ours.diff(before, ours.take(10), most_bytes=MOST, deadline_s=10)
    assert sorted(file.path for file in patch.files) == ["one/a", "one/c", "two/b"]


def test_binary_and_large_files_are_named_and_the_rest_can_be_applied(
    work: Path, tmp_path: Path
) -> None:
    repository(work, {"picture": b"\0\1\2", "text": "1\n", "latin": b"caf\xe9\n"})
    ours = snapshots_of(work)
    before, copy = ours.take(10), tmp_path / "copy"
    shutil.copytree(work, copy)
    write(work, {"picture": b"\0\3", "new picture": b"\0", "text": "2\n", "latin": b"th\xe9\n"})
    write(work, {"large": b"x" * (module.LARGE_BYTES + 1), "long": "y\n" * 1000})
    patch = ours.diff(before, ours.take(10), most_bytes=1024, deadline_s=10)
    assert "Binary files a/picture and b/picture differ" in patch.text
    assert "Binary files /dev/null and b/new picture differ" in patch.text
    assert "b/large differ" in patch.text
    assert "latin" in patch.text
    assert "# left out, its diff has" in patch.text
    assert patch.truncated
    apply(copy, patch.text)
    assert contents(copy)["text"] == contents(work)["text"]
    assert contents(copy)["picture"] != contents(work)["picture"]


def test_a_large_file_that_changes_is_noticed_without_reading_it(work: Path) -> None:
    write(work, {"large": b"x" * (module.LARGE_BYTES + 1)})
    ours = snapshots_of(work)
    before = ours.take(10)
    assert ours.take(10) == before
    write(work, {"large": b"y" * (module.LARGE_BYTES + 2)})
    patch = ours.diff(before, ours.take(10), most_bytes=MOST, deadline_s=10)
    assert patch.text == "Binary files a/large and b/large differ\n"


def test_more_than_a_snapshot_may_hold_is_refused(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    write(work, {str(number): "x" for number in range(4)})
    with pytest.raises(SnapshotTooLarge, match="more than 3 files"):
        snapshots_of(work).take(10)


def test_git_has_a_deadline(work: Path) -> None:
    write(work, {"a": "1"})
    with pytest.raises(GitTimeout):
        snapshots_of(work).take(0)


def test_what_cannot_be_read_is_named(work: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    write(work, {"a": "1"})
    (work / "a").chmod(0)
    assert snapshots_of(work).take(10)


def test_names_outlive_the_process(work: Path) -> None:
    write(work, {"a": "1\n"})
    ours = snapshots_of(work)
    tree = ours.take(10)
    ours.remember("sessions/x/start", tree)
    write(work, {"a": "2\n"})
    later = snapshots_of(work)
    assert later.recall("sessions/x/start") == tree
    assert later.recall("sessions/x/end") is None
    assert "+2" in later.diff(tree, later.take(10), most_bytes=MOST, deadline_s=10).text
    later.remember("sessions/x/start", None)
    assert later.recall("sessions/x/start") is None


def test_what_nobody_needs_is_removed(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LOOSE", -1)
    ours = snapshots_of(work)
    write(work, {"a": "first\n"})
    first = ours.take(10)
    write(work, {"a": "second\n"})
    second = ours.take(10)
    ours.remember("kept", second)
    write(work, {"a": "third\n"})
    third = ours.take(10)
    ours.prune(10)
    assert "+third" in ours.diff(second, third, most_bytes=MOST, deadline_s=10).text
    with pytest.raises(GitError):
        ours.diff(first, third, most_bytes=MOST, deadline_s=10)


NAMES = st.sampled_from(["a", "b", "dir/c", "dir/sub/d", "e f", "ü", "dir/e"])
CONTENTS = st.one_of(
    st.text(alphabet="ab\n\r\u2028", max_size=40), st.sampled_from(["x\n" * 30, "", "no newline"])
)
TREES = st.dictionaries(NAMES, CONTENTS, max_size=7)


@settings(max_examples=25, deadline=None)
@given(committed=TREES, found=TREES, after=TREES)
def test_any_two_trees(
    tmp_path_factory: pytest.TempPathFactory,
    committed: dict[str, str],
    found: dict[str, str],
    after: dict[str, str],
) -> None:
    folder = tmp_path_factory.mktemp("any")
    work, copy = folder / "work", folder / "copy"
    repository(work, dict(committed))
    ours = snapshots_of(work)
    replace(work, found)
    before = ours.take(10)
    shutil.copytree(work, copy)
    replace(work, after)
    patch = ours.diff(before, ours.take(10), most_bytes=MOST, deadline_s=10)
    if patch.text:
        apply(copy, patch.text)
    assert contents(copy) == contents(work)
    assert (patch.text == "") == (found == after)


def replace(folder: Path, files: dict[str, str]) -> None:
    """Make these the only files."""
    for path in folder.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    write(folder, dict(files))
