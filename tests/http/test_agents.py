"""Agents are added and removed while the daemon runs, and their sessions outlive them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp_agent import COMMAND
from tests.cases.common import eventually
from tests.daemon import Daemon, Reply, running
from tests.testing.story import Talk, outcome, said

SECRET = "a-value-that-nobody-may-see"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """One of its agents is in its settings."""
    config = tmp_path / "config.toml"
    words = ", ".join(f'"{word}"' for word in COMMAND)
    config.write_text(
        f'[agents.set-one]\nadapter = "acp"\ncommand = [{words}]\n'
        f'env = {{ FROM_SETTINGS = "{SECRET}", BOTH = "settings" }}\n'
    )
    with running(tmp_path / "data", "--config", str(config)) as daemon:
        yield daemon


def add(daemon: Daemon, agent: str = "mine", **more: Any) -> Reply:
    return daemon.request("POST", "/agents", {"id": agent, "command": COMMAND, **more})


def remove(daemon: Daemon, agent: str = "mine") -> Reply:
    return daemon.request("DELETE", f"/agents/{agent}")


def info(daemon: Daemon, agent: str) -> Any:
    found = {each["id"]: each for each in daemon.get("/agents")["agents"]}
    return found.get(agent)


def processes(daemon: Daemon, agent: str = "mine") -> list[int]:
    found = daemon.get("/processes")["processes"]
    return [each["pid"] for each in found if each.get("agent") == agent]


def test_an_agent_is_added_by_its_command(daemon: Daemon) -> None:
    added = add(daemon, name="My Own", env={"KEY": SECRET}, terminal=True)
    assert added.status == 201
    assert added.json == info(daemon, "mine")
    assert "verified" not in added.json
    shown = {"id", "name", "source", "adapter", "env", "terminal", "installed", "path"}
    assert {name: added.json[name] for name in shown} == {
        "id": "mine",
        "name": "My Own",
        "source": "api",
        "adapter": "acp",
        "env": ["KEY"],
        "terminal": True,
        "installed": True,
        "path": COMMAND[0],
    }
    talk = Talk(daemon, agent="mine")
    turn = talk.turn("hello there")
    assert (said(turn), outcome(turn)) == (["hello there"], "completed")


def test_an_agent_of_the_settings_runs_by_three_lines(daemon: Daemon) -> None:
    shown = info(daemon, "set-one")
    assert (shown["source"], shown["adapter"], shown["env"]) == (
        "settings", "acp", ["BOTH", "FROM_SETTINGS"],
    )  # fmt: skip
    assert said(Talk(daemon, agent="set-one").turn("hello")) == ["hello"]


def test_values_of_an_agents_variables_reach_it_and_nobody_else(daemon: Daemon) -> None:
    talk = Talk(daemon, agent="set-one", env={"BOTH": "session-value"})
    assert said(talk.turn("env FROM_SETTINGS")) == ["[redacted:FROM_SETTINGS]"]
    assert said(talk.turn("env BOTH")) == ["[redacted:BOTH]"]
    add(daemon, env={"KEY": SECRET + "-too"})
    mine = Talk(daemon, agent="mine")
    assert said(mine.turn("env KEY")) == ["[redacted:KEY]"]
    assert SECRET.encode() not in daemon.request("GET", "/agents").body
    for each in (talk, mine):
        assert SECRET not in str(each.events(raw=True))


def test_a_sessions_variable_is_above_its_agents(daemon: Daemon) -> None:
    # A path is no secret, so it can be seen which one the agent got.
    add(daemon, env={"SOME_DIR": "/usr"})
    assert said(Talk(daemon, agent="mine").turn("env SOME_DIR")) == ["/usr"]
    above = Talk(daemon, agent="mine", env={"SOME_DIR": "/etc"})
    assert said(above.turn("env SOME_DIR")) == ["/etc"]


def test_what_was_added_is_there_after_a_kill(daemon: Daemon) -> None:
    add(daemon, name="My Own")
    talk = Talk(daemon, agent="mine")
    talk.turn("one")
    daemon.kill()
    daemon.start()
    assert info(daemon, "mine")["name"] == "My Own"
    assert said(talk.turn("two")) == ["two"]


def test_a_session_of_an_agent_that_was_removed_is_read_ended_and_deleted(daemon: Daemon) -> None:
    add(daemon)
    talk, other = Talk(daemon, agent="mine"), Talk(daemon, agent="mine")
    talk.turn("one")
    assert remove(daemon).status == 204
    assert info(daemon, "mine") is None
    eventually(lambda: processes(daemon) == [], "the idle process of the agent ended")
    refused = talk.post("/messages", {"message": "two"})
    assert (refused.status, refused.json["title"]) == (400, "Unsupported Agent")
    assert "can be read, ended and deleted" in refused.json["detail"]
    assert daemon.request("POST", "/sessions", {"agent": "mine"}).status == 400
    assert talk.patch(title="Old")["title"] == "Old"
    talk.terminate()
    assert talk.info["status"] == "ended"
    talk.conforms()
    assert daemon.request("DELETE", other.path).status == 204


def test_a_turn_goes_on_when_its_agent_is_removed_and_its_process_ends_after_it(
    daemon: Daemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    add(daemon)
    talk = Talk(daemon, agent="mine")
    talk.send(f"wait {gate}")
    talk.until("item.delta")
    talk.send("next")
    assert remove(daemon).status == 204
    assert talk.post("/messages", {"message": "no"}).status == 400
    assert (talk.info["status"], len(processes(daemon))) == ("running", 1)
    gate.touch()
    assert talk.until("turn.ended")["data"]["outcome"] == "completed"
    eventually(lambda: processes(daemon) == [], "its process ended")
    info = talk.info
    assert (info["status"], info["pendingCount"]) == ("idle", 1)
    add(daemon)
    talk.until("turn.ended")
    assert said(talk.conforms()) == ["waiting", "next"]


def test_a_turn_of_an_agent_that_was_removed_can_be_interrupted(
    daemon: Daemon, tmp_path: Path
) -> None:
    add(daemon)
    talk = Talk(daemon, agent="mine")
    talk.send(f"wait {tmp_path / 'never'}")
    talk.until("item.delta")
    remove(daemon)
    talk.interrupt()
    assert talk.until("turn.ended")["data"]["outcome"] == "interrupted"


def test_an_agent_that_is_added_again_is_the_new_one(daemon: Daemon) -> None:
    add(daemon, env={"SOME_DIR": "/usr"})
    talk = Talk(daemon, agent="mine")
    assert said(talk.turn("env SOME_DIR")) == ["/usr"]
    remove(daemon)
    assert add(daemon, env={"SOME_DIR": "/etc"}).status == 201
    assert said(talk.turn("env SOME_DIR")) == ["/etc"]
    talk.conforms()


def test_a_session_waits_for_an_agent_that_is_missing_at_the_start(daemon: Daemon) -> None:
    """The file of agents may be moved away between two starts."""
    add(daemon)
    talk = Talk(daemon, agent="mine")
    talk.turn("one")
    daemon.stop()
    (daemon.data_dir / "agents.json").unlink()
    daemon.start()
    assert talk.post("/messages", {"message": "two"}).status == 400
    add(daemon)
    assert said(talk.turn("two")) == ["two"]


# --- What is refused ---


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"id": "Mine", "command": "x"}, "id"),
        ({"id": "mine_2", "command": "x"}, "id"),
        ({"id": "mine"}, "command"),
        ({"id": "mine", "command": ""}, "command"),
        ({"id": "mine", "command": []}, "command"),
        ({"id": "mine", "command": "'x"}, "command"),
        ({"id": "mine", "command": "x", "adapter": "mcp"}, "adapter"),
        ({"id": "mine", "command": "x", "env": {"A-B": "c"}}, "env"),
        ({"id": "mine", "command": ["x\0y"]}, "command"),
        ({"id": "mine", "command": "x", "name": "a\nb"}, "name"),
    ],
)
def test_what_makes_no_agent_is_refused_in_words(
    daemon: Daemon, body: dict[str, Any], field: str
) -> None:
    refused = daemon.request("POST", "/agents", body)
    assert (refused.status, refused.json["title"]) == (400, "Invalid Request")
    assert refused.json["details"]["field"].startswith(field)
    assert refused.json["detail"]
    assert info(daemon, "mine") is None


@pytest.mark.parametrize("agent", ["mock", "gemini", "set-one"])
def test_an_id_that_is_taken_and_an_agent_that_stays_get_409(daemon: Daemon, agent: str) -> None:
    taken, stays = add(daemon, agent), remove(daemon, agent)
    assert (taken.status, stays.status) == (409, 409)
    assert "choose another id" in taken.json["detail"]
    assert "cannot be removed" in stays.json["detail"]
    assert remove(daemon, "nobody").status == 404


def test_only_an_admin_adds_and_removes(daemon: Daemon) -> None:
    made = daemon.request("POST", "/tokens", {"name": "w", "scopes": ["read", "write", "approve"]})
    headers = {"Authorization": f"Bearer {made.json['token']}"}
    body = {"id": "mine", "command": COMMAND}
    assert daemon.request("POST", "/agents", body, headers).status == 403
    add(daemon)
    assert daemon.request("DELETE", "/agents/mine", None, headers).status == 403
    assert daemon.request("GET", "/agents", None, headers).status == 200
    assert info(daemon, "mine")


def test_a_command_that_is_not_there_yet_is_told(daemon: Daemon, tmp_path: Path) -> None:
    program = tmp_path / "later"
    added = daemon.request("POST", "/agents", {"id": "mine", "command": [str(program), "--acp"]})
    assert (added.status, added.json["installed"]) == (201, False)
    refused = daemon.request("POST", "/sessions", {"agent": "mine"})
    assert (refused.status, refused.json["title"]) == (404, "Agent Not Installed")
    assert "was not found on PATH" in refused.json["detail"]
    program.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    os.chmod(program, 0o755)
    assert said(Talk(daemon, agent="mine").turn("hello")) == ["hello"]


def test_the_catalogue_is_listed_after_all_others(daemon: Daemon) -> None:
    found = daemon.get("/agents")["agents"]
    sources = [each["source"] for each in found]
    assert sources == sorted(sources, key=["built-in", "settings", "catalogue"].index)
    qwen = info(daemon, "qwen")
    assert (qwen["name"], qwen["adapter"], qwen["source"]) == ("Qwen Code", "acp", "catalogue")
    assert info(daemon, "claude")["verified"]
