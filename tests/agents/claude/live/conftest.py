"""A bench with the real Claude Code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.claude.live.agent import CLAUDE
from tests.agents.live import Bench, bench
from tests.daemon import Daemon


@pytest.fixture
def claude(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(CLAUDE, shared, request) as made:
        yield made
