"""Patterns of API keys and credentials, for logs and stderr.

In what an agent says to people such a shape may be an example, so there only known values go.
"""

from __future__ import annotations

import re

MASK = "[redacted]"
TOKEN_PREFIX = "dgm_"
"""Named tokens of ours begin so: those that are found where they should not be can be told."""
TOKEN = rf"{TOKEN_PREFIX}[A-Za-z0-9_-]{{43}}"
"""The prefix, and 32 random bytes in base64."""

_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{8,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{20,}"
    r"|npm_[A-Za-z0-9]{30,}"
    r"|hf_[A-Za-z0-9]{30,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[A-Za-z0-9_-]{35}"
    r"|whsec_[A-Za-z0-9+/]{20,}={0,2}"
    rf"|{TOKEN})"
)
_BEARER = re.compile(r"\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{8,}")
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_HINTS = (
    "sk", "pk", "rk", "gh", "github_pat_", "glpat-", "npm_", "hf_", "xox", "AKIA", "ASIA", "AIza",
    "whsec_", TOKEN_PREFIX, "Bearer ", "Basic ", "PRIVATE KEY-----",
)  # fmt: skip
"""Each shape holds one of these, and most texts hold none: that is quickly seen."""

_AUTHORIZATION = re.compile(
    r"""(authorization["']?\s*[:=,]\s*)(?:b?(["']).*?\2|[^\r\n]+)""", re.IGNORECASE
)
_CREDENTIALS = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_QUERY = re.compile(r"(token(?:=|%3d))[^&\s\"'#]+", re.IGNORECASE)


def key_opens_at(text: str) -> int:
    """Where a private key begins whose end is not in the text; its length: nowhere."""
    begins = text.rfind("-----BEGIN ")
    if begins > text.rfind("-----END ") and _KEY_BEGINS.match(text, begins):
        return begins
    return len(text)


def without_keys(text: str, mask: str = MASK) -> str:
    """The text with a mask in the place of what looks like a key."""
    if not any(hint in text for hint in _HINTS):
        return text
    text = _PRIVATE_KEY.sub(mask, text)
    text = _KEYS.sub(mask, text)
    return _BEARER.sub(rf"\1 {mask}", text)


def without_credentials(text: str) -> str:
    """The text without what HTTP requests carry: headers and queries that let somebody in."""
    text = _AUTHORIZATION.sub(rf"\1{MASK}", text)
    text = _CREDENTIALS.sub(rf"\1 {MASK}", text)
    return _QUERY.sub(rf"\1{MASK}", text)
