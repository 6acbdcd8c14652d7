"""The mock agent's converter, for its tests."""

from __future__ import annotations

import pytest

from dragoman.adapter import Spec
from dragoman.agents.mock.convert import MockConverter


@pytest.fixture
def converter() -> MockConverter:
    """Give a converter of a new session."""
    return MockConverter(
        Spec(session_id="s1", agent="mock", agent_mode="build", directory="/project")
    )
