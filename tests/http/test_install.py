"""Agents are installed over HTTP, and by themselves when a session needs one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.installable_agent import (
    OTHER,
    VERSION,
    InstallableAgentDaemon,
    Npm,
    executable,
    fails,
    parrot,
    waits,
)


class House:
    """A daemon that knows the parrot, and the npm that it finds."""

    def __init__(self, folder: Path) -> None:
        self.npm = Npm(folder / "bin")
        self.agents = folder / "agents"
        self.local = folder / "local" / "parrot"
        self.daemon = InstallableAgentDaemon(
            folder / "data",
            env={
                "PATH": f"{self.local.parent}:{self.npm.path}",
                "DRAGOMAN_AGENTS_DIR": str(self.agents),
                "HOME": str(folder),
            },
        )

    def listed(self) -> dict[str, Any]:
        """The parrot, as the daemon lists it."""
        found: list[dict[str, Any]] = self.daemon.get("/agents")["agents"]
        return next(agent for agent in found if agent["id"] == "parrot")

    def version_of(self, session: str) -> str | None:
        """The version that a session says it uses."""
        started = self.daemon.events(session)[0]
        version: str | None = started["data"]["metadata"]["agentVersion"]
        return version


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Nothing is installed in it."""
    house = House(tmp_path)
    house.daemon.start()
    yield house
    if house.daemon.process is not None:
        house.daemon.stop()


def test_an_agent_is_installed_and_then_listed(house: House) -> None:
    before = house.listed()
    assert before["installed"] is False
    assert "version" not in before
    reply = house.daemon.request("POST", "/agents/parrot/install")
    assert (reply.status, reply.body) == (204, b"")
    after = house.listed()
    assert (after["installed"], after["version"]) == (True, VERSION)
    assert Path(after["path"]).is_relative_to(house.agents)


@pytest.mark.parametrize("body", [{}, {"reinstall": None}, {"reinstall": False}, None])
def test_installing_again_fetches_only_what_is_to_be_reinstalled(
    house: House, body: dict[str, Any] | None
) -> None:
    for _ in range(2):
        assert house.daemon.request("POST", "/agents/parrot/install", body).status == 204
    assert len(house.npm.calls()) == 1
    again = house.daemon.request("POST", "/agents/parrot/install", {"reinstall": True})
    assert again.status == 204
    assert len(house.npm.calls()) == 2


def test_what_is_built_in_is_installed(house: House) -> None:
    assert house.daemon.request("POST", "/agents/mock/install").status == 204
    assert house.npm.calls() == []


def test_an_unknown_agent_and_a_wrong_body_are_400(house: House) -> None:
    unknown = house.daemon.request("POST", "/agents/nobody/install")
    assert (unknown.status, unknown.json["title"]) == (400, "Unsupported Agent")
    wrong = house.daemon.request("POST", "/agents/parrot/install", {"reinstall": "yes"})
    assert (wrong.status, wrong.json["details"]["field"]) == (400, "reinstall")


def test_a_failed_install_says_why(house: House) -> None:
    house.npm.behave(fails("ENOSPC"))
    reply = house.daemon.request("POST", "/agents/parrot/install")
    assert (reply.status, reply.json["title"]) == (500, "Install Failed")
    assert "no space is left" in reply.json["detail"]
    assert reply.json["agent"] == "parrot"


def test_a_session_installs_its_agent_and_talks_to_it(house: House) -> None:
    house.daemon.create("first", agent="parrot")
    assert house.version_of("first") == VERSION
    turn = house.daemon.turn("first", "echo hello")
    assert turn[-1]["data"]["outcome"] == "completed"


def test_sessions_that_begin_together_wait_for_one_install(house: House) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [pool.submit(house.daemon.create, f"s{n}", agent="parrot") for n in range(8)]
        for future in made:
            future.result()
    assert len(house.npm.calls()) == 1


def test_a_session_has_the_version_that_it_asks_for_also_after_a_restart(house: House) -> None:
    house.daemon.request("POST", "/agents/parrot/install")
    house.daemon.create("other", agent="parrot", agentVersion=OTHER)
    house.daemon.create("usual", agent="parrot")
    assert (house.version_of("other"), house.version_of("usual")) == (OTHER, VERSION)
    house.daemon.stop()
    marker = house.agents.parent / "ran"
    found = next((house.agents / "parrot" / OTHER).rglob("bin/parrot"))
    executable(found, found.read_text().replace("exec ", f"touch {marker}; exec "))
    house.daemon.start()
    assert house.daemon.turn("other", "echo hi")[-1]["data"]["outcome"] == "completed"
    assert marker.exists()


def test_an_agent_that_cannot_even_be_tried_to_install_is_404(tmp_path: Path) -> None:
    folders = {"PATH": str(tmp_path), "HOME": str(tmp_path), "DRAGOMAN_AGENTS_DIR": str(tmp_path)}
    bare = InstallableAgentDaemon(tmp_path / "data", env=folders)
    bare.start()
    try:
        reply = bare.request("POST", "/sessions/none", {"agent": "parrot"})
        asked = bare.request("POST", "/agents/parrot/install")
    finally:
        bare.stop()
    assert (reply.status, reply.json["title"]) == (404, "Agent Not Installed")
    assert reply.json["agent"] == "parrot"
    assert "npm is not installed; install Node.js 20 or later, or set " in reply.json["detail"]
    assert (asked.status, asked.json["title"]) == (500, "Install Failed")
    assert "npm is not installed" in asked.json["detail"]


def test_a_session_whose_agent_cannot_be_fetched_is_500(house: House) -> None:
    house.npm.behave("integrity = 'sha512-of-something-else'")
    reply = house.daemon.request("POST", "/sessions/none", {"agent": "parrot"})
    assert (reply.status, reply.json["title"]) == (500, "Install Failed")


def test_an_unknown_version_is_404_and_what_is_no_version_400(house: House) -> None:
    house.npm.behave(fails("ETARGET"))
    wanted = {"agent": "parrot", "agentVersion": "7.7.7"}
    reply = house.daemon.request("POST", "/sessions/none", wanted)
    assert (reply.status, reply.json["title"]) == (404, "Agent Not Installed")
    assert "@birds/parrot@7.7.7: there is no such version" in reply.json["detail"]
    odd = house.daemon.request("POST", "/sessions/none", {**wanted, "agentVersion": "latest"})
    assert (odd.status, odd.json["details"]["field"]) == (400, "agentVersion")
    assert house.daemon.request("GET", "/sessions/none").status == 404


def test_an_agent_on_the_path_is_used_and_its_version_told(house: House) -> None:
    parrot(house.local, "0.9.0")
    assert house.listed()["version"] == "0.9.0"
    house.daemon.create("local", agent="parrot")
    assert house.version_of("local") == "0.9.0"
    assert house.npm.calls() == []


def test_a_program_that_hangs_does_not_hold_up_the_list(house: House) -> None:
    executable(house.local, "#!/bin/sh\nexec sleep 1000\n")
    began = time.monotonic()
    listed = house.listed()
    assert time.monotonic() - began < 5
    assert (listed["installed"], listed["path"]) == (True, str(house.local))
    assert "version" not in listed


def test_the_daemon_stops_in_the_middle_of_an_install(house: House, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    house.npm.behave(waits(fifo))
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(house.daemon.request, "POST", "/agents/parrot/install")
        npm = Path("/proc", fifo.read_text())
        began = time.monotonic()
        assert house.daemon.stop() == 0
        assert time.monotonic() - began < 10
        assert reply.result().status == 503
    assert not npm.exists()
    assert set(os.listdir(house.agents / "parrot")) == {".lock"}
