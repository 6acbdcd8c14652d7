"""The repository that a directory lies in, read without running git there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_LINKS = 5


class Repository(Struct, frozen=True):
    """Somebody's git repository."""

    work_tree: Path
    git_dir: Path
    common_dir: Path
    """The same, but for a linked work tree."""

    @property
    def index(self) -> Path:
        """What is staged."""
        return self.git_dir / "index"

    @property
    def objects(self) -> Path:
        """Where its objects are."""
        return self.common_dir / "objects"

    @property
    def exclude(self) -> Path:
        """What is ignored here, and not in a file of the tree."""
        return self.common_dir / "info" / "exclude"

    def head(self) -> str | None:
        """The commit that is checked out; None: there is none yet."""
        return _resolve(self, "HEAD")


def find_repository(directory: Path) -> Repository | None:
    """The repository that a directory lies in; None: in none."""
    for folder in (directory, *directory.parents):
        git_dir = _git_dir(folder)
        if git_dir is not None:
            return Repository(folder, git_dir, _common_dir(git_dir))
    return None


def _git_dir(folder: Path) -> Path | None:
    place = folder / ".git"
    if (place / "HEAD").is_file():
        return place
    named = _read(place).removeprefix("gitdir:").strip() if place.is_file() else ""
    if not named:
        return None
    found = Path(os.path.normpath(folder / named))
    return found if (found / "HEAD").is_file() else None


def _common_dir(git_dir: Path) -> Path:
    named = _read(git_dir / "commondir").strip()
    return Path(os.path.normpath(git_dir / named)) if named else git_dir


def _resolve(repository: Repository, name: str, links: int = 0) -> str | None:
    for folder in (repository.git_dir, repository.common_dir):
        text = _read(folder / name).strip()
        if text.startswith("ref:") and links < _MOST_LINKS:
            target = text.removeprefix("ref:").strip()
            safe = target.startswith("refs/") and ".." not in target.split("/")
            return _resolve(repository, target, links + 1) if safe else None
        if _ID.fullmatch(text):
            return text
    return _packed(repository.common_dir, name)


def _packed(common_dir: Path, name: str) -> str | None:
    for line in _read(common_dir / "packed-refs").splitlines():
        found, _, ref = line.partition(" ")
        if ref == name and _ID.fullmatch(found):
            return found
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="surrogateescape")
    except OSError:
        return ""
