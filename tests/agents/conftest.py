"""What all tests of agents share."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_litter() -> None:
    """Codex's sandbox puts an empty `.git` beside our folders, and leaves it when it is killed."""
    for name in (".git", ".agents", ".codex"):
        with contextlib.suppress(OSError):
            Path(tempfile.gettempdir(), name).rmdir()
