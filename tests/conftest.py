"""What all tests may use."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon import Daemon, running

# A shell's background job ignores SIGINT, and so would all that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
# What tests start are daemons by the hundred: without bytecode each compiles everything anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

THREADS_END_S = 10.0


def pytest_collection_finish() -> None:
    """Leave what was collected alone: each walk over it by the collector of garbage takes long."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def no_thread_stays() -> Iterator[None]:
    """A client that a module leaves behind would slow down all tests after it.

    Clients of tests are daemon threads; the workers of a pool, which wait, are none.
    """
    before = {*threading.enumerate()}
    yield
    deadline = time.monotonic() + THREADS_END_S
    for thread in {each for each in threading.enumerate() if each.daemon} - before:
        thread.join(max(0.0, deadline - time.monotonic()))
        assert not thread.is_alive(), f"{thread} was left behind"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that the tests of a module share; each test uses sessions of its own."""
    with running(tmp_path_factory.mktemp("daemon")) as started:
        yield started


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data folder for a daemon of one's own."""
    return tmp_path / "data"
