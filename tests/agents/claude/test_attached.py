"""What Claude Code is told of the files that go with a message."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dragoman.agents.claude.launch import attached
from dragoman.schema.commands import Attachment, Prompt


def told(*files: Attachment, text: str = "look", images: dict[str, bytes] | None = None) -> Any:
    return attached(Prompt(message_id="m", text=text, attachments=files, images=images or {}))


def test_words_alone_stay_words() -> None:
    assert told() == "look"


def test_a_file_is_mentioned_so_that_it_is_read() -> None:
    expected = 'look\n\n@"/a b/c.txt"\n\n@"/d.pdf" (report.pdf)'
    files = (
        Attachment(path="/a b/c.txt", filename="c.txt"),
        Attachment(path="/d.pdf", filename="report.pdf"),
    )
    assert told(*files) == [{"type": "text", "text": expected}]


@pytest.mark.parametrize("path", ['/a"b', "/a\nb"])
def test_a_path_that_cannot_be_quoted_is_said(path: str) -> None:
    (block,) = told(Attachment(path=path))
    assert block["text"] == f"look\n\nAttached file: {path}"


def test_an_image_stands_before_the_words_since_only_the_last_block_is_searched() -> None:
    image = Attachment(path="/i.png", mime="image/png")
    blocks = told(image, Attachment(path="/t.txt"), images={"/i.png": b"pixels"})
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(b"pixels").decode(),
    }
    assert blocks == [
        {"type": "image", "source": source},
        {"type": "text", "text": 'look\n\n@"/t.txt"'},
    ]


def test_an_image_without_words_has_no_empty_text() -> None:
    image = Attachment(path="/i.png", mime="image/png")
    (block,) = told(image, text="", images={"/i.png": b"pixels"})
    assert block["type"] == "image"


def test_an_image_that_was_not_loaded_is_mentioned() -> None:
    (block,) = told(Attachment(path="/i.png", mime="image/png"))
    assert block["text"].endswith('@"/i.png"')
