"""Files that go with a message, as they reach the model behind a real agent."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.agents.live import Bench, Live
from tests.agents.watch import asked
from tests.testing.story import Event, items, outcome, parts, text

pytestmark = pytest.mark.needs("fileAttachments")


def png(width: int = 24) -> bytes:
    """A small red picture; Grok 1.0.41 takes none below 512 pixels."""
    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(width))
    header = struct.pack(">IIBBBBB", width, width, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def send(live: Live, message: str, *files: dict[str, Any]) -> list[Event]:
    """Send a message with files; the events of its turn."""
    body = {"message": message, "attachments": list(files)}
    with live.daemon.stream(f"{live.path}/messages/stream", method="POST", body=body) as stream:
        assert stream.status == 200, stream.read()
        return list(stream)


def images(live: Live) -> list[tuple[str, bytes]]:
    return live.agent.images_of(live.model.mains[-1].body)


@pytest.mark.needs("images")
def test_an_image_and_a_file_reach_the_model(bench: Bench, tmp_path: Path) -> None:
    picture, note = tmp_path / "picture", tmp_path / "a note.txt"
    picture.write_bytes(png())
    note.write_text("The word is xylograph.\n")
    live = bench.session("Red.")
    events = send(live, "Look", {"path": str(picture)}, {"path": str(note)})
    assert outcome(events) == "completed"
    assert images(live) == [("image/png", png())]
    assert str(note) in asked(live, 1)
    (message,) = items(events, "message", "user")
    assert text(message) == "Look"
    (shown,) = parts(message, "image")
    assert shown["mime"] == "image/png"
    assert Path(shown["path"]).read_bytes() == png()
    assert shown["path"] != str(picture), "a copy: the file may change"
    assert [(part["path"], part["action"]) for part in parts(message, "file_ref")] == [
        (str(note), "read")
    ]
    live.conforms()


@pytest.mark.needs("images")
def test_an_image_alone_is_enough(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    live = bench.session("Red.")
    events = send(live, "", {"path": str(tmp_path / "a.png"), "mime": "image/jpeg"})
    assert outcome(events) == "completed"
    assert [content for _, content in images(live)] == [png()]
    live.conforms()


def test_a_file_alone_is_enough(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    live = bench.session("An a.")
    events = send(live, "", {"path": str(tmp_path / "a.txt")})
    assert outcome(events) == "completed"
    assert str(tmp_path / "a.txt") in asked(live, 1)
    live.conforms()


def test_a_file_that_is_not_there_is_refused(bench: Bench) -> None:
    live = bench.session()
    body = {"message": "Look", "attachments": [{"path": "/no/such/file.png"}]}
    reply = live.post("/messages", body)
    assert (reply.status, reply.json["details"]) == (400, {"field": "attachments[0].path"})


@pytest.mark.needs("images")
def test_an_image_is_sent_by_its_path_when_it_vanished_while_it_waited(
    bench: Bench, tmp_path: Path
) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(png())
    live = bench.session({"text": "First.", "gate": "go"}, "Second.")
    live.send("Begin")
    live.model.wait_for_request()
    reply = live.post("/messages", {"message": "Look", "attachments": [{"path": str(picture)}]})
    assert reply.status == 204
    picture.unlink()
    live.model.open("go")
    live.until("turn.ended")
    live.until("turn.ended")
    assert str(picture) in asked(live, 2)
    live.conforms()
