"""The example of an adapter in a package of its own: installed with pip, found, used, tried out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.agents import adapters
from tests.daemon import Daemon

EXAMPLE = Path(__file__).parent.parent / "examples" / "adapter"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of a venv that has Dragoman's packages, and the example by pip."""
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = str(venv / "bin" / "python")
    (site,) = venv.glob("lib/python*/site-packages")
    ours = Path(sysconfig.get_path("purelib"))
    # What is there already, also where Dragoman itself is editable, without a download.
    (site / "parent.pth").write_text(f"import site; site.addsitedir({str(ours)!r})\n")
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index",
         "--no-deps", "--no-build-isolation", "--target", site, EXAMPLE],
        check=True,
    )  # fmt: skip
    return python


@pytest.fixture(scope="module")
def daemon(python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path_factory.mktemp("data"))
    daemon.python = (python,)
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.stop()


def test_an_adapter_of_another_package_is_in_the_list(daemon: Daemon) -> None:
    found = {agent["id"]: agent for agent in daemon.get("/agents")["agents"]}
    assert found.keys() >= {"claude", "codex", "mock", "parakeet"}
    assert found["parakeet"]["name"] == "Parakeet"


def test_it_runs_a_turn(daemon: Daemon) -> None:
    daemon.create("p", agent="parakeet")
    turn = daemon.turn("p", "hello there")
    texts = [
        part["text"]
        for event in turn
        if event["type"] == "item.completed" and event["data"]["item"]["role"] == "assistant"
        for part in event["data"]["item"]["content"]
    ]
    assert texts == ["hello there"]
    assert turn[-1]["data"]["outcome"] == "completed"


def test_it_is_what_it_declares(python: str, tmp_path: Path) -> None:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
    done = subprocess.run(
        [python, "-m", "dragoman.cli.main", "conform", "parakeet", "--json"],
        capture_output=True, text=True, env={**environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["ok"], report["unparsed"], report["share"]["vanished"]) == (True, 0, 0)


def test_a_broken_adapter_costs_only_itself(python: str, tmp_path: Path) -> None:
    """Whoever installs something broken keeps all other agents, and is told."""
    package = tmp_path / "broken-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (package / "entry_points.txt").write_text(
        "[dragoman.agents]\nbroken = nowhere:ADAPTER\nother = json:dumps\n"
        "twin = dragoman.agents.mock:ADAPTER\n"
    )
    code = (
        "from dragoman.agents import *; from dragoman import agents as a; import json; "
        "print(json.dumps([list(a.adapters()), a.load_problems()]))"
    )
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    found, problems = json.loads(done.stdout)
    assert found == sorted([*adapters(), "parakeet"])
    assert [problem.split(" ")[2] for problem in problems] == ["twin", "broken", "other"]
    assert "No module named 'nowhere'" in problems[1]
    told = subprocess.run(
        [python, "-m", "dragoman.cli.main", "doctor"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert told.returncode == 1
    assert "No module named 'nowhere'" in told.stdout
