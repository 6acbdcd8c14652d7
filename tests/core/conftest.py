"""A session without IO."""

from __future__ import annotations

import pytest

from .dialect import Write
from .stage import Stage


@pytest.fixture
def stage() -> Stage:
    """A turn in which a person's message has been shown."""
    return Stage().play(Write(echoed=False))
