"""Skills for a session: where they are looked for, what is laid out, and what is refused."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import msgspec
import pytest

from dragoman.errors import InstallFailed, InvalidRequest
from dragoman.runtime.provision import directories, git_clone
from dragoman.runtime.provision.git_clone import Cloner
from dragoman.runtime.provision.skills import SkillLibrary
from dragoman.schema.http import SkillSource
from tests.installable_agent import executable

_marks = itertools.count()
SAFE = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def skill(folder: Path, text: str = "Say hi.") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: D.\n---\n{text}\n")
    return folder


def git(folder: Path, *words: str) -> str:
    run = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **SAFE}, check=True, capture_output=True
    )
    return run.stdout.decode().strip()


def commit(folder: Path) -> str:
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "More")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two skills, whose second version has a third."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    skill(folder / "skills" / "one")
    skill(folder / "skills" / "two")
    commit(folder)
    git(folder, "tag", "v1")
    skill(folder / "skills" / "three")
    commit(folder)
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), str(bare))
    return bare


def source(where: Path | str, type: str = "local", **more: object) -> SkillSource:
    return msgspec.convert({"type": type, "source": str(where), **more}, SkillSource)


def made(data_dir: Path) -> SkillLibrary:
    return SkillLibrary(data_dir, f"skills-{os.getpid()}-{next(_marks)}", Event())


async def give(skills: SkillLibrary, sources: Sequence[SkillSource], directory: Path) -> None:
    async with skills.prepared(sources, str(directory)) as prepared:
        await skills.keep(prepared, "s1")


def given(data_dir: Path, *sources: SkillSource, directory: Path | None = None) -> dict[str, Path]:
    """The skills of a session that was given these sources."""
    asyncio.run(give(made(data_dir), sources, directory or data_dir))
    folder = data_dir / "skills" / "s1" / "session" / "skills"
    return {each.name: each for each in sorted(folder.iterdir())}


def refused(data_dir: Path, *sources: SkillSource) -> str:
    with pytest.raises(InvalidRequest) as error:
        given(data_dir, *sources)
    assert error.value.details == {"field": "skills"}
    assert not (data_dir / "skills").exists()
    assert list((data_dir / "skill-sources").glob("prepared-*")) == []
    return str(error.value)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


# --- Local ---


@pytest.mark.parametrize("place", [".", "skills", ".claude/skills"])
def test_skills_are_found_where_sources_keep_them(
    place: str, tmp_path: Path, data_dir: Path
) -> None:
    skill(tmp_path / "source" / place / "one")
    skill(tmp_path / "source" / place / "two", "Say hello.")
    (tmp_path / "source" / place / "two" / "scripts").mkdir()
    executable(tmp_path / "source" / place / "two" / "scripts" / "run", "#!/bin/sh\n")
    (tmp_path / "source" / place / "no-skill").mkdir()
    found = given(data_dir, source(tmp_path / "source"))
    assert list(found) == ["one", "two"]
    assert "Say hello." in (found["two"] / "SKILL.md").read_text()
    assert os.access(found["two"] / "scripts" / "run", os.X_OK)


def test_a_folder_may_itself_be_a_skill(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "greet")
    assert list(given(data_dir, source(tmp_path / "greet"))) == ["greet"]


def test_only_the_named_ones_are_given(tmp_path: Path, data_dir: Path) -> None:
    for name in ("one", "two", "three"):
        skill(tmp_path / "source" / name)
    found = given(data_dir, source(tmp_path / "source", skills=["three", "one"]))
    assert list(found) == ["one", "three"]


def test_a_subpath_leads_below(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "source" / "a" / "b" / "deep")
    assert list(given(data_dir, source(tmp_path / "source", subpath="a/b"))) == ["deep"]
    assert list(given(data_dir, source(tmp_path / "source", subpath="a/b/deep"))) == ["deep"]


def test_a_relative_source_is_one_of_the_sessions_directory(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "work" / "mine" / "one")
    assert list(given(data_dir, source("mine"), directory=tmp_path / "work")) == ["one"]


def test_several_sources_come_together(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "a" / "one")
    skill(tmp_path / "b" / "two")
    assert list(given(data_dir, source(tmp_path / "a"), source(tmp_path / "b"))) == ["one", "two"]


def test_nothing_is_written_into_a_source(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "source" / "one")
    before = sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "source").rglob("*"))
    found = given(data_dir, source(tmp_path / "source"))
    (found["one"] / "SKILL.md").write_text("changed")
    after = sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "source").rglob("*"))
    assert before == after


def test_a_link_becomes_what_it_leads_to(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "elsewhere" / "one")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "one").symlink_to(tmp_path / "elsewhere" / "one")
    found = given(data_dir, source(tmp_path / "source"))
    assert not found["one"].is_symlink()
    assert (found["one"] / "SKILL.md").is_file()


def test_a_link_that_leads_back_is_left_out(tmp_path: Path, data_dir: Path) -> None:
    folder = skill(tmp_path / "source" / "one")
    (folder / "again").symlink_to(folder)
    (folder / "up").symlink_to("../..")
    found = given(data_dir, source(tmp_path / "source"))
    assert [each.name for each in found["one"].iterdir()] == ["SKILL.md"]


def test_what_is_neither_file_nor_folder_is_left_out(tmp_path: Path, data_dir: Path) -> None:
    folder = skill(tmp_path / "source" / "one")
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("nowhere")
    found = given(data_dir, source(tmp_path / "source"))
    assert [each.name for each in found["one"].iterdir()] == ["SKILL.md"]


# --- What is the caller's mistake ---


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, data_dir: Path) -> None:
    assert "there is no folder" in refused(data_dir, source(tmp_path / "gone"))
    assert "there is no folder" in refused(data_dir, source(tmp_path, subpath="gone"))


def test_a_folder_without_a_skill_is_refused(tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "source" / "empty").mkdir(parents=True)
    assert "NAME/SKILL.md" in refused(data_dir, source(tmp_path / "source"))


def test_a_missing_skill_is_named_with_those_that_are_there(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "source" / "one")
    message = refused(data_dir, source(tmp_path / "source", skills=["one", "gone"]))
    assert "no skill 'gone'" in message
    assert "known: one" in message


@pytest.mark.parametrize("subpath", ["..", "a/../..", "/etc"])
def test_a_subpath_that_leads_out_is_refused(subpath: str, tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "source").mkdir()
    assert "must lead into" in refused(data_dir, source(tmp_path / "source", subpath=subpath))


def test_a_skill_that_two_sources_have_is_refused(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "a" / "one")
    skill(tmp_path / "b" / "one")
    message = refused(data_dir, source(tmp_path / "a"), source(tmp_path / "b"))
    assert "two sources have a skill 'one'" in message


def test_a_skill_that_is_too_large_is_refused(tmp_path: Path, data_dir: Path) -> None:
    folder = skill(tmp_path / "source" / "one")
    with (folder / "huge").open("wb") as huge:
        huge.truncate(directories.MAX_BYTES + 1)
    assert "too much" in refused(data_dir, source(tmp_path / "source"))


@pytest.mark.parametrize(
    "wrong",
    [
        source(""),
        source("a\0b"),
        source("a", "git", ref="-x"),
        source("a", "git", ref="a:b"),
        source("a", "git", ref="a..b"),
        source("a", "git", ref="a\0"),
        source("only-a-name", "github"),
        source("https://example.org/a/b", "github"),
        source("../a", "github"),
        source("a/..", "github"),
    ],
    ids=repr,
)
def test_what_can_name_nothing_is_refused(wrong: SkillSource, data_dir: Path) -> None:
    refused(data_dir, wrong)


# --- Git ---


def test_a_repository_is_fetched_at_its_head(repository: Path, data_dir: Path) -> None:
    found = given(data_dir, source(repository, "git"))
    assert list(found) == ["one", "three", "two"]


@pytest.mark.parametrize("form", ["tag", "branch", "commit", "short commit"])
def test_a_ref_is_a_branch_a_tag_or_a_commit(form: str, repository: Path, data_dir: Path) -> None:
    first = git(repository, "rev-parse", "v1^{commit}")
    git(repository, "branch", "old", "v1")
    ref = {"tag": "v1", "branch": "old", "commit": first, "short commit": first[:9]}[form]
    assert list(given(data_dir, source(repository, "git", ref=ref))) == ["one", "two"]


def test_a_repository_that_is_itself_a_skill_gives_it_its_name(
    tmp_path: Path, data_dir: Path
) -> None:
    folder = skill(tmp_path / "greeting.git")
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    found = given(data_dir, source(folder, "git"))
    assert list(found) == ["greeting"]
    assert [each.name for each in found["greeting"].iterdir()] == ["SKILL.md"]


def test_a_repository_is_fetched_once_while_the_daemon_runs(
    repository: Path, data_dir: Path
) -> None:
    address = f"file://{repository}"

    async def talk() -> None:
        skills = made(data_dir)
        both = [give(skills, [source(address, "git")], data_dir) for _ in range(2)]
        await asyncio.gather(*both)
        os.rename(repository, repository.with_name("gone"))
        await give(skills, [source(address, "git")], data_dir)

    asyncio.run(talk())
    assert len(list((data_dir / "skill-sources").glob("clone-*"))) == 1


def test_a_repository_that_cannot_be_had_is_our_failure_and_is_tried_again(
    repository: Path, data_dir: Path
) -> None:
    moved = repository.with_name("moved.git")

    async def talk() -> None:
        skills = made(data_dir)
        with pytest.raises(InstallFailed, match=r"cannot be fetched: fatal: .*does not"):
            await give(skills, [source(moved, "git")], data_dir)
        assert list((data_dir / "skill-sources").iterdir()) == []
        os.rename(repository, moved)
        await give(skills, [source(moved, "git")], data_dir)

    asyncio.run(talk())
    assert (data_dir / "skills" / "s1").is_dir()


def test_a_ref_that_is_not_there_is_our_failure(repository: Path, data_dir: Path) -> None:
    with pytest.raises(InstallFailed, match="gone"):
        given(data_dir, source(repository, "git", ref="gone"))


def test_a_link_that_leads_out_of_a_repository_is_left_out(tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "repository"
    skill(folder / "one")
    (folder / "shared.txt").write_text("shared")
    (folder / "one" / "inside").symlink_to("../shared.txt")
    (folder / "one" / "outside").symlink_to(tmp_path / "secret")
    (folder / "two").symlink_to("/etc")
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    found = given(data_dir, source(folder, "git"))
    assert list(found) == ["one"]
    assert sorted(each.name for each in found["one"].iterdir()) == ["SKILL.md", "inside"]


def test_no_command_can_be_smuggled_in_as_an_address(tmp_path: Path, data_dir: Path) -> None:
    for address in (f"ext::touch {tmp_path}/made", f"--upload-pack=touch {tmp_path}/made"):
        with pytest.raises(InstallFailed):
            given(data_dir, source(address, "git"))
    assert not (tmp_path / "made").exists()


def test_a_password_is_not_repeated(data_dir: Path) -> None:
    with pytest.raises(InstallFailed) as failed:
        given(data_dir, source("http://me:secret@127.0.0.1:1/a.git", "git"))
    assert "http://***@127.0.0.1:1/a.git" in str(failed.value)
    assert "secret" not in str(failed.value)


def test_github_is_git_over_https() -> None:
    assert git_clone.github("owner/repo") == "https://github.com/owner/repo.git"
    assert git_clone.github("owner/repo.git") == "https://github.com/owner/repo.git"


def test_a_fetch_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    # It listens, and takes no connection: git waits for an answer.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"git://127.0.0.1:{silent.getsockname()[1]}/repository"
        cloner = Cloner(f"clone-{os.getpid()}-{next(_marks)}:", Event(), deadline_s=0.5)
        with pytest.raises(InstallFailed, match=r"took longer than 0\.5 s"):
            cloner.clone(address, None, tmp_path / "clone")
    assert not (tmp_path / "clone").exists()


# --- Keeping ---


def test_what_is_not_kept_is_gone(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "source" / "one")

    async def talk() -> None:
        with pytest.raises(RuntimeError):
            async with made(data_dir).prepared([source(tmp_path / "source")], "/"):
                raise RuntimeError

    asyncio.run(talk())
    assert list((data_dir / "skill-sources").iterdir()) == []


def test_a_session_without_skills_makes_no_folder(data_dir: Path) -> None:
    asyncio.run(give(made(data_dir), [], data_dir))
    assert not data_dir.exists()


def test_removed_and_cleared(tmp_path: Path, data_dir: Path) -> None:
    skill(tmp_path / "source" / "one")

    async def talk() -> None:
        skills = made(data_dir)
        await give(skills, [source(tmp_path / "source")], data_dir)
        await skills.remove("s1")
        await skills.clear()

    asyncio.run(talk())
    assert list(data_dir.rglob("*")) == [data_dir / "skills"]
