"""Stores a native message beside its event; a text that both hold is stored once.

An agent's message and the event made from it mostly say the same words, encoded in the same way.
Of a large message only what surrounds these words is kept; reading it puts them back together.
"""

from __future__ import annotations

MIN_BYTES = 1024
_ANCHOR_BYTES = 64
_HEAD_BYTES = 2048
"""The field that streams stands near the front of a line."""
_FIELDS = (b'"delta":"', b'"text":"', b'"output":"', b'"arguments":"')


Shared = tuple[int | None, int | None, int | None]
"""cut, at, size: `raw[:cut] + line[at:at + size] + raw[cut:]` is the message; or nothing is."""
NOTHING: Shared = (None, None, None)


def share(line: bytes, raw: bytes) -> tuple[bytes, Shared]:
    """Leave out of a message what its event's line holds too, where that is worth it."""
    if len(raw) < MIN_BYTES:
        return raw, NOTHING
    for field in _FIELDS:
        at = line.find(field, 0, _HEAD_BYTES) + len(field)
        if at < len(field):
            continue
        cut = raw.find(line[at : at + _ANCHOR_BYTES])
        if cut < 0:
            continue
        size = _common(line, at, raw, cut)
        if size >= MIN_BYTES // 2:
            return raw[:cut] + raw[cut + size :], (cut, at, size)
    return raw, NOTHING


def _common(line: bytes, at: int, raw: bytes, cut: int) -> int:
    """How far two texts go together: to the end of the string if it is plain, else by halves."""
    longest = min(len(line) - at, len(raw) - cut)
    plain = line.find(b'"', at) - at
    ends = 0 < plain <= longest and line[at + plain - 1 : at + plain] != b"\\"
    if ends and line[at : at + plain] == raw[cut : cut + plain]:
        return plain
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if line[at + low : at + middle] == raw[cut + low : cut + middle]:
            low = middle
        else:
            high = middle - 1
    return low


def whole(alias: str) -> str:
    """SQL for a message, whole again."""
    a = alias
    return (
        f"CASE WHEN {a}.raw_cut IS NULL THEN {a}.raw ELSE substr({a}.raw, 1, {a}.raw_cut) || "
        f"substr({a}.line, {a}.raw_from + 1, {a}.raw_size) || substr({a}.raw, {a}.raw_cut + 1) END"
    )


def whole_size(alias: str) -> str:
    """SQL for the size of a message."""
    return f"length({alias}.raw) + coalesce({alias}.raw_size, 0)"
