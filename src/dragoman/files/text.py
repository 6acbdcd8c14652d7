"""Text files: read whole or by lines, and replaced in one step."""

from __future__ import annotations

import contextlib

from msgspec import Struct

from dragoman.errors import InvalidRequest, NotFound, PermissionDenied, TooLarge
from dragoman.files.content import PartialFile, Reading, SizeLimit, open_file
from dragoman.files.paths import Names, Root

MAX_READ_BYTES = 10 * 1024 * 1024
MAX_SEARCH_BYTES = 1024 * 1024 * 1024
"""So far into a file its lines are counted."""
MAX_BEFORE_BYTES = 512 * 1024
"""So much of what a file held before is kept for a diff."""
_CHUNK_BYTES = 256 * 1024


class ReplacedText(Struct, frozen=True):
    """What was at a path before something was written there."""

    is_new: bool
    """There was nothing."""
    text: str | None = None
    """None: there was nothing, or no text, or one that is too long to be kept."""


def read_text(root: Root, names: Names, line: int | None, limit: int | None) -> str:
    """A text file, or `limit` lines of it from `line` on, counted from 1.

    Raise TooLarge where that is more than is read at once, InvalidRequest for what is no text.
    """
    path = root.tell(names)
    with contextlib.closing(open_file(root, names)) as file:
        data = _lines(file, path, max(line or 1, 1) - 1, limit)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidRequest(f"{path} is no text in UTF-8", field="path") from None


def replace_text(root: Root, names: Names, text: str, limit: SizeLimit) -> ReplacedText:
    """Put a text file in its place in one step, making the folders above; what was there before."""
    before = _before(root, names)
    draft = PartialFile(root, names, limit)
    try:
        draft.write(text.encode())
        draft.commit()
    finally:
        draft.close()
    return before


def _before(root: Root, names: Names) -> ReplacedText:
    try:
        with contextlib.closing(open_file(root, names)) as file:
            data = file.read(0, MAX_BEFORE_BYTES + 1)
    except NotFound:
        return ReplacedText(is_new=True)
    except PermissionDenied:
        return ReplacedText(is_new=False)  # whoever may not read may still be allowed to write
    try:
        text = data.decode() if len(data) <= MAX_BEFORE_BYTES else None
    except UnicodeDecodeError:
        text = None
    return ReplacedText(is_new=False, text=text)


def _lines(file: Reading, path: str, skip: int, limit: int | None) -> bytes:
    """So many lines after those that are skipped, with their ends."""
    found = bytearray()
    offset = 0
    while limit != 0 and (chunk := file.read(offset, _CHUNK_BYTES)):
        offset += len(chunk)
        start, skip = _past(chunk, skip)
        end = len(chunk)
        if limit is not None and not skip:
            end, limit = _past(chunk, limit, start)
        found += chunk[start:end]
        if len(found) > MAX_READ_BYTES or offset > MAX_SEARCH_BYTES:
            raise _too_large(path, found)
    return bytes(found)


def _past(chunk: bytes, count: int, start: int = 0) -> tuple[int, int]:
    """Where so many line ends are behind, and how many are still to come."""
    here = chunk.count(b"\n", start)
    if here < count:
        return len(chunk), count - here
    for _ in range(count):
        start = chunk.index(b"\n", start) + 1
    return start, 0


def _too_large(path: str, found: bytearray) -> TooLarge:
    if len(found) > MAX_READ_BYTES:
        why = f"more than {MAX_READ_BYTES} bytes of {path} are wanted at once"
    else:
        why = f"lines of {path} are counted in its first {MAX_SEARCH_BYTES} bytes only"
    return TooLarge(f"{why}; ask for fewer lines, with `line` and `limit`", limit="read_text_file")
