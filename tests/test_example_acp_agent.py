"""The example of an agent that speaks ACP: three lines of settings, and it runs."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.agents.acp import configured
from tests.daemon import Daemon, running
from tests.testing.story import Talk, of_type, outcome, said

EXAMPLE = Path(__file__).parent.parent / "examples" / "acp_agent"
SHOWN = configured("any", name="Any", command=("any",)).capabilities.shown
asks = pytest.mark.skipif("permissions" not in SHOWN, reason="ACP's permissions are not shown yet")
tools = pytest.mark.skipif("toolCalls" not in SHOWN, reason="ACP's tool calls are not shown yet")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Its settings are the three lines of the example's README, with our own paths."""
    folder = tmp_path_factory.mktemp("example")
    found = re.search(r"```toml\n(.*?)```", (EXAMPLE / "README.md").read_text(), re.DOTALL)
    assert found
    lines = found[1]
    assert len(lines.splitlines()) == 3
    words = tomllib.loads(lines)["agents"]["notes"]["command"]
    lines = lines.replace(words[0], sys.executable).replace(words[1], str(EXAMPLE / "agent.py"))
    (folder / "config.toml").write_text(lines)
    with running(folder / "data", "--config", str(folder / "config.toml")) as daemon:
        yield daemon


@pytest.fixture
def talk(daemon: Daemon, tmp_path: Path) -> Talk:
    """A session with it, in a folder of its own."""
    return Talk(daemon, agent="notes", directory=str(tmp_path))


def test_three_lines_make_it_an_agent(daemon: Daemon) -> None:
    found = {each["id"]: each for each in daemon.get("/agents")["agents"]}["notes"]
    assert (found["source"], found["adapter"], found["installed"]) == ("settings", "acp", True)


def test_it_streams_a_text(talk: Talk) -> None:
    turn = talk.turn("good morning")
    assert (said(turn), outcome(turn)) == (["You said: good morning "], "completed")
    deltas = [each["delta"] for each in of_type(turn, "item.delta")]
    assert deltas[-4:] == ["You ", "said: ", "good ", "morning "]
    assert said(talk.turn("again")) == ["You said: again "]


def test_it_heeds_an_interrupt(talk: Talk) -> None:
    talk.send("count 1000")
    talk.until("item.delta")
    talk.interrupt()
    assert talk.until("turn.ended")["data"]["outcome"] == "interrupted"
    assert said(talk.turn("and now?")) == ["You said: and now? "]


@asks
@tools
def test_it_asks_before_it_writes_and_shows_what_it_did(talk: Talk, tmp_path: Path) -> None:
    talk.send("note buy milk")
    asked = talk.until("permission.requested")
    assert not (tmp_path / "notes.txt").exists()
    talk.reply(asked, "once")
    assert talk.until("turn.ended")["data"]["outcome"] == "completed"
    assert (tmp_path / "notes.txt").read_text() == "buy milk\n"
    events = talk.conforms()
    items = (each["item"] for each in of_type(events, "item.completed"))
    (result,) = (item for item in items if item["kind"] == "tool_result")
    (file,) = (part for part in result["content"] if part["type"] == "file_ref")
    assert file["path"] == str(tmp_path / "notes.txt")
    assert "+buy milk" in file["diff"]


@asks
@tools
def test_a_refusal_is_heeded(talk: Talk, tmp_path: Path) -> None:
    talk.send("note buy milk")
    talk.reply(talk.until("permission.requested"), "reject")
    talk.until("turn.ended")
    assert not (tmp_path / "notes.txt").exists()
    assert said(talk.conforms()) == ["Then not. "]


@asks
def test_an_interrupt_withdraws_what_it_asks(talk: Talk, tmp_path: Path) -> None:
    talk.send("note buy milk")
    talk.until("permission.requested")
    talk.interrupt()
    assert talk.until("turn.ended")["data"]["outcome"] == "interrupted"
    assert not (tmp_path / "notes.txt").exists()
    talk.conforms()
