"""Agents are listed, installed and removed from the command line, with and without a daemon."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Terminal
from tests.client.canned import Answer, Canned
from tests.parrot import OTHER, VERSION, Npm, ParrotDaemon, executable, fails, parrot

ROOT = Path(__file__).parents[2]


class Aviary(Terminal):
    """A terminal on a machine whose Dragoman knows the parrot; no daemon runs."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, None)
        self.npm = Npm(home / "bin")
        self.agents = home / ".local/share/dragoman/agents"
        self.local = home / "local" / "parrot"
        self.environ["PATH"] = f"{self.local.parent}:{self.npm.path}"
        self.environ["PYTHONPATH"] += f"{os.pathsep}{ROOT}"
        del self.environ["DRAGOMAN_TOKEN"]

    def argv(self, *args: str) -> list[str]:
        """The command as a list."""
        return [sys.executable, "-m", "tests.parrot.main", *args]

    def listed(self, *args: str) -> dict[str, Any]:
        """The parrot, as it is listed."""
        found = json.loads(self.run("agents", "list", "--json", *args).stdout)["agents"]
        return next(agent for agent in found if agent["id"] == "parrot")


@pytest.fixture
def aviary(tmp_path: Path) -> Aviary:
    """Nothing is installed on it."""
    return Aviary(tmp_path)


@pytest.fixture
def serving(aviary: Aviary) -> Iterator[ParrotDaemon]:
    """A daemon on the same machine, with the same data folder."""
    environ = {"PATH": aviary.environ["PATH"], "DRAGOMAN_AGENTS_DIR": str(aviary.agents)}
    daemon = ParrotDaemon(aviary.home / ".local/share/dragoman", env=environ)
    daemon.start()
    yield daemon
    if daemon.process is not None:
        daemon.stop()


def test_without_a_daemon_it_lists_this_machine_and_says_so(aviary: Aviary) -> None:
    done = aviary.run("agents")
    assert "No daemon runs" in done.stderr
    row = next(row for row in done.stdout.splitlines() if row.startswith("parrot"))
    assert re.split(r" {2,}", row.strip()) == [
        "parrot", "Parrot", "no", "yes", "dragoman agents install parrot",
    ]  # fmt: skip
    assert aviary.run("agents", "list").stdout == done.stdout


def test_a_table_in_a_pipe_is_whole_and_has_no_trailing_spaces(
    aviary: Aviary, tmp_path: Path
) -> None:
    deep = tmp_path / Path(*["a-long-folder-name"] * 12)
    aviary.environ["PATH"] = f"{parrot(deep / 'parrot', '0.9.0').parent}:{aviary.npm.path}"
    rows = aviary.run("agents").stdout.splitlines()
    assert any(row.endswith(str(deep / "parrot")) for row in rows)
    assert rows == [row.rstrip() for row in rows]


def test_missing_credentials_are_named_with_the_places_where_they_count(aviary: Aviary) -> None:
    aviary.environ.pop("ANTHROPIC_API_KEY", None)
    told = aviary.run("agents").stderr
    assert "Claude Code has no credentials: set ANTHROPIC_API_KEY or " in told
    assert "in the daemon's environment" in told
    assert "--env ANTHROPIC_API_KEY" in told
    aviary.environ["ANTHROPIC_API_KEY"] = "key"
    assert "Claude Code has no" not in aviary.run("agents").stderr


def test_what_is_built_in_is_not_installed(aviary: Aviary) -> None:
    assert aviary.run("agents", "install", "mock").stdout == (
        "Mock is built in: there is nothing to install.\n"
    )
    told = aviary.run("agents", "install", "mock", "--version", "5", code=2).stderr
    assert "Mock is built in" in told
    assert aviary.npm.calls() == []


def test_a_daemon_that_was_named_must_answer(aviary: Aviary) -> None:
    aviary.run("agents", "--url", "http://127.0.0.1:1", code=3)
    aviary.run("agents", "list", "--url", "http://127.0.0.1:1", code=3)


