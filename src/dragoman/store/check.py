"""Look a data folder over, without changing it."""

from __future__ import annotations

from pathlib import Path

from dragoman.store.repair import damage


def check(data_dir: Path) -> list[str]:
    """What is wrong with the store in this folder; empty: nothing."""
    path = data_dir / "dragoman.db"
    if not path.exists():
        return []
    problem = damage(path, thorough=True)
    return [] if problem is None else [f"{path}: {problem}"]
