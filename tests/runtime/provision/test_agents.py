"""Which agents there are, where each is found, and what happens where it is not."""

from __future__ import annotations

import asyncio
import os
import select
from pathlib import Path

import msgspec
import pytest

from dragoman import __version__
from dragoman.adapter import Adapter
from dragoman.agents import adapters
from dragoman.errors import (
    AgentNotInstalled,
    AgentTooOld,
    InstallFailed,
    InvalidRequest,
    StartRefused,
    UnsupportedAgent,
)
from dragoman.runtime.provision.agents import Agents, InstalledAgent
from dragoman.settings import AgentSettings, Settings
from tests.installable_agent import ADAPTER, OTHER, VERSION, Npm, executable, fails, parrot


def agents(command: str | None = None) -> Agents:
    tables = {} if command is None else {"mock": AgentSettings(command=command)}
    return Agents(adapters(), Settings(agents=tables))


def mock(known: Agents, version: str | None = None) -> InstalledAgent:
    return asyncio.run(known.ready(known.adapter("mock"), version))


def test_settings_for_an_agent_that_there_is_not_are_refused_with_those_that_there_are() -> None:
    tables = {"mokc": AgentSettings(command="x")}
    with pytest.raises(StartRefused, match=r"'mokc'; known: .*mock"):
        Agents(adapters(), Settings(agents=tables))


def test_an_agents_own_command_is_used_where_nothing_is_set() -> None:
    known = agents()
    assert mock(known).command == known.adapter("mock").command


def test_what_is_built_in_has_our_version_and_no_other() -> None:
    known = agents()
    assert mock(known).version == __version__
    for right in (None, __version__):
        known.ensure_has(known.adapter("mock"), right)
    with pytest.raises(InvalidRequest, match=f"its version is {__version__}; ask for") as refused:
        known.ensure_has(known.adapter("mock"), "1.2")
    assert refused.value.details == {"field": "agentVersion"}


def test_a_session_of_an_older_dragoman_still_gets_what_is_built_in() -> None:
    assert mock(agents(), "0.0.1").version == __version__


def test_a_command_that_is_set_may_be_of_any_version(tmp_path: Path) -> None:
    program = executable(tmp_path / "agent", "#!/bin/sh\n")
    known = agents(str(program))
    known.ensure_has(known.adapter("mock"), "1.2")
    assert mock(known, "1.2").version is None


def test_a_command_that_is_set_replaces_it_and_is_split_like_a_shell_does(tmp_path: Path) -> None:
    program = executable(tmp_path / "my agent", "#!/bin/sh\n")
    found = mock(agents(f"'{program}' --fast 'two words'"))
    assert found.command == (str(program), "--fast", "two words")
    assert found.version is None


def test_a_command_is_looked_for_on_the_path() -> None:
    path, *rest = mock(agents("sh -c true")).command
    assert Path(path).is_absolute()
    assert (Path(path).name, rest) == ("sh", ["-c", "true"])


@pytest.mark.parametrize("command", ["no-such-program", "/no/such/program --flag"])
def test_a_command_that_is_not_there_says_what_would_help(command: str) -> None:
    known = agents(command)
    with pytest.raises(AgentNotInstalled, match="DRAGOMAN_MOCK_COMMAND"):
        mock(known)
    assert known.find(known.adapter("mock")) is None


