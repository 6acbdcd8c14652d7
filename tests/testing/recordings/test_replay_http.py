"""`dragoman replay` stands in for an agent that serves HTTP, and `play` takes its recordings."""

from __future__ import annotations

import http.client
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents.opencode import ADAPTER
from dragoman.testing.recordings.http_calls import with_calls
from dragoman.testing.recordings.play import play
from dragoman.testing.recordings.transcript import Ending, Line, Meta, PassedSignal, Run, dump, load
from tests.agents.opencode.said import command_of, spec_in
from tests.daemon import running
from tests.testing.story import Event, Talk, items, of_type, said, text

DRAGOMAN = (sys.executable, "-m", "dragoman.cli.main")
RECORDING = Path(__file__).parents[2] / "agents/opencode/a_command_is_allowed_once"
DEADLINE_S = 30


# --- OpenCode's recordings, played to a daemon ---


def story(folder: Path, command: list[str]) -> list[Event]:
    """A turn with an agent, in which it asks for two permissions."""
    (folder / "workspace").mkdir(parents=True)
    with running(folder / "data", env={"DRAGOMAN_OPENCODE_COMMAND": shlex.join(command)}) as daemon:
        talk = Talk(daemon, agent="opencode", directory=str(folder / "workspace"))
        talk.send("Do what you did before")
        for _ in range(2):
            talk.reply(talk.until("permission.requested"), "once")
        talk.until("turn.ended")
        return talk.events()


def kinds(events: list[Any]) -> list[str]:
    """What happened; when a process that many share says what of itself is not told."""
    return [each["type"] for each in events if each["type"] != "session.updated"]


def test_a_recording_is_played_recorded_again_and_converted(tmp_path: Path) -> None:
    """Before, `replay` read calls from its stdin, and `play` made nothing of bodies line by line.

    The stand-in is recorded, so that there is a recording as `record --serves` makes it.
    """
    expected = [json.loads(line) for line in (RECORDING / "events.jsonl").read_text().splitlines()]
    again = tmp_path / "again.jsonl"
    replay = [*DRAGOMAN, "replay", str(RECORDING / "transcript.jsonl")]
    record = [*DRAGOMAN, "record", "--serves", "--no-scrub", "--out", str(again), "--"]
    for folder, command in (
        (tmp_path / "1", [*record, *replay]),
        (tmp_path / "2", [*DRAGOMAN, "replay", str(again)]),
    ):
        events = story(folder, command)
        assert kinds(events) == kinds(expected)[: len(kinds(events))]
        assert of_type(events, "turn.ended")[0]["outcome"] == "completed"
        assert [text(item) for item in items(events, "message", "user")] == [
            "Do what you did before"
        ]
        assert said(events) == said(expected)

    raw = load(again.read_bytes())
    assert any(line.http for line in raw[0].lines("out"))
    played = play(ADAPTER, raw, command_of, spec_in(ADAPTER, with_calls(raw)))
    assert (played.strays, played.unclaimed) == ((), ())
    assert [each.type for each in played.events] == [each["type"] for each in expected]


# --- A server of our own ---


def call(id: int, method: str, path: str, body: bytes = b"") -> Line:
    about = {"id": id, "method": method, "path": path, "end": True}
    return Line(t=0, dir="in", data=body, open=True, http=about)


def answer(id: int, status: int, body: bytes = b"") -> Line:
    return Line(
        t=0, dir="out", data=body, open=True, http={"id": id, "status": status, "end": True}
    )


RUN = Run(
    meta=Meta(argv=("agent", "serve"), cwd="/recorded"),
    entries=(
        Line(t=0, dir="out", data=b"ready at http://127.0.0.1:4096, come in"),
        call(1, "GET", "/events"),
        Line(t=0, dir="out", data=b"", http={"id": 1, "status": 200,
                                             "content_type": "text/event-stream"}),
        Line(t=0, dir="out", data=b'data: {"type":"hello"}', http={"id": 1}),
        call(2, "POST", "/talks?directory=/recorded", b'{"messageID":"m-1","text":"some words"}'),
        Line(t=0, dir="err", data=b"working in /recorded"),
        answer(2, 201, b'{"talk":"t-1","messageID":"m-1"}'),
        Line(t=0, dir="out", data=b'data: {"type":"said","text":"some words"}', http={"id": 1}),
        call(3, "DELETE", "/talks/t-1"),
        answer(3, 204),
        PassedSignal(t=0, number=15),
    ),
    ending=Ending(t=0.0, code=3, signal=None),
)  # fmt: skip
POST = ("POST", "/talks?directory=/today", '{"messageID":"m-2","text":"other words"}')


class Client:
    """Talks to a stand-in."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.process = process
        self.greeting = process.stdout.readline()
        self._port = int(self.greeting.rpartition(b":")[2].partition(b",")[0])
        self._connection = self._connect()
        self._stream = self._connect()
        self._stream.request("GET", "/events", headers={"Accept": "text/event-stream"})
        self.events = self._stream.getresponse()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=DEADLINE_S)

    def call(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        self._connection.request(method, path, body)
        reply = self._connection.getresponse()
        return reply.status, reply.read()

    def event(self) -> Any:
        data = self.events.readline().removeprefix(b"data: ")
        self.events.readline()
        return json.loads(data)

    def close(self) -> None:
        self._connection.close()
        self._stream.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.jsonl"
    path.write_bytes(dump((RUN,)))
    return path


@contextmanager
def replayed(file: Path) -> Iterator[Client]:
    process = subprocess.Popen(
        [*DRAGOMAN, "replay", str(file), "serve"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    client = Client(process)
    try:
        yield client
    finally:
        client.close()
        process.kill()
        process.communicate(timeout=DEADLINE_S)


def test_it_answers_and_tells_what_was_recorded_with_the_names_of_today(file: Path) -> None:
    with replayed(file) as agent:
        assert agent.greeting.startswith(b"ready at http://127.0.0.1:")
        assert agent.event() == {"type": "hello"}
        status, body = agent.call(*POST)
        assert (status, json.loads(body)) == (201, {"talk": "t-1", "messageID": "m-2"})
        assert agent.event() == {"type": "said", "text": "other words"}
        assert agent.call("DELETE", "/talks/t-1") == (204, b"")
        agent.process.terminate()
        _, stderr = agent.process.communicate(timeout=DEADLINE_S)
        assert (stderr, agent.process.returncode) == (b"working in /today\n", 3)


@pytest.mark.parametrize(
    ("method", "path", "body", "complaint"),
    [
        ("POST", "/other?directory=/today", POST[2], b"another path: /talks, /other"),
        ("PUT", *POST[1:], b"another verb: POST, PUT"),
        ("POST", "/talks", POST[2], b"other parameters: directory"),
        (*POST[:2], '{"text":"words"}', b"other keys: messageID"),
    ],
)
def test_another_call_is_an_error_that_shows_both(
    file: Path, method: str, path: str, body: str, complaint: bytes
) -> None:
    with replayed(file) as agent:
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            agent.call(method, path, body)
        _, stderr = agent.process.communicate(timeout=DEADLINE_S)
        assert agent.process.returncode == 1
        assert complaint in stderr
        assert b"expected: POST /talks?directory=/recorded" in stderr


def test_a_signal_that_comes_before_its_time_is_an_error(file: Path) -> None:
    with replayed(file) as agent:
        assert agent.event() == {"type": "hello"}
        agent.process.terminate()
        _, stderr = agent.process.communicate(timeout=DEADLINE_S)
        assert agent.process.returncode == 1
        assert b"less was said than recorded" in stderr