def test_an_agent_is_installed_listed_and_removed(aviary: Aviary) -> None:
    done = aviary.run("agents", "install", "parrot")
    assert f"Parrot {VERSION} is installed: {aviary.agents}" in done.stdout
    assert "Parrot: asking npm" in done.stderr
    found = aviary.listed()
    assert (found["installed"], found["version"]) == (True, VERSION)
    assert aviary.run("agents", "remove", "parrot").stdout == f"Parrot {VERSION} is removed.\n"
    assert aviary.listed()["installed"] is False


def test_the_data_folder_that_an_install_makes_is_private(aviary: Aviary) -> None:
    aviary.run("agents", "install", "parrot")
    assert aviary.agents.parent.stat().st_mode & 0o077 == 0


def test_a_version_and_a_folder_can_be_chosen(aviary: Aviary, tmp_path: Path) -> None:
    cache = ("--cache", str(tmp_path / "cache"))
    done = aviary.run("agents", "install", "parrot", "--version", OTHER, *cache, "--json")
    told = json.loads(done.stdout)
    assert (told["agent"], told["version"]) == ("parrot", OTHER)
    assert Path(told["path"]).is_relative_to(tmp_path / "cache" / "parrot" / OTHER)
    assert aviary.listed(*cache)["version"] == OTHER
    assert aviary.listed()["installed"] is False
    gone = aviary.run("agents", "remove", "parrot", "--version", VERSION, *cache, code=1)
    assert f"Parrot {VERSION} is not installed; installed: {OTHER}" in gone.stderr
    aviary.run("agents", "remove", "parrot", "--version", OTHER, *cache)


def test_a_second_install_does_nothing_and_reinstall_fetches(aviary: Aviary) -> None:
    for flags in ((), (), ("--reinstall",)):
        aviary.run("agents", "install", "parrot", *flags)
    assert len(aviary.npm.calls()) == 2


def test_what_somebody_else_installed_is_not_removed(aviary: Aviary) -> None:
    parrot(aviary.local, "0.9.0")
    done = aviary.run("agents", "remove", "parrot", code=1)
    assert f"was not installed by Dragoman: it is at {aviary.local}" in done.stderr
    assert aviary.local.exists()


def test_a_failure_is_one_line_without_a_traceback(aviary: Aviary) -> None:
    aviary.npm.behave(fails("ETARGET", "notarget nothing"))
    done = aviary.run("agents", "install", "parrot", "--version", "7.7.7", code=5)
    assert done.stderr.splitlines()[-1] == (
        "dragoman: npm could not fetch @birds/parrot@7.7.7: there is no such version; "
        "choose another one"
    )


def test_what_is_no_agent_and_no_version_is_wrong_usage(aviary: Aviary) -> None:
    for command in (("agents", "install"), ("agents", "remove"), ("conform",)):
        assert "unknown agent 'nobody'; known: " in aviary.run(*command, "nobody", code=2).stderr
    told = aviary.run("agents", "install", "parrot", "--version", "latest", code=2).stderr
    assert told == "dragoman: 'latest' is no version of an agent; give a full one, like 1.2.3\n"


def test_all_are_installed_and_what_cannot_be_had_is_told_in_a_line(aviary: Aviary) -> None:
    wanted = ("agents", "install", "--all", "--cache", "birds")
    aviary.npm.behave("if 'parrot' in name: " + fails("EAI_AGAIN"))
    done = aviary.run(*wanted, code=5)
    assert [line for line in done.stderr.splitlines() if "parrot cannot be had: npm could" in line]
    aviary.npm.behave("")
    aviary.environ["PATH"] = str(aviary.home)
    done = aviary.run(*wanted, code=5)
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
def test_what_does_not_go_together_is_wrong_usage(aviary: Aviary, wrong: tuple[str, ...]) -> None:
    aviary.run("agents", "install", *wrong, code=2)


def test_a_person_sees_one_line_that_lives(aviary: Aviary) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        aviary.argv("agents", "install", "parrot"),
        env={**aviary.environ, "TERM": "xterm"}, cwd=aviary.home,
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


