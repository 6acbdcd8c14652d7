"""Mock agents for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dragoman.adapter import Spec

from .mock.process import Agent


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Start mock agents in an empty directory, and end them after the test."""
    agents: list[Agent] = []

    def start(native: str | None = None, fork: bool = False, model: str | None = None) -> Agent:
        spec = Spec(
            session_id="s1",
            agent="mock",
            agent_mode="build",
            directory=str(tmp_path),
            native_session_id=native,
            fork=fork,
            model=model,
        )
        agents.append(Agent(spec))
        return agents[-1]

    yield start
    for agent in agents:
        agent.stop()


@pytest.fixture
def agent(start: Callable[..., Agent]) -> Agent:
    """Give a mock agent with a new session."""
    return start()
