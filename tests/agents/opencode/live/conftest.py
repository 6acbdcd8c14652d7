"""A bench with the real OpenCode."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.live import Bench, bench
from tests.agents.opencode.live.agent import OPENCODE
from tests.daemon import Daemon


@pytest.fixture
def opencode(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(OPENCODE, shared, request) as made:
        yield made
