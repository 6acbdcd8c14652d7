"""Bytes inside content become files named by what they hold; storing them needs IO, not us."""

from __future__ import annotations

import hashlib

from msgspec import Struct

from dragoman.adapter import Blob


class StoreFile(Struct, frozen=True):
    """Bytes to be stored under this path before the events that name it."""

    path: str
    data: bytes


def file_of(blob: Blob, folder: str) -> StoreFile:
    """The file that a blob becomes."""
    suffix = (blob.mime or "").rpartition("/")[2].partition("+")[0]
    suffix = suffix if suffix.isalnum() and len(suffix) < 8 else "bin"
    return StoreFile(f"{folder}/{hashlib.sha256(blob.data).hexdigest()}.{suffix}", blob.data)
