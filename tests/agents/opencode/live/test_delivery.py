"""Nothing is lost or doubled: a broken event stream, and deaths while a message is on its way."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dragoman.agents.opencode import ADAPTER, probes
from dragoman.testing.model import ScriptedModel
from tests.agents.live import Live, calls, command, variable_of
from tests.agents.opencode.live import proxy
from tests.agents.opencode.live.agent import OPENCODE
from tests.agents.results import called, result
from tests.agents.watch import goes_on, heard, kill, outcomes, says, spoken, statuses
from tests.daemon import Daemon, running
from tests.testing.story import items, of_type, said


class Cut:
    """A session whose event stream can be cut."""

    def __init__(self, live: Live, file: Path) -> None:
        self.live = live
        self._file = file

    def hold(self) -> None:
        """From the next event on, nothing is heard."""
        proxy.tell(self._file, "hold")

    def release(self) -> None:
        """The stream can be opened again."""
        proxy.tell(self._file, "release")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose OpenCode is behind a proxy, which has its address in a file."""
    folder = tmp_path_factory.mktemp("cut")
    words = [sys.executable, proxy.__file__, str(folder / "address"), *command(ADAPTER)]
    with running(folder / "data", env={variable_of(ADAPTER): shlex.join(words)}) as started:
        yield started


@pytest.fixture
def cut(daemon: Daemon, tmp_path: Path) -> Iterator[Cut]:
    folder = daemon.data_dir.parent
    environ = partial(OPENCODE.shared_environ, tmp_path)
    with ScriptedModel(()) as model:
        live = Live(daemon, model, tmp_path, OPENCODE, environ, folder / "home")
        yield Cut(live, folder / "address")
        live.post("/terminate")


def test_what_was_said_while_the_stream_was_broken_is_read_again(cut: Cut) -> None:
    live = cut.live
    live.patch(permissionMode="bypass")
    live.model.add(
        calls({"gate": "rest"}, {"text": "two "}, live.agent.shell("echo three"), text="One "),
        {"text": ["Four ", "five"], "gate": "end"},
    )
    live.send("Count")
    heard(live, says("One"))
    cut.hold()
    live.model.open("rest")
    live.model.wait_for_request(2)
    cut.release()
    heard(live, lambda event: "three" in str(event["data"].get("item", {}).get("content")))
    live.model.open("end")
    live.until("turn.ended")
    events = live.conforms()
    assert spoken(events) == [
        ("user", "Count"),
        ("assistant", "One two "),
        ("assistant", "Four five"),
    ]
    (call,) = called(events, "bash")
    assert "three" in str(result(events, call)["content"])
    assert outcomes(events) == ["completed"]
    assert len(live.model.mains) == 2
    goes_on(live)


def test_a_message_and_its_answer_that_nobody_heard_are_read_again(cut: Cut) -> None:
    cut.live.model.add("Hello.", "Here.")
    cut.live.turn("Hi")
    cut.hold()
    cut.live.send("Are you there?")
    cut.live.model.wait_for_request(2)
    cut.release()
    cut.live.until("turn.ended")
    events = cut.live.conforms()
    assert spoken(events)[2:] == [("user", "Are you there?"), ("assistant", "Here.")]
    assert outcomes(events) == ["completed", "completed"]
    assert len(cut.live.model.mains) == 2


def test_a_permission_that_was_asked_for_meanwhile_is_asked_for(cut: Cut) -> None:
    live = cut.live
    live.model.add("Hello.", calls(live.agent.shell("touch made")), "Made.")
    live.turn("Hi")
    cut.hold()
    live.send("Make it")
    live.model.wait_for_request(2)
    cut.release()
    live.reply(live.until("permission.requested"), "once")
    heard(live, lambda event: event["type"] == "turn.ended" and event["sequence"] > 20)
    events = live.conforms()
    assert said(events) == ["Hello.", "Made."]
    assert (live.workspace / "made").exists()


def test_what_a_subagent_did_meanwhile_is_its_own(cut: Cut) -> None:
    live = cut.live
    live.model.add(
        "Hello.",
        calls(dict(probes.delegate("Say three"))),
        calls({"tool": "glob", "input": {"pattern": "three"}}),
        "Three it is.",
        {"text": ["All ", "done."], "gate": "end"},
    )
    live.turn("Hi")
    cut.hold()
    live.send("Let somebody say it")
    live.model.wait_for_request(5)
    cut.release()
    heard(live, lambda event: "Three it is." in str(event["data"].get("item", {}).get("content")))
    live.model.open("end")
    heard(live, lambda event: event["type"] == "item.completed" and "All done." in str(event))
    live.until("turn.ended")
    events = live.conforms()
    (glob,) = called(events, "glob")
    (status,) = statuses(events, "subagent")
    assert glob["subagent_id"] == status["subagent_id"]
    # Each session is read by itself, so the subagent's words may come after the last ones.
    assert sorted(said(events)) == ["All done.", "Hello.", "Three it is."]


def on_its_way(cut: Cut) -> None:
    """OpenCode has a message, and the daemon has not heard of it."""
    cut.live.model.add("Hello.", {"text": ["One ", "two"], "gate": "never"})
    cut.live.turn("Hi")
    cut.hold()
    cut.live.send("Count")
    cut.live.model.wait_for_request(2)


def shown_and_not_sent_again(live: Live) -> None:
    heard(live, lambda event: event["data"].get("outcome") == "interrupted")
    events = live.conforms()
    assert spoken(events)[2:] == [("user", "Count")]
    assert len(statuses(events, "not answered again")) == 1
    assert outcomes(events) == ["completed", "interrupted"]
    assert of_type(events, "agent.unparsed") == []
    assert len(live.model.mains) == 2
    goes_on(live)
    assert [text for role, text in spoken(live.events()) if role == "user"].count("Count") == 1


def test_a_server_that_dies_with_a_message_on_its_way_does_not_get_it_twice(cut: Cut) -> None:
    on_its_way(cut)
    kill(cut.live)
    shown_and_not_sent_again(cut.live)


def test_a_daemon_that_dies_with_a_message_on_its_way_does_not_send_it_twice(cut: Cut) -> None:
    on_its_way(cut)
    cut.live.daemon.kill()
    cut.live.daemon.start()
    shown_and_not_sent_again(cut.live)


def test_a_message_that_a_dead_server_never_got_is_sent(cut: Cut) -> None:
    cut.live.model.add("Hello.", "Here.")
    cut.live.turn("Hi")
    kill(cut.live)
    assert said(cut.live.turn("Are you there?")) == ["Here."]
    assert items(cut.live.conforms(), "status") == []
