"""Files that go with a message, as they reach the model behind the real Codex."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from tests.agents.live import Bench, Live
from tests.testing.story import Event, items, outcome, parts, text


def png(width: int = 2) -> bytes:
    """A small red picture."""
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


def blocks(live: Live, type: str) -> list[dict[str, Any]]:
    """The parts of a type that the person said to the model."""
    given = live.model.mains[-1].body["input"]
    listed = [each["content"] for each in given if each.get("role") == "user"]
    return [part for content in listed for part in content if part["type"] == type]


def test_an_image_and_a_file_reach_the_model(codex: Bench, tmp_path: Path) -> None:
    picture, note = tmp_path / "picture", tmp_path / "a note.txt"
    picture.write_bytes(png())
    note.write_text("The word is xylograph.\n")
    live = codex.session("Red.")
    events = send(live, "Look", {"path": str(picture)}, {"path": str(note)})
    assert outcome(events) == "completed"
    (image,) = blocks(live, "input_image")
    head, _, data = image["image_url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == png()
    words = "\n".join(part["text"] for part in blocks(live, "input_text"))
    assert f"Look\n\nAttached file: {note}" in words
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


def test_an_image_alone_is_enough(codex: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    live = codex.session("Red.")
    events = send(live, "", {"path": str(tmp_path / "a.png"), "mime": "image/jpeg"})
    assert outcome(events) == "completed"
    assert len(blocks(live, "input_image")) == 1
    live.conforms()


def test_a_file_alone_is_enough(codex: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    live = codex.session("An a.")
    events = send(live, "", {"path": str(tmp_path / "a.txt")})
    assert outcome(events) == "completed"
    words = "\n".join(part["text"] for part in blocks(live, "input_text"))
    assert f"Attached file: {tmp_path / 'a.txt'}" in words
    live.conforms()


def test_a_file_that_is_not_there_is_refused(codex: Bench) -> None:
    live = codex.session()
    body = {"message": "Look", "attachments": [{"path": "/no/such/file.png"}]}
    reply = live.post("/messages", body)
    assert (reply.status, reply.json["details"]) == (400, {"field": "attachments[0].path"})
