"""Checks a data folder without changing it."""

from __future__ import annotations

from pathlib import Path

from dragoman.store.repair import wal
from dragoman.store.repair.salvage import damage
from dragoman.store.repair.swap import DATABASE, WAITING


def check(data_dir: Path) -> list[str]:
    """What is wrong with the store in this folder; empty: nothing."""
    path = data_dir / DATABASE
    if wal.is_orphaned(path):
        return [f"{path}: it is gone or empty, but its log is there"]
    if not path.exists():
        return []
    broken = wal.find_break(path)
    # A daemon may be writing: what it has half written now, it has written at a second look.
    if broken is not None and wal.find_break(path) == broken:
        return [f"{path}-wal: frame {broken.frame} is damaged"]
    problem = damage(path, thorough=True)
    return [] if problem is None else [f"{path}: {problem}"]


def kept_aside(data_dir: Path) -> list[Path]:
    """What repairs and restores have set aside: databases, with their logs, and folders."""
    return sorted([
        *data_dir.glob(f"{DATABASE}.damaged-*"),
        *data_dir.glob("before-restore-*"),
    ])  # fmt: skip


def is_waiting(data_dir: Path) -> bool:
    """Whether a backup will be put in place at the next start."""
    return (data_dir / WAITING).exists()
