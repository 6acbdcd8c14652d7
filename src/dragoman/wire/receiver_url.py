"""Where webhooks may be sent: what a receiver's URL must be. Pure."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

MAX_URL = 2048
_EXAMPLE = "right is e.g. https://example.com/dragoman"
_BLANK = re.compile(r"[\x00-\x20\x7f-\x9f\s]")


def ensure_receiver(url: str) -> None:
    """Raise ValueError, with what would be right, where nothing can be sent to this URL."""
    if len(url) > MAX_URL:
        raise ValueError(f"the URL has {len(url)} characters, and may have {MAX_URL}")
    if _BLANK.search(url):
        raise ValueError(f"the URL holds a blank or a control character; {_EXAMPLE}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"this is no URL ({error}); {_EXAMPLE}") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"the URL must begin with https:// or http://; {_EXAMPLE}")
    if not host or port == 0:
        raise ValueError(f"the URL names no host, or no port that there is; {_EXAMPLE}")
    if "@" in parts.netloc:
        raise ValueError(
            "the URL holds a user name or a password; remove it: the receiver knows us by the "
            f"signature. {_EXAMPLE.capitalize()}"
        )
    if parts.fragment:
        raise ValueError(f"what is behind the # of a URL is never sent; {_EXAMPLE}")


def is_local(url: str) -> bool:
    """Whether a receiver is on this machine, as far as its URL says so."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
