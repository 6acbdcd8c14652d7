"""Which program live scenarios run."""

from __future__ import annotations

import pytest

from dragoman.agents.claude import ADAPTER
from tests.agents.live import chosen, command


def test_a_command_of_your_own_is_run_also_behind_an_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before, the installed program was run whatever the variable said."""
    monkeypatch.setenv("DRAGOMAN_CLAUDE_COMMAND", "node '/my agents/cli.js' --flag")
    assert command(ADAPTER) == ["node", "/my agents/cli.js", "--flag"]
    assert chosen(ADAPTER) == {"DRAGOMAN_CLAUDE_COMMAND": "node '/my agents/cli.js' --flag"}


def test_without_one_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRAGOMAN_CLAUDE_COMMAND", raising=False)
    assert chosen(ADAPTER) == {}
