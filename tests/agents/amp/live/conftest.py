"""A bench with the real Amp."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.amp.live.agent import AMP
from tests.agents.live import Bench, bench
from tests.daemon import Daemon


@pytest.fixture
def amp(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(AMP, shared, request) as made:
        yield made
