"""Which agents there are, and how each is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.agents import adapters
from dragoman.errors import AgentNotInstalled, UnsupportedAgent
from dragoman.runtime.agents import Agents
from dragoman.settings import AgentSettings, Settings


def agents(command: str | None = None) -> Agents:
    tables = {} if command is None else {"mock": AgentSettings(command=command)}
    return Agents(adapters(), Settings(agents=tables))


def test_an_agents_own_command_is_used_where_nothing_is_set() -> None:
    known = agents()
    assert known.command(known.adapter("mock")) == known.adapter("mock").command


def test_a_command_that_is_set_replaces_it_and_is_split_like_a_shell_does(tmp_path: Path) -> None:
    program = tmp_path / "my agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    known = agents(f"'{program}' --fast 'two words'")
    assert known.command(known.adapter("mock")) == (str(program), "--fast", "two words")
    assert known.path(known.adapter("mock")) == str(program)


def test_a_command_is_looked_for_on_the_path() -> None:
    known = agents("sh -c true")
    path, *rest = known.command(known.adapter("mock"))
    assert Path(path).is_absolute()
    assert (Path(path).name, rest) == ("sh", ["-c", "true"])


@pytest.mark.parametrize("command", ["no-such-program", "/no/such/program --flag"])
def test_a_command_that_is_not_there_says_what_would_help(command: str) -> None:
    known = agents(command)
    with pytest.raises(AgentNotInstalled, match="DRAGOMAN_MOCK_COMMAND"):
        known.command(known.adapter("mock"))
    assert known.path(known.adapter("mock")) is None


def test_a_file_that_cannot_be_run_is_no_command(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("#!/bin/sh\n")
    known = agents(str(tmp_path / "agent"))
    with pytest.raises(AgentNotInstalled):
        known.command(known.adapter("mock"))


def test_an_agent_that_nobody_knows_is_named_with_those_that_are() -> None:
    with pytest.raises(UnsupportedAgent, match="mock"):
        agents().adapter("nobody")


def test_all_agents_are_listed() -> None:
    assert "mock" in [adapter.id for adapter in agents().all()]
