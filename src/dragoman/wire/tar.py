"""Parses a tar archive that comes in pieces."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from dragoman.errors import InvalidRequest

BLOCK = 512
MAX_NOTE_BYTES = 64 * 1024
"""A note says something about the next member: its long name, its size."""
MAX_NOTES = 4
"""So many notes may lie before a member; nobody needs more."""

_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_NOTES = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
_DIGITS = 19
"""A number of so many digits is too large for any file."""
_HEARD = frozenset({"path", "linkpath", "size"})
_KINDS = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


class Member(Struct, frozen=True):
    """Something in an archive. The bytes of a file follow, `size` of them."""

    name: str
    kind: Literal["file", "folder", "link"]
    size: int = 0
    is_executable: bool = False
    target: str = ""


class Tar:
    """Reads an archive. Raise InvalidRequest where it is none, or holds what nobody should send."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._remaining = self._padding = 0
        self._note: bytearray | None = None
        self._note_type = b""
        self._notes = 0
        self._pax: dict[str, str] = {}
        self._is_over = False

    def feed(self, data: bytes) -> Iterator[Member | bytes]:
        """Take a piece: members, and after a file its bytes, as they come."""
        at = 0
        while at < len(data) and not self._is_over:
            if self._remaining:
                piece = data[at : at + self._remaining]
                self._remaining -= len(piece)
                if self._note is None:
                    yield piece
                else:
                    self._note += piece
            elif self._padding:
                piece = data[at : at + self._padding]
                self._padding -= len(piece)
            else:
                piece = data[at : at + BLOCK - len(self._header)]
                self._header += piece
            at += len(piece)
            yield from self._step()

    def close(self) -> None:
        """All was fed. Raise InvalidRequest where the end is missing."""
        if not self._is_over:
            raise InvalidRequest("the archive ends early", field="body")

    def _step(self) -> Iterator[Member]:
        """Do what can be done once a header, or a note, is whole."""
        if self._note is not None and not self._remaining:
            self._hear(bytes(self._note))
            self._note = None
        if len(self._header) == BLOCK:
            block = bytes(self._header)
            self._header.clear()
            if block.count(0) == BLOCK:
                self._is_over = True
            else:
                yield from self._open(_parse(block))

    def _open(self, info: tarfile.TarInfo) -> Iterator[Member]:
        if info.type in _NOTES:
            _ensure(0 < info.size <= MAX_NOTE_BYTES, "holds a header of an impossible size")
            self._notes += 1
            _ensure(
                self._notes <= MAX_NOTES, f"holds {self._notes} headers with no file after them"
            )
            self._note, self._note_type = bytearray(), info.type
            self._expect(info.size)
            return
        said, self._pax, self._notes = self._pax, {}, 0
        size = _number(said["size"]) if "size" in said else info.size
        member = _member(info, said.get("path", info.name), said.get("linkpath"), size)
        self._expect(member.size)
        yield member

    def _expect(self, size: int) -> None:
        self._remaining, self._padding = size, -size % BLOCK

    def _hear(self, note: bytes) -> None:
        text = note.decode("utf-8", "surrogateescape")
        if self._note_type == tarfile.GNUTYPE_LONGNAME:
            self._pax["path"] = text.rstrip("\0")
        elif self._note_type == tarfile.GNUTYPE_LONGLINK:
            self._pax["linkpath"] = text.rstrip("\0")
        elif self._note_type == tarfile.XGLTYPE:
            _ensure(not _records(note), "renames all members")
        else:
            self._pax |= _records(note)


def _parse(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise InvalidRequest(f"this is no tar archive: {error}", field="body") from None


def _member(info: tarfile.TarInfo, name: str, target: str | None, size: int) -> Member:
    if info.type in _FILES:
        _ensure(size >= 0, "holds a file of negative size")
        executable = bool(info.mode & 0o100)
        return Member(name=name, kind="file", size=size, is_executable=executable)
    if info.type == tarfile.DIRTYPE:
        return Member(name=name, kind="folder")
    if info.type == tarfile.SYMTYPE:
        return Member(name=name, kind="link", target=target or info.linkname)
    kind = _KINDS.get(info.type, "something unknown")
    raise InvalidRequest(
        f"{name[:200]!a} is {kind}; an archive may hold files, folders and symbolic links",
        field="body",
    )


def _records(note: bytes) -> dict[str, str]:
    """What is heard of a pax header; its pairs are each `LENGTH KEY=VALUE` and a newline."""
    found: dict[str, str] = {}
    at, end = 0, len(note.rstrip(b"\0"))
    while at < end:
        digits, _, _ = note[at : at + _DIGITS].partition(b" ")
        length = _number(digits.decode("ascii", "replace"))
        record = note[at : at + length]
        _ensure(0 < length == len(record) and record.endswith(b"\n"), "holds a broken header")
        key, _, value = record[len(digits) + 1 : -1].partition(b"=")
        _ensure(not key.startswith(b"GNU.sparse."), "holds a sparse file")
        if (name := key.decode("utf-8", "replace")) in _HEARD:
            found[name] = value.decode("utf-8", "surrogateescape")
        at += length
    return found


def _number(text: str) -> int:
    _ensure(text.isascii() and text.isdigit() and len(text) < _DIGITS, "holds a broken header")
    return int(text)


def _ensure(is_so: bool, what: str) -> None:
    if not is_so:
        raise InvalidRequest(f"the archive {what}", field="body")
