"""A bench with the real Qwen Code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.live import Bench, bench
from tests.agents.qwen.live.agent import QWEN
from tests.daemon import Daemon


@pytest.fixture
def qwen(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(QWEN, shared, request) as made:
        yield made
