"""An image for probes."""

from __future__ import annotations

import struct
import zlib

SIZE = 16


def _chunk(kind: bytes, data: bytes) -> bytes:
    checked = kind + data
    return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))


def _png() -> bytes:
    # Eight bits, red green blue; each row begins with its filter, which is none.
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\xc0\x30\x30" * SIZE) * SIZE
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


PNG = _png()
"""A red square."""
