"""Attachments of a message: checked when it is accepted, loaded when it is sent."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Sequence
from pathlib import PurePath

import msgspec

from dragoman.errors import InvalidRequest
from dragoman.schema.commands import Attachment, Prompt
from dragoman.store import MessageRow

MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""What models take; a larger image goes by its path."""
_HEAD_BYTES = 12
_SUFFIXES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
    ".bmp": "image/bmp",
    ".avif": "image/avif",
    ".heic": "image/heic",
    ".tiff": "image/tiff",
}


async def ensure_there(attachments: Sequence[Attachment]) -> None:
    """Raise InvalidRequest for a file that is not there, or not named by an absolute path."""
    if attachments:
        await asyncio.to_thread(_ensure_there, attachments)


def _ensure_there(attachments: Sequence[Attachment]) -> None:
    for index, file in enumerate(attachments):
        field = f"attachments[{index}].path"
        if not os.path.isabs(file.path):
            raise InvalidRequest(
                f"an attachment's path must be absolute, and {file.path!r} is not", field=field
            )
        if not os.path.exists(file.path):
            raise InvalidRequest(
                f"there is no file {file.path!r}; write it first, then attach it", field=field
            )


async def prompt_of(message: MessageRow, room_bytes: int) -> Prompt:
    """The message as the agent gets it, with its images, as many as there is room for."""
    prompt = Prompt(
        message_id=message.message_id,
        text=message.text,
        attachments=message.attachments,
        joins=message.steer,
    )
    return await asyncio.to_thread(_loaded, prompt, room_bytes) if prompt.attachments else prompt


def _loaded(prompt: Prompt, room_bytes: int) -> Prompt:
    files: list[Attachment] = []
    images: dict[str, bytes] = {}
    for file in prompt.attachments:
        mime, image = _image(file, min(room_bytes, MAX_IMAGE_BYTES))
        if image is not None:
            images[file.path] = image
            room_bytes -= len(image)
        files.append(msgspec.structs.replace(file, mime=mime))
    return msgspec.structs.replace(prompt, attachments=tuple(files), images=images)


def _image(file: Attachment, room_bytes: int) -> tuple[str | None, bytes | None]:
    """What kind of file it is, and its bytes where they are an image that a model takes."""
    if file.mime is not None and not file.mime.startswith("image/"):
        return file.mime, None
    head, image = _read(file.path, room_bytes)
    # A wrong media type makes the model refuse the whole message: the bytes know better.
    if kind := image_kind(head):
        return kind, image
    return file.mime or _SUFFIXES.get(PurePath(file.path).suffix.lower()), None


def _read(path: str, most_bytes: int) -> tuple[bytes, bytes | None]:
    """A file's first bytes, and all of them where they are not too many."""
    try:
        # Without O_NONBLOCK a pipe that nobody writes to would hold us up for ever.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b"", None  # it vanished, or is not ours to read; the agent hears of its path
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return b"", None  # a folder, or a pipe
    with os.fdopen(fd, "rb") as file:
        head = file.read(_HEAD_BYTES)
        if not image_kind(head):
            return head, None
        rest = file.read(most_bytes + 1)
        whole = head + rest
        return head, whole if len(whole) <= most_bytes else None


def image_kind(head: bytes) -> str | None:
    """The media type of an image that every model takes, by its first bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return None
