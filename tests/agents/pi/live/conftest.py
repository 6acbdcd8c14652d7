"""A bench with the real Pi."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.live import Bench, bench
from tests.agents.pi.live.agent import PI
from tests.daemon import Daemon


@pytest.fixture
def pi(shared: Daemon | None, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A bench for one scenario."""
    with bench(PI, shared, request) as made:
        yield made
