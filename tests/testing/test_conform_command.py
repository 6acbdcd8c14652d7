"""`dragoman conform`, as a person runs it, with the mock agent."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

DEADLINE_S = 60

CHANGED = """
import json, os, subprocess, sys
agent = [sys.executable, "-P", "-m", "dragoman.testing.mock.agent", *sys.argv[1:]]
running = subprocess.Popen(agent, stdout=subprocess.PIPE)
for line in running.stdout:
    {change}
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.exit(running.wait())
"""
"""The mock agent, after its vendor has changed something."""


class Shell:
    """Runs the command with a home, and a folder for temporary files, of its own."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
        self.environ = {**kept, "HOME": str(folder), "TMPDIR": str(self.temporary)}

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "dragoman.cli.main", "conform", *args],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str, code: int = 0) -> tuple[str, str]:
        """What it prints, and what it says meanwhile."""
        process = self.start(*args)
        said, errors = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == code, said + errors
        return said, errors


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def changed(folder: Path, change: str) -> str:
    """A command that starts a changed agent."""
    script = folder / "changed.py"
    script.write_text(CHANGED.format(change=change))
    return shlex.join([sys.executable, "-P", str(script)])


def row(said: str, probe: str) -> list[str]:
    (found,) = [line.split() for line in said.splitlines() if line.startswith(f"{probe} ")]
    return found


def test_the_mock_agent_is_what_it_declares(shell: Shell) -> None:
    said, errors = shell.run("mock")
    assert row(said, "text") == ["text", "textMessages", "native,", "shown", "yes"]
    assert row(said, "steer") == ["steer", "steer", "no", "no"]
    assert "DRIFT" not in said
    assert "0 vanished\n0 unparsed\n0 rules broken\n" in said
    assert ": no drift (28 probes" in said
    assert "28 probes\n" in errors
    assert list(shell.temporary.iterdir()) == []


def test_a_feature_that_is_gone_is_drift(shell: Shell, tmp_path: Path) -> None:
    thoughtless = changed(tmp_path, "if b'\"reasoning\"' in line: continue")
    said, errors = shell.run(
        "mock", "--command", thoughtless, "--only", "text", "--only", "reasoning", code=1
    )
    assert row(said, "text")[-1] == "yes"
    assert row(said, "reasoning")[-2:] == ["no", "DRIFT"]
    assert "DRIFT reasoning:\n  expected a reasoning item with the thought\n  seen     ''\n" in said
    assert "1 of 2 probes drift" in said
    assert "reasoning  no" in errors
    (kept,) = shell.temporary.iterdir()
    assert f"{kept}/PROBE/" in said
    assert (kept / "reasoning" / "transcript.jsonl").exists()
    assert not (kept / "text").exists()


def test_a_message_of_a_new_type_is_no_success(shell: Shell, tmp_path: Path) -> None:
    news = "sys.stdout.buffer.write(b'{\"type\":\"news\"}\\n') if b'begin_turn' in line else None"
    said, _ = shell.run(
        "mock", "--command", changed(tmp_path, news), "--only", "text", "--json", code=1
    )
    report = json.loads(said)
    assert (report["ok"], report["unparsed"], report["share"]["vanished"]) == (False, 1, 0)
    assert [found["verdict"] for found in report["rows"]] == ["as declared"]


def test_an_agent_that_does_not_start_fails_every_probe(shell: Shell) -> None:
    broken = shlex.join([sys.executable, "-c", "raise SystemExit(3)"])
    said, _ = shell.run("mock", "--command", broken, "--only", "text", code=1)
    assert row(said, "text")[-2:] == ["no", "DRIFT"]


def test_nothing_of_the_persons_environment_reaches_the_agent(shell: Shell, tmp_path: Path) -> None:
    told = tmp_path / "environ"
    spy = changed(tmp_path, f"open({str(told)!r}, 'w').write(json.dumps(dict(os.environ)))")
    shell.environ["ANTHROPIC_API_KEY"] = "secret"
    shell.run("mock", "--command", spy, "--only", "text")
    environ = json.loads(told.read_text())
    assert "secret" not in environ.values()
    assert environ["HOME"] != str(tmp_path)


def test_whoever_ends_it_leaves_nothing_behind(shell: Shell) -> None:
    process = shell.start("mock")
    assert process.stderr is not None
    while "text" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 128 + signal.SIGTERM
    assert list(shell.temporary.iterdir()) == []
    assert not [pid for pid in Path("/proc").glob("[0-9]*") if names(pid, shell.temporary)]


def names(process: Path, folder: Path) -> bool:
    try:
        return str(folder).encode() in (process / "cmdline").read_bytes()
    except OSError:
        return False


def test_an_agent_that_is_not_here_is_told_how_to_get_it(shell: Shell) -> None:
    shell.environ["PATH"] = "/nowhere"
    _, errors = shell.run("claude", code=1)
    assert errors == (
        "dragoman: Claude Code is not installed. Try: dragoman agents install claude\n"
    )


def test_a_command_that_is_not_there_is_named(shell: Shell) -> None:
    _, errors = shell.run("mock", "--command", "/nowhere/agent --flag", code=1)
    assert errors == "dragoman: there is no executable '/nowhere/agent'\n"


def test_wrong_usage_is_refused_before_anything_starts(shell: Shell) -> None:
    _, errors = shell.run("mock", "--only", "levitation", code=2)
    assert "levitation" in errors
    shell.run("mock", "--version", "1", "--command", "mock", code=2)
    for command in ((), ("--command", "mock")):
        _, errors = shell.run("nope", *command, code=2)
        assert errors.startswith("dragoman: unknown agent 'nope'; known: ")
    _, errors = shell.run("mock", "--version", "9.9", code=2)
    assert "Mock is built in, and its version is " in errors
