"""`dragoman.watch`: what happens to files, live, and compared with what is on the disk."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.schema.events import SandboxFile, SandboxFileDiff
from dragoman.workspace import watcher
from dragoman.workspace.workspace import FileEvent
from tests.workspace.trees import contents, git, repository, write

DEADLINE_S = 20.0


class Watched:
    """A directory that is watched, and what was heard of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[FileEvent] = []
        self.files: set[str] = set(contents(folder))
        self._changed = asyncio.Event()

    def hear(self, event: FileEvent) -> None:
        self.events.append(event)
        if isinstance(event, SandboxFile):
            name = event.path.removeprefix(f"{self.folder}/")
            if event.change == "delete":
                self.files.discard(name)
            else:
                self.files.add(name)
        self._changed.set()

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not happened():
                self._changed.clear()
                await self._changed.wait()

    async def until_same(self) -> None:
        """What was heard adds up to what is on the disk."""
        await self.until(lambda: self.files == set(contents(self.folder)))

    def of(self, name: str) -> list[str]:
        path = str(self.folder / name)
        return [
            event.change
            for event in self.events
            if isinstance(event, SandboxFile) and event.path == path
        ]

    def diffs(self, name: str) -> list[str]:
        path = str(self.folder / name)
        return [
            event.diff
            for event in self.events
            if isinstance(event, SandboxFileDiff) and event.path == path
        ]


@asynccontextmanager
async def watching(folder: Path, **options: Any) -> AsyncIterator[Watched]:
    watched = Watched(folder)

    async def listen() -> None:
        async for event in dragoman.watch(folder, **options):
            watched.hear(event)

    task = asyncio.create_task(listen())
    probe = folder / ".probe"
    try:
        while not watched.of(".probe"):  # the watch begins when the iterator does
            probe.write_text(f"{len(watched.events)}{asyncio.get_running_loop().time()}")
            await asyncio.sleep(0.02)
        probe.unlink()
        await watched.until(lambda: watched.of(".probe")[-1] == "delete")
        watched.events.clear()
        yield watched
    finally:
        task.cancel()
        await asyncio.wait([task])


Story = Callable[[Watched], Awaitable[None]]


def play(folder: Path, story: Story, **options: Any) -> None:
    async def main() -> None:
        async with watching(folder, **options) as watched:
            await story(watched)

    asyncio.run(main())


def test_files_are_made_changed_renamed_and_deleted(tmp_path: Path) -> None:
    write(tmp_path, {"there": "1", "moved": "2", "node_modules/x": "3"})

    async def story(watched: Watched) -> None:
        write(tmp_path, {"new/deep/file": "x", "node_modules/y": "no"})
        await watched.until(lambda: watched.of("new/deep/file") == ["create"])
        write(tmp_path, {"there": "changed"})
        await watched.until(lambda: watched.of("there") == ["change"])
        (tmp_path / "moved").rename(tmp_path / "new" / "moved")
        await watched.until(lambda: watched.of("new/moved") == ["create"])
        await watched.until(lambda: watched.of("moved") == ["delete"])
        write(tmp_path, {"new/deep/file": "in a folder that was made while it was watched"})
        await watched.until(lambda: watched.of("new/deep/file") == ["create", "change"])
        shutil.rmtree(tmp_path / "new")
        await watched.until(lambda: watched.of("new/deep/file")[-1] == "delete")
        assert watched.of("node_modules/y") == []

    play(tmp_path, story)


@pytest.mark.slow
def test_ten_thousand_files_and_a_checkout(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"a": "1\n", "b": "1\n", "only/main": "x\n"})
    git(work, "checkout", "-q", "-b", "other")
    git(work, "rm", "-q", "-r", "only")
    write(work, {"a": "2\n", "only-other": "y\n"})
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "other")

    async def story(watched: Watched) -> None:
        write(work, {f"many/{number % 97}/{number}": str(number) for number in range(10_000)})
        await watched.until_same()
        git(work, "checkout", "-q", "main")
        await watched.until_same()
        await watched.until(lambda: watched.of("a") == ["change"])
        (work / "many").rename(work / "moved")
        await watched.until_same()
        shutil.rmtree(work / "moved")
        await watched.until_same()
        assert not any(isinstance(e, SandboxFile) and "/.git/" in e.path for e in watched.events)

    play(work, story)


def test_a_directory_that_is_deleted_and_made_again(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, {"a": "1"})

    async def story(watched: Watched) -> None:
        shutil.rmtree(work)
        await watched.until(lambda: watched.of("a") == ["delete"])
        write(work, {"b": "2"})
        await watched.until(lambda: watched.of("b") == ["create"])
        write(work, {"c": "3"})
        await watched.until(lambda: watched.of("c") == ["create"])
        work.rename(tmp_path / "away")
        write(work, {"d": "4"})
        await watched.until_same()
        write(work, {"e": "5"})
        await watched.until(lambda: watched.of("e") == ["create"])

    play(work, story)


def test_what_is_to_be_ignored_is(tmp_path: Path) -> None:
    repository(tmp_path, {".gitignore": "*.log\nbuild/\n"})

    async def story(watched: Watched) -> None:
        write(tmp_path, {"x.log": "1", "build/y": "2", "dist/z": "3", "a/tmp/q": "4", "tmp/r": "5"})
        write(tmp_path, {"end": "!"})
        await watched.until(lambda: watched.of("end") == ["create"])
        await watched.until(lambda: watched.of("tmp/r") == ["create"])
        assert watched.of("x.log") == watched.of("build/y") == watched.of("dist/z") == []
        assert watched.of("a/tmp/q") == []

    play(tmp_path, story, ignore=["dist", "a/tmp"], gitignore=True)


def test_diffs_of_single_files_and_nothing_of_what_git_ignores(tmp_path: Path) -> None:
    repository(tmp_path, {"a": "one\n", ".gitignore": ".env\n"})

    async def story(watched: Watched) -> None:
        write(tmp_path, {"a": "two\n", "new": "fresh\n", ".env": "SECRET=1\n"})
        await watched.until(lambda: bool(watched.diffs("a") and watched.diffs("new")))
        assert "-one\n+two\n" in watched.diffs("a")[-1]
        assert "+fresh\n" in watched.diffs("new")[-1]
        await watched.until(lambda: watched.of(".env") == ["create"])
        write(tmp_path, {"a": "one\n"})
        await watched.until(lambda: watched.diffs("a")[-1] == "")
        assert watched.diffs(".env") == []

    play(tmp_path, story, diff=True)


def test_a_link_to_everything_is_not_followed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, {"a": "1"})
    (work / "everything").symlink_to("/")

    async def story(watched: Watched) -> None:
        write(work, {"a": "22"})
        await watched.until(lambda: watched.of("a") == ["change"])

    play(work, story)


def test_where_the_system_watches_no_more_files_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watcher, "MOST_WATCHERS", 0)
    monkeypatch.setattr(watcher, "POLL_S", 0.05)

    async def story(watched: Watched) -> None:
        write(tmp_path, {"a": "1"})
        await watched.until(lambda: watched.of("a") == ["create"])

    play(tmp_path, story)
    assert "files are looked at every few seconds instead" in caplog.text


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async for _ in dragoman.watch(tmp_path / "missing"):
            pass

    with pytest.raises(NotADirectoryError, match="there is no directory"):
        asyncio.run(main())
