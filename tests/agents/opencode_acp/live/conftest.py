"""A bench with the real `opencode acp`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.live import Bench, bench
from tests.agents.opencode_acp.live.agent import OPENCODE_ACP
from tests.daemon import Daemon


@pytest.fixture
def opencode(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(OPENCODE_ACP, shared, request) as made:
        yield made
