"""Skills that tests give to sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def skill(folder: Path, description: str, words: str) -> None:
    """Write a skill that is called as its folder."""
    folder.mkdir(parents=True)
    head = f"---\nname: {folder.name}\ndescription: {description}\n---\n"
    (folder / "SKILL.md").write_text(f"{head}\n{words}\n")


def local(folder: Path, **more: Any) -> dict[str, Any]:
    """What a session is created with: the skills in a folder of this machine."""
    return {"sources": [{"type": "local", "source": str(folder), **more}]}


def tree(folder: Path) -> list[Path]:
    """All that is in a folder."""
    return sorted(folder.rglob("*"))
