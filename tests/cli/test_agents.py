"""Agents are listed, installed and removed from the command line, with and without a daemon."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp_agent import COMMAND
from tests.cli.conftest import Terminal
from tests.client.canned import Answer, Canned
from tests.installable_agent import (
    OTHER,
    VERSION,
    InstallableAgentDaemon,
    Npm,
    executable,
    fails,
    parrot,
)

ROOT = Path(__file__).parents[2]


class AgentTerminal(Terminal):
    """A terminal on a machine whose Dragoman knows the parrot; no daemon runs."""

    MODULE = "tests.installable_agent.main"

    def __init__(self, home: Path) -> None:
        super().__init__(home, None)
        self.npm = Npm(home / "bin")
        self.agents = home / ".local/share/dragoman/agents"
        self.local = home / "local" / "parrot"
        self.environ["PATH"] = f"{self.local.parent}:{self.npm.path}"
        self.environ["PYTHONPATH"] += f"{os.pathsep}{ROOT}"
        del self.environ["DRAGOMAN_TOKEN"]

    def listed(self, *args: str) -> dict[str, Any]:
        """The parrot, as it is listed."""
        found = json.loads(self.run("agents", "list", "--json", *args).stdout)["agents"]
        return next(agent for agent in found if agent["id"] == "parrot")


@pytest.fixture
def agent_terminal(tmp_path: Path) -> AgentTerminal:
    """Nothing is installed on it."""
    return AgentTerminal(tmp_path)


@pytest.fixture
def serving(agent_terminal: AgentTerminal) -> Iterator[InstallableAgentDaemon]:
    """A daemon on the same machine, with the same data folder."""
    environ = {
        "PATH": agent_terminal.environ["PATH"],
        "DRAGOMAN_AGENTS_DIR": str(agent_terminal.agents),
    }
    daemon = InstallableAgentDaemon(agent_terminal.home / ".local/share/dragoman", env=environ)
    daemon.start()
    yield daemon
    if daemon.process is not None:
        daemon.stop()


def test_without_a_daemon_it_lists_this_machine_and_says_so(agent_terminal: AgentTerminal) -> None:
    done = agent_terminal.run("agents")
    assert "No daemon runs" in done.stderr
    row = next(row for row in done.stdout.splitlines() if row.startswith("parrot"))
    assert re.split(r" {2,}", row.strip()) == [
        "parrot", "Parrot", "package", "no", "yes", "dragoman agents install parrot",
    ]  # fmt: skip
    assert agent_terminal.run("agents", "list").stdout == done.stdout


def test_a_table_in_a_pipe_is_whole_and_has_no_trailing_spaces(
    agent_terminal: AgentTerminal, tmp_path: Path
) -> None:
    deep = tmp_path / Path(*["a-long-folder-name"] * 12)
    agent_terminal.environ["PATH"] = (
        f"{parrot(deep / 'parrot', '0.9.0').parent}:{agent_terminal.npm.path}"
    )
    rows = agent_terminal.run("agents").stdout.splitlines()
    assert any(row.endswith(str(deep / "parrot")) for row in rows)
    assert rows == [row.rstrip() for row in rows]


def test_missing_credentials_are_named_with_the_places_where_they_count(
    agent_terminal: AgentTerminal,
) -> None:
    agent_terminal.environ.pop("ANTHROPIC_API_KEY", None)
    told = agent_terminal.run("agents").stderr
    assert "Claude Code has no credentials: set ANTHROPIC_API_KEY or " in told
    assert "in the daemon's environment" in told
    assert "--env ANTHROPIC_API_KEY" in told
    agent_terminal.environ["ANTHROPIC_API_KEY"] = "key"
    assert "Claude Code has no" not in agent_terminal.run("agents").stderr


def test_what_is_built_in_is_not_installed(agent_terminal: AgentTerminal) -> None:
    assert agent_terminal.run("agents", "install", "mock").stdout == (
        "Mock is built in: there is nothing to install.\n"
    )
    told = agent_terminal.run("agents", "install", "mock", "--version", "5", code=2).stderr
    assert "Mock is built in" in told
    assert agent_terminal.npm.calls() == []


def test_a_daemon_that_was_named_must_answer(agent_terminal: AgentTerminal) -> None:
    agent_terminal.run("agents", "--url", "http://127.0.0.1:1", code=3)
    agent_terminal.run("agents", "list", "--url", "http://127.0.0.1:1", code=3)


def test_an_agent_is_installed_listed_and_removed(agent_terminal: AgentTerminal) -> None:
    done = agent_terminal.run("agents", "install", "parrot")
    assert f"Parrot {VERSION} is installed: {agent_terminal.agents}" in done.stdout
    assert "Parrot: asking npm" in done.stderr
    found = agent_terminal.listed()
    assert (found["installed"], found["version"]) == (True, VERSION)
    assert (
        agent_terminal.run("agents", "remove", "parrot").stdout == f"Parrot {VERSION} is removed.\n"
    )
    assert agent_terminal.listed()["installed"] is False


def test_the_data_folder_that_an_install_makes_is_private(agent_terminal: AgentTerminal) -> None:
    agent_terminal.run("agents", "install", "parrot")
    assert agent_terminal.agents.parent.stat().st_mode & 0o077 == 0


def test_a_version_and_a_folder_can_be_chosen(
    agent_terminal: AgentTerminal, tmp_path: Path
) -> None:
    cache = ("--cache", str(tmp_path / "cache"))
    done = agent_terminal.run("agents", "install", "parrot", "--version", OTHER, *cache, "--json")
    told = json.loads(done.stdout)
    assert (told["agent"], told["version"]) == ("parrot", OTHER)
    assert Path(told["path"]).is_relative_to(tmp_path / "cache" / "parrot" / OTHER)
    assert agent_terminal.listed(*cache)["version"] == OTHER
    assert agent_terminal.listed()["installed"] is False
    gone = agent_terminal.run("agents", "remove", "parrot", "--version", VERSION, *cache, code=1)
    assert f"Parrot {VERSION} is not installed; installed: {OTHER}" in gone.stderr
    agent_terminal.run("agents", "remove", "parrot", "--version", OTHER, *cache)


def test_a_second_install_does_nothing_and_reinstall_fetches(agent_terminal: AgentTerminal) -> None:
    for flags in ((), (), ("--reinstall",)):
        agent_terminal.run("agents", "install", "parrot", *flags)
    assert len(agent_terminal.npm.calls()) == 2


def test_what_somebody_else_installed_is_not_removed(agent_terminal: AgentTerminal) -> None:
    parrot(agent_terminal.local, "0.9.0")
    done = agent_terminal.run("agents", "remove", "parrot", code=1)
    assert f"was not installed by Dragoman: it is at {agent_terminal.local}" in done.stderr
    assert agent_terminal.local.exists()


def test_a_failure_is_one_line_without_a_traceback(agent_terminal: AgentTerminal) -> None:
    agent_terminal.npm.behave(fails("ETARGET", "notarget nothing"))
    done = agent_terminal.run("agents", "install", "parrot", "--version", "7.7.7", code=5)
    assert done.stderr.splitlines()[-1] == (
        "dragoman: npm could not fetch @birds/parrot@7.7.7: there is no such version; "
        "choose another one"
    )


def test_what_is_no_agent_and_no_version_is_wrong_usage(agent_terminal: AgentTerminal) -> None:
    for command in (("agents", "install"), ("agents", "remove"), ("conform",)):
        assert (
            "unknown agent 'nobody'; known: "
            in agent_terminal.run(*command, "nobody", code=2).stderr
        )
    told = agent_terminal.run("agents", "install", "parrot", "--version", "latest", code=2).stderr
    assert told == "dragoman: 'latest' is no version of an agent; give a full one, like 1.2.3\n"


def test_all_are_installed_and_what_cannot_be_had_is_told_in_a_line(
    agent_terminal: AgentTerminal,
) -> None:
    wanted = ("agents", "install", "--all", "--cache", "birds")
    agent_terminal.npm.behave("if 'parrot' in name: " + fails("EAI_AGAIN"))
    done = agent_terminal.run(*wanted, code=5)
    assert [line for line in done.stderr.splitlines() if "parrot cannot be had: npm could" in line]
    agent_terminal.npm.behave("")
    agent_terminal.environ["PATH"] = str(agent_terminal.home)
    done = agent_terminal.run(*wanted, code=5)
    assert "parrot cannot be had: npm is not installed; install Node.js" in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        ("parrot", "--all"),
        ("parrot", "--url", "http://127.0.0.1:1", "--version", "1.2.3"),
        ("parrot", "--url", "http://127.0.0.1:1", "--cache", "x"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(
    agent_terminal: AgentTerminal, wrong: tuple[str, ...]
) -> None:
    agent_terminal.run("agents", "install", *wrong, code=2)


def test_a_person_sees_one_line_that_lives(agent_terminal: AgentTerminal) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        agent_terminal.argv("agents", "install", "parrot"),
        env={**agent_terminal.environ, "TERM": "xterm"}, cwd=agent_terminal.home,
        stdout=subprocess.PIPE, stderr=theirs, text=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            shown += chunk
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert f"Parrot {VERSION} is installed" in out
    assert b"Parrot: " in shown
    assert b"\x1b[2K" in shown


def test_the_doctor_tells_versions_and_how_to_install(agent_terminal: AgentTerminal) -> None:
    assert "dragoman agents install parrot" in agent_terminal.run("doctor").stdout
    agent_terminal.run("agents", "install", "parrot")
    assert (
        f"✓ agent parrot: {VERSION} at {agent_terminal.agents}"
        in agent_terminal.run("doctor").stdout
    )


# --- With a daemon ---


def test_a_running_daemon_finds_what_was_installed_beside_it(
    agent_terminal: AgentTerminal, serving: InstallableAgentDaemon
) -> None:
    assert agent_terminal.listed()["installed"] is False
    agent_terminal.run("agents", "install", "parrot")
    found = agent_terminal.listed()
    assert (found["installed"], found["version"]) == (True, VERSION)
    serving.create("bird", agent="parrot")
    assert serving.turn("bird", "echo hi")[-1]["data"]["outcome"] == "completed"
    assert len(agent_terminal.npm.calls()) == 1


def test_a_daemon_that_is_named_installs_by_itself(
    agent_terminal: AgentTerminal, serving: InstallableAgentDaemon
) -> None:
    url = f"http://127.0.0.1:{serving.port}"
    assert agent_terminal.run("agents", "install", "parrot", "--url", url).stdout == (
        "parrot is installed.\n"
    )
    assert agent_terminal.listed("--url", url)["version"] == VERSION
    agent_terminal.npm.behave(fails("ENOSPC"))
    done = agent_terminal.run("agents", "install", "parrot", "--reinstall", "--url", url, code=5)
    assert "no space is left" in done.stderr


def test_a_message_that_has_to_wait_for_an_installation_says_so(
    agent_terminal: AgentTerminal, serving: InstallableAgentDaemon
) -> None:
    gate = agent_terminal.home / "gate"
    os.mkfifo(gate)
    agent_terminal.npm.behave(f"open({str(gate)!r}).read()")
    with subprocess.Popen(
        agent_terminal.argv("send", "bird", "echo hi", "--agent", "parrot"),
        env=agent_terminal.environ, cwd=agent_terminal.home, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert re.fullmatch(r"installing Parrot… \d+ s\n", process.stderr.readline())
        gate.write_text("go on")
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.startswith("hi\n")


def test_beside_a_daemon_its_folder_counts_whatever_else_is_set(
    agent_terminal: AgentTerminal, serving: InstallableAgentDaemon
) -> None:
    agent_terminal.environ["DRAGOMAN_AGENTS_DIR"] = str(agent_terminal.home / "elsewhere")
    done = agent_terminal.run("agents", "install", "parrot")
    assert f"Parrot {VERSION} is installed: {agent_terminal.agents}" in done.stdout
    assert agent_terminal.listed()["installed"] is True
    there = f"✓ agent parrot: {VERSION} at {agent_terminal.agents}"
    assert there in agent_terminal.run("doctor").stdout
    assert there in agent_terminal.run("doctor", "--url", "http://127.0.0.1:1").stdout
    assert (
        agent_terminal.run("agents", "remove", "parrot").stdout == f"Parrot {VERSION} is removed.\n"
    )
    assert agent_terminal.listed()["installed"] is False


def test_a_daemon_that_was_killed_has_no_folder_any_more(
    agent_terminal: AgentTerminal, serving: InstallableAgentDaemon
) -> None:
    elsewhere = agent_terminal.home / "elsewhere"
    agent_terminal.environ["DRAGOMAN_AGENTS_DIR"] = str(elsewhere)
    serving.kill()
    assert (serving.data_dir / "daemon.json").exists()
    done = agent_terminal.run("agents", "install", "parrot")
    assert f"Parrot {VERSION} is installed: {elsewhere}" in done.stdout


def test_the_request_is_the_one_that_the_contract_names(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("POST", "/v1/agents/claude/install", Answer(204))
    terminal.run("agents", "install", "claude", "--reinstall", "--url", daemon.url)
    (seen,) = daemon.seen
    assert seen.json() == {"reinstall": True}


def test_an_executable_that_is_no_program_is_listed_without_a_version(
    agent_terminal: AgentTerminal,
) -> None:
    executable(agent_terminal.local, "no program at all")
    found = agent_terminal.listed()
    assert found["installed"] is True
    assert "version" not in found


# --- Agents that need no code ---


def test_an_agent_is_added_used_listed_and_removed(
    agent_terminal: AgentTerminal, serving: InstallableAgentDaemon
) -> None:
    added = agent_terminal.run("agents", "add", "mine", "--name", "My Own", "--", *COMMAND)
    assert added.stdout == "My Own is added: dragoman send ID --agent mine ...\n"
    row = next(
        row for row in agent_terminal.run("agents").stdout.splitlines() if row.startswith("mine")
    )
    assert re.split(r" {2,}", row.strip()) == ["mine", "My Own", "api", "yes", "yes", COMMAND[0]]
    assert "hello" in agent_terminal.run("send", "s", "--agent", "mine", "hello").stdout
    assert agent_terminal.run("agents", "remove", "mine").stdout == "mine is removed.\n"
    assert "mine" not in agent_terminal.run("agents").stdout
    told = agent_terminal.run("send", "s", "again", code=4).stderr
    assert "can be read, ended and deleted" in told


def test_what_makes_no_agent_is_told(
    agent_terminal: AgentTerminal, serving: InstallableAgentDaemon
) -> None:
    told = agent_terminal.run("agents", "add", "mock", "--", "x", code=4).stderr
    assert "there is an agent 'mock'; choose another id" in told
    added = agent_terminal.run("agents", "add", "mine", "--", "no-such-program", "--acp")
    assert "'no-such-program' was not found" in added.stderr
    assert "its command was not found" in agent_terminal.run("agents").stdout
    told = agent_terminal.run("agents", "install", "mine", code=1).stderr
    assert "there is nothing to install" in told


def test_values_of_variables_are_in_no_list(
    agent_terminal: AgentTerminal, serving: InstallableAgentDaemon
) -> None:
    agent_terminal.environ["MY_KEY"] = "4711-secret-value"
    agent_terminal.run("agents", "add", "mine", "--env", "MY_KEY", "--", *COMMAND)
    listed = agent_terminal.run("agents", "--json").stdout
    mine = next(each for each in json.loads(listed)["agents"] if each["id"] == "mine")
    assert mine["env"] == ["MY_KEY"]
    assert "4711" not in listed


def test_the_catalogue_is_listed_last_and_not_installed_with_all(
    agent_terminal: AgentTerminal,
) -> None:
    rows = agent_terminal.run("agents").stdout.splitlines()[1:]
    sources = [re.split(r" {2,}", row)[2] for row in rows]
    assert sources.index("catalogue") == len(sources) - sources.count("catalogue")
    agent_terminal.run("agents", "install", "--all", code=5)
    names = {call["argv"][-1] for call in agent_terminal.npm.calls()}
    assert not [name for name in names if "qwen" in name or "gemini" in name]
