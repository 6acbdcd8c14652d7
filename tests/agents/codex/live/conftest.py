"""A bench with the real Codex."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.agents.codex import ADAPTER
from tests.agents.codex.live.scripts import configured
from tests.agents.live import RECORD, Bench, bench, chosen, command
from tests.daemon import Daemon, running


@pytest.fixture(scope="session", autouse=True)
def no_litter() -> None:
    """Codex's sandbox puts an empty `.git` beside our folders, and leaves it when it is killed."""
    for name in (".git", ".agents", ".codex"):
        with contextlib.suppress(OSError):
            Path(tempfile.gettempdir(), name).rmdir()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon | None]:
    """A daemon that the scenarios of a module share; None where each is recorded by itself."""
    command(ADAPTER)
    if os.environ.get(RECORD):
        yield None
        return
    with running(tmp_path_factory.mktemp("live"), env=chosen(ADAPTER)) as daemon:
        yield daemon


@pytest.fixture
def codex(shared: Daemon | None, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario: its home is its own, and so is its app server."""
    case = request.node.name.removeprefix("test_").partition("[")[0]
    with bench(ADAPTER, configured(), shared, tmp_path, case) as made:
        yield made
