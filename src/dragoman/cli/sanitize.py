"""Makes agents' text safe for a terminal."""

from __future__ import annotations

import re

# Sequences that a terminal acts upon: OSC, DCS, SOS, PM and APC with their payload, CSI, and
# the two-character escapes; each also in its C1 spelling.
_SEQUENCES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-Z\\^-~]"
)
# C0 but tab and line feed, DEL, C1, and the marks that reverse the order of the letters.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Remove control sequences and control characters; keep line feeds and tabs."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


def reveal(text: str) -> str:
    """Spell control characters out, for what a person approves: nothing may hide in it."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def inert(json: bytes) -> str:
    """The same JSON, with everything escaped that a terminal would obey."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.decode())


def line(text: str, most: int = 120) -> str:
    """Clean text on one line, cut to a length."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
