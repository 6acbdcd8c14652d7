"""A canned daemon, and a client that speaks to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.client import Client, Retry
from tests.client.canned import TOKEN, Canned, serving


@pytest.fixture
def daemon() -> Iterator[Canned]:
    """A canned daemon."""
    with serving() as canned:
        yield canned


@pytest.fixture
def client(daemon: Canned, tmp_path: Path) -> Iterator[Client]:
    """A client of it that does not wait long."""
    retry = Retry(first_s=0.001, longest_s=0.002, attempts=3)
    with Client(daemon.url, TOKEN, data_dir=tmp_path, retry=retry) as client:
        yield client
