"""Clones a repository with the person's own git: shallow, no prompts, a deadline."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from dragoman.errors import InstallFailed, InvalidRequest
from dragoman.runtime.processes import program
from dragoman.runtime.provision import directories
from dragoman.schema.mcp_skills import without_login
from dragoman.settings import child_environ

DEADLINE_S = 120.0
_GITHUB = re.compile(r"[\w-][\w.-]*/[\w.-]*[\w-]", re.ASCII)
_REF = re.compile(r"(?!.*\.\.)[\w][\w./+@#=-]*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
# The daemon may itself run inside of a repository's hook.
_OF_A_REPOSITORY = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}


def github(source: str) -> str:
    """The address of `owner/repo`. Raise InvalidRequest."""
    if not _GITHUB.fullmatch(source):
        raise InvalidRequest(
            f"a source of type github is owner/repo, and {source!r} is not; "
            "for any other address use the type git",
            field="skills",
        )
    return f"https://github.com/{source.removesuffix('.git')}.git"


def ensure_ref(ref: str | None) -> None:
    """Raise InvalidRequest for what cannot name a branch, a tag or a commit."""
    if ref is not None and not _REF.fullmatch(ref):
        raise InvalidRequest(
            f"ref must be a branch, a tag or a commit, and {ref!r} is none", field="skills"
        )


class Cloner:
    """Fetches repositories. For a thread, never for the event loop."""

    def __init__(self, mark: str, stop: Event, *, deadline_s: float = DEADLINE_S) -> None:
        self._mark = mark
        self._stop = stop
        self._deadline_s = deadline_s
        self._count = itertools.count()

    def clone(self, address: str, ref: str | None, folder: Path) -> Path:
        """Fetch a repository's files at a ref into a folder. Raise InstallFailed."""
        with contextlib.ExitStack() as failed:
            folder.mkdir(parents=True, mode=0o700)
            failed.callback(directories.remove, folder)
            self._git(address, folder, "init", "--quiet", "--template=")
            commit = self._fetch_ref(address, folder, ref)
            self._git(address, folder, "checkout", "--quiet", "--detach", commit)
            failed.pop_all()
        return folder

    def _fetch_ref(self, address: str, folder: Path, ref: str | None) -> str:
        try:
            self._fetch(address, folder, "--depth=1", "--", address, ref or "HEAD")
        except InstallFailed:
            if ref is None or not _COMMIT.fullmatch(ref):
                raise
        else:
            return "FETCH_HEAD"
        # Few servers give away a commit by its own name, and none by half of it.
        refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        self._fetch(address, folder, "--", address, *refs)
        return ref

    def _fetch(self, address: str, folder: Path, *words: str) -> None:
        quiet = ("--quiet", "--no-tags", "--no-recurse-submodules")
        self._git(address, folder, "fetch", *quiet, *words)

    def _git(self, address: str, folder: Path, *words: str) -> None:
        try:
            ended = program.run(
                ["git", "-c", "core.hooksPath=/dev/null", *words],
                environ=_environ(),
                cwd=folder,
                mark=f"{self._mark}{next(self._count)}",
                deadline_s=self._deadline_s,
                stop=self._stop,
            )
        except TimeoutError:
            raise self._failed(address, f"git took longer than {self._deadline_s:g} s") from None
        except OSError as error:
            raise self._failed(address, f"git cannot be run: {error.strerror or error}") from None
        if ended.code:
            raise self._failed(address, _last(ended.stderr.splitlines()))

    def _failed(self, address: str, why: str) -> InstallFailed:
        return InstallFailed(
            f"the skills in {without_login(address)} cannot be fetched: {without_login(why)}",
            field="skills",
        )


def _last(lines: Sequence[str]) -> str:
    """The line that says why: the first fatal one, else the last."""
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or [line for line in lines if line.strip()] or ["git does not say why"])[0]


def _environ() -> dict[str, str]:
    inherited = {
        name: value for name, value in child_environ().items() if name not in _OF_A_REPOSITORY
    }
    return {
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **inherited,
        # Nobody is there to be asked; an empty GIT_ASKPASS turns every other helper off, too.
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "LC_ALL": "C",
        "PATH": inherited.get("PATH", os.defpath),
    }
