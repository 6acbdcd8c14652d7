"""The hash chain of a log: each link covers an event's line and the link before it.

Two logs that have the same link at a sequence are the same up to there. So a reader that keeps one
link knows whether the log it comes back to is the one that it has read.
"""

from __future__ import annotations

from hashlib import blake2b

ORIGIN = bytes(16)
"""The link before the first event."""


def next_link(previous: bytes, line: bytes) -> bytes:
    """The link of an event: BLAKE2b-128 over the one before it and the stored line."""
    if len(line) < 2048:
        return blake2b(previous + line, digest_size=len(ORIGIN)).digest()
    digest = blake2b(previous, digest_size=len(ORIGIN))
    digest.update(line)  # a large one without a copy, and without the interpreter's lock
    return digest.digest()
