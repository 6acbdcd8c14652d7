"""A bench with the real Codex."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.codex.live.agent import CODEX
from tests.agents.live import Bench, bench
from tests.daemon import Daemon


@pytest.fixture
def codex(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario: its home is its own, and so is its app server."""
    with bench(CODEX, shared, request) as made:
        yield made