def test_a_file_that_cannot_be_run_is_no_command(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("#!/bin/sh\n")
    with pytest.raises(AgentNotInstalled):
        mock(agents(str(tmp_path / "agent")))


def test_an_agent_that_nobody_knows_is_named_with_those_that_are() -> None:
    with pytest.raises(UnsupportedAgent, match="mock"):
        agents().adapter("nobody")


def test_all_agents_are_listed() -> None:
    assert "mock" in [adapter.id for adapter in agents().all()]


# --- An agent that can be installed ---


class Machine:
    """A machine of its own: a home, a PATH, an npm, and a folder of agents."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.npm = Npm(home / "bin")
        self.local = home / "local" / "parrot"
        self.known_folder = home / ".parrot" / "bin" / "parrot"
        self.settings = Settings(data_dir=str(home / "data"))
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("PATH", f"{self.local.parent}:{self.npm.path}")

    def ready(self, version: str | None = None, command: str | None = None) -> InstalledAgent:
        return asyncio.run(self.agents(command).ready(ADAPTER, version))

    def with_version(self) -> InstalledAgent | None:
        return asyncio.run(self.agents().with_version(ADAPTER))

    def agents(self, command: str | None = None, adapter: Adapter = ADAPTER) -> Agents:
        tables = {} if command is None else {"parrot": AgentSettings(command=command)}
        settings = Settings(data_dir=self.settings.data_dir, agents=tables)
        return Agents({"parrot": adapter}, settings)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Nothing is installed on it."""
    return Machine(tmp_path, monkeypatch)


def test_what_is_nowhere_is_installed(machine: Machine) -> None:
    assert machine.with_version() is None
    found = machine.ready()
    assert (found.version, found.ours) == (VERSION, True)
    assert machine.with_version() == found
    assert machine.ready() == found
    assert len(machine.npm.calls()) == 1


def test_what_is_on_the_path_or_in_a_known_folder_is_used_as_it_is(machine: Machine) -> None:
    parrot(machine.known_folder, "0.8.0")
    found = machine.ready()
    assert found == InstalledAgent(command=(str(machine.known_folder),), version="0.8.0")
    parrot(machine.local, "0.9.0")
    assert machine.ready() == InstalledAgent(command=(str(machine.local),), version="0.9.0")
    assert machine.npm.calls() == []


def test_what_we_installed_comes_before_both(machine: Machine) -> None:
    parrot(machine.local, "9.0.0")
    machine.agents().installer.install(ADAPTER, OTHER)
    assert machine.ready().version == OTHER
    machine.agents().installer.install(ADAPTER)
    assert machine.ready().version == VERSION


def test_a_version_that_is_asked_for_is_the_one_that_is_given(machine: Machine) -> None:
    parrot(machine.local, "0.9.0")
    parrot(machine.known_folder, "0.8.0")
    machine.agents().installer.install(ADAPTER)
    assert machine.ready("0.9.0").path == str(machine.local)
    assert machine.ready("0.8.0").path == str(machine.known_folder)
    assert len(machine.npm.calls()) == 1
    found = machine.ready(OTHER)
    assert (found.version, found.ours) == (OTHER, True)
    assert len(machine.npm.calls()) == 2


def test_a_version_that_does_not_exist_says_so(machine: Machine) -> None:
    machine.npm.behave(fails("ETARGET"))
    with pytest.raises(AgentNotInstalled, match=r"'parrot' 7\.7\.7 .* there is no such version; "):
        machine.ready("7.7.7")
    with pytest.raises(InvalidRequest, match=r"like 1\.2\.3"):
        machine.ready("latest")


def test_what_cannot_even_be_tried_to_install_says_what_would_help(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ADAPTER.package is not None
    package = msgspec.structs.replace(ADAPTER.package, names={"plan9-mips": "x"})
    foreign = msgspec.structs.replace(ADAPTER, package=package)
    known = machine.agents(adapter=foreign)
    with pytest.raises(AgentNotInstalled, match=r"only for plan9-mips; install it yourself, or "):
        asyncio.run(known.ready(foreign))
    monkeypatch.setenv("PATH", str(machine.local.parent))
    with pytest.raises(AgentNotInstalled) as refused:
        machine.ready()
    assert str(refused.value) == (
        "agent 'parrot' is not installed: npm is not installed; install Node.js 20 or later, "
        "or set DRAGOMAN_PARROT_COMMAND"
    )


@pytest.mark.parametrize("why", [fails("EAI_AGAIN"), fails("EINTEGRITY"), "integrity = 'other'"])
def test_an_installation_that_was_tried_and_failed_is_told_as_that(
    machine: Machine, why: str
) -> None:
    machine.npm.behave(why)
    with pytest.raises(InstallFailed) as failed:
        machine.ready()
    assert type(failed.value) is InstallFailed


def test_a_command_that_is_set_wins_over_everything(machine: Machine) -> None:
    own = parrot(machine.local.with_name("own"), "5.5.5")
    machine.agents().installer.install(ADAPTER)
    assert machine.ready(VERSION, command=str(own)) == InstalledAgent(
        command=(str(own),), version="5.5.5"
    )
    several = machine.ready(command=f"{own} --flag")
    assert several == InstalledAgent(command=(str(own), "--flag"))


def test_a_command_that_is_set_and_too_old_says_what_to_unset(machine: Machine) -> None:
    own = parrot(machine.local.with_name("own"), "0.9.0")
    choosy = msgspec.structs.replace(ADAPTER, least_version="1.0.0")
    known = machine.agents(str(own), choosy)
    with pytest.raises(AgentTooOld) as refused:
        asyncio.run(known.ready(choosy))
    assert str(refused.value) == (
        f"Parrot 0.9.0 at {own} is too old: 1.0.0 or newer is needed; to have it: "
        "unset DRAGOMAN_PARROT_COMMAND, and dragoman agents install parrot"
    )
    assert asyncio.run(known.obtain(choosy)).version == "0.9.0"


def test_asking_many_times_at_once_installs_once(machine: Machine) -> None:
    async def many() -> list[InstalledAgent]:
        known = machine.agents()
        return await asyncio.gather(*(known.ready(ADAPTER) for _ in range(20)))

    assert len(set(asyncio.run(many()))) == 1
    assert len(machine.npm.calls()) == 1


# --- Versions ---


def counting(path: Path, then: str) -> Path:
    """A program that notes each run."""
    return executable(path, f"#!/bin/sh\necho run >> {path}.runs\n{then}\n")


def runs(path: Path) -> int:
    return len(Path(f"{path}.runs").read_text().splitlines())


def test_a_version_is_read_once_until_the_file_changes(machine: Machine) -> None:
    counting(machine.local, "echo parrot 0.9.0-beta.1.")
    known = machine.agents()
    for _ in range(3):
        found = asyncio.run(known.with_version(ADAPTER))
        assert found is not None
        assert found.version == "0.9.0-beta.1"
    assert runs(machine.local) == 1
    counting(machine.local, "echo parrot version 0.9.10")
    found = asyncio.run(known.with_version(ADAPTER))
    assert found is not None
    assert found.version == "0.9.10"
    assert runs(machine.local) == 2


@pytest.mark.parametrize(
    "then",
    ["exit 1", "echo I am a parrot", "yes", "echo Node.js v20.20.2 >&2; exit 1",
     "echo 20.20.2; kill -9 $$"],
)  # fmt: skip
def test_a_program_that_tells_no_version_is_there_all_the_same(machine: Machine, then: str) -> None:
    """Before, a number in the last words of a program that failed passed for its version."""
    counting(machine.local, then)
    assert machine.with_version() == InstalledAgent(command=(str(machine.local),))


def test_a_program_that_hangs_is_asked_once_and_not_waited_for(machine: Machine) -> None:
    pids = machine.local.with_name("pid")
    counting(machine.local, f"echo $$ > {pids}; exec sleep 1000")
    known = machine.agents()

    async def look() -> list[InstalledAgent | None]:
        async with asyncio.timeout(8):
            return [await known.with_version(ADAPTER) for _ in range(3)]

    assert asyncio.run(look()) == [InstalledAgent(command=(str(machine.local),))] * 3
    assert runs(machine.local) == 1
    watch = os.pidfd_open(int(pids.read_text()))
    known.stop()
    ended, _, _ = select.select([watch], [], [], 5)
    os.close(watch)
    assert ended
