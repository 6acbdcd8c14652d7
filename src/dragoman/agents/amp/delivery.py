"""People's messages on their way to Amp: how one is sent, and until Amp repeats it."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from dragoman.schema.commands import Attachment, Prompt

MOST_IMAGES = 4
MOST_IMAGE_BYTES = 5_138_022
"""Amp refuses a message with more images, or larger ones (0.0.1790142911)."""
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


def line_of(prompt: Prompt) -> bytes:
    """A message as Amp reads it.

    By `request_id` Amp knows it again: one that is in the thread is not answered twice. Amp's
    reader also ends a line where Unicode would (0.0.1790142911), so those two are escaped.
    """
    message = {"role": "user", "content": _content(prompt)}
    line = {"type": "user", "message": message, "request_id": prompt.message_id}
    text = msgspec.json.encode(line).decode()
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode()


def _content(prompt: Prompt) -> list[dict[str, Any]]:
    """A person's text with its attachments: images as such, other files by their paths."""
    shown = [file for file in prompt.attachments if _type_of(prompt.images.get(file.path))]
    shown = shown[:MOST_IMAGES]
    files = [_mention(file) for file in prompt.attachments if file not in shown]
    text = "\n\n".join([*([prompt.text] if prompt.text else []), *files])
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text or not shown else []
    return [*blocks, *(_image(file.path, prompt.images[file.path]) for file in shown)]


def _image(path: str, data: bytes) -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": _type_of(data),
        "data": base64.b64encode(data).decode(),
    }
    return {"type": "image", "source": source, "source_path": path}


def _type_of(data: bytes | None) -> str | None:
    """The type of an image that Amp takes, by its first bytes, as Amp itself sees it."""
    if not data or len(data) > MOST_IMAGE_BYTES:
        return None
    return next((mime for magic, mime in _MAGIC.items() if data.startswith(magic)), None)


def _mention(file: Attachment) -> str:
    """The text that tells the model of a file."""
    is_renamed = file.filename and file.filename != file.path.rpartition("/")[2]
    return f"Attached file: {file.path}" + (f" ({file.filename})" if is_renamed else "")
