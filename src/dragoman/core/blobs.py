"""Bytes inside content become files that are named by their hash."""

from __future__ import annotations

import hashlib
from typing import Any

from msgspec import Struct

from dragoman.core.content_shape import Parts
from dragoman.schema.items import ContentPart, FileRef, Image
from dragoman.steps import AgentFile, Blob, Content


class StoreFile(Struct, frozen=True):
    """Bytes to be stored under this path before the events that name it."""

    path: str
    data: bytes


class CopyFile(Struct, frozen=True):
    """A text file of the agent's to be stored under this path, without secrets."""

    source: str
    path: str


def file_of(blob: Blob, folder: str) -> StoreFile:
    """The file that a blob becomes."""
    suffix = (blob.mime or "").rpartition("/")[2].partition("+")[0]
    suffix = suffix if suffix.isalnum() and len(suffix) < 8 else "bin"
    return StoreFile(f"{folder}/{hashlib.sha256(blob.data).hexdigest()}.{suffix}", blob.data)


def stored(content: Content, folder: str, out: list[Any]) -> Parts:
    """Content with bytes as files of this folder, shown as images or as files that were read.

    The files to store go to `out`.
    """
    parts: list[ContentPart] = []
    for part in content:
        if isinstance(part, Blob):
            file = file_of(part, folder)
            out.append(file)
            is_image = part.mime is None or part.mime.startswith("image/")
            parts.append(
                Image(path=file.path, mime=part.mime, filename=part.filename)
                if is_image
                else FileRef(path=file.path, action="read")
            )
        elif isinstance(part, AgentFile):
            name = hashlib.sha256(part.path.encode(errors="surrogatepass")).hexdigest()
            copy = CopyFile(part.path, f"{folder}/{name}.txt")
            out.append(copy)
            parts.append(FileRef(path=copy.path, action="read"))
        else:
            parts.append(part)
    return tuple(parts)
