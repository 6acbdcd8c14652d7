"""Scenarios that every agent plays, as far as its capabilities say that it can.

A new agent gets them with a `LiveAgent` of its own in `AGENTS`. A scenario names what it takes,
`@pytest.mark.needs("questions")`, and is made for each agent that shows all of it, in the version
that is there; `@pytest.mark.asks_models` leaves out those that ask no models themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents import live
from tests.agents.live import Bench, Live, LiveAgent, capabilities_of
from tests.agents.live import bench as open_bench
from tests.agents.live_agents import AGENTS
from tests.daemon import Daemon


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a scenario for each agent that has what it needs."""
    if "agent" not in metafunc.fixturenames:
        return
    needs = {feature for mark in metafunc.definition.iter_markers("needs") for feature in mark.args}
    able = [each for each in AGENTS if needs <= capabilities_of(each.adapter).shown]
    if metafunc.definition.get_closest_marker("asks_models"):
        able = [each for each in able if each.asks_models]
    name = metafunc.definition.name.removeprefix("test_")
    able = [each for each in able if each.does_play(name)]
    metafunc.parametrize("agent", able, ids=lambda each: each.adapter.id, scope="session")


@pytest.fixture
def bench(
    agent: LiveAgent, shared: Daemon | None, request: pytest.FixtureRequest
) -> Iterator[Bench]:
    """A bench for one scenario."""
    with open_bench(agent, shared, request) as made:
        yield made


@pytest.fixture
def alone(agent: LiveAgent, tmp_path: Path) -> Iterator[Live]:
    """A session on a daemon of its own, which may be killed."""
    with live.alone(agent, tmp_path) as made:
        yield made