def test_the_doctor_tells_versions_and_how_to_install(aviary: Aviary) -> None:
    assert "dragoman agents install parrot" in aviary.run("doctor").stdout
    aviary.run("agents", "install", "parrot")
    assert f"✓ agent parrot: {VERSION} at {aviary.agents}" in aviary.run("doctor").stdout


# --- With a daemon ---


def test_a_running_daemon_finds_what_was_installed_beside_it(
    aviary: Aviary, serving: ParrotDaemon
) -> None:
    assert aviary.listed()["installed"] is False
    aviary.run("agents", "install", "parrot")
    found = aviary.listed()
    assert (found["installed"], found["version"]) == (True, VERSION)
    serving.create("bird", agent="parrot")
    assert serving.turn("bird", "echo hi")[-1]["data"]["outcome"] == "completed"
    assert len(aviary.npm.calls()) == 1


def test_a_daemon_that_is_named_installs_by_itself(aviary: Aviary, serving: ParrotDaemon) -> None:
    url = f"http://127.0.0.1:{serving.port}"
    assert aviary.run("agents", "install", "parrot", "--url", url).stdout == (
        "parrot is installed.\n"
    )
    assert aviary.listed("--url", url)["version"] == VERSION
    aviary.npm.behave(fails("ENOSPC"))
    done = aviary.run("agents", "install", "parrot", "--reinstall", "--url", url, code=5)
    assert "no space is left" in done.stderr


def test_a_message_that_has_to_wait_for_an_installation_says_so(
    aviary: Aviary, serving: ParrotDaemon
) -> None:
    gate = aviary.home / "gate"
    os.mkfifo(gate)
    aviary.npm.behave(f"open({str(gate)!r}).read()")
    with subprocess.Popen(
        aviary.argv("send", "bird", "echo hi", "--agent", "parrot"),
        env=aviary.environ, cwd=aviary.home, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert re.fullmatch(r"installing Parrot… \d+ s\n", process.stderr.readline())
        gate.write_text("go on")
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.startswith("hi\n")


def test_beside_a_daemon_its_folder_counts_whatever_else_is_set(
    aviary: Aviary, serving: ParrotDaemon
) -> None:
    aviary.environ["DRAGOMAN_AGENTS_DIR"] = str(aviary.home / "elsewhere")
    done = aviary.run("agents", "install", "parrot")
    assert f"Parrot {VERSION} is installed: {aviary.agents}" in done.stdout
    assert aviary.listed()["installed"] is True
    there = f"✓ agent parrot: {VERSION} at {aviary.agents}"
    assert there in aviary.run("doctor").stdout
    assert there in aviary.run("doctor", "--url", "http://127.0.0.1:1").stdout
    assert aviary.run("agents", "remove", "parrot").stdout == f"Parrot {VERSION} is removed.\n"
    assert aviary.listed()["installed"] is False


def test_a_daemon_that_was_killed_has_no_folder_any_more(
    aviary: Aviary, serving: ParrotDaemon
) -> None:
    elsewhere = aviary.home / "elsewhere"
    aviary.environ["DRAGOMAN_AGENTS_DIR"] = str(elsewhere)
    serving.kill()
    assert (serving.data_dir / "daemon.json").exists()
    done = aviary.run("agents", "install", "parrot")
    assert f"Parrot {VERSION} is installed: {elsewhere}" in done.stdout


def test_the_request_is_the_one_that_the_contract_names(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("POST", "/v1/agents/claude/install", Answer(204))
    terminal.run("agents", "install", "claude", "--reinstall", "--url", daemon.url)
    (seen,) = daemon.seen
    assert seen.json() == {"reinstall": True}


def test_an_executable_that_is_no_program_is_listed_without_a_version(aviary: Aviary) -> None:
    executable(aviary.local, "no program at all")
    found = aviary.listed()
    assert found["installed"] is True
    assert "version" not in found
