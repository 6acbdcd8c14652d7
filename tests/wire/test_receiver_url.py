"""Where webhooks may be sent."""

from __future__ import annotations

import pytest

from dragoman.wire.receiver_url import ensure_receiver, is_local


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("https://example.com/dragoman?key=1", False),
        ("http://127.0.0.1:8000", True),
        ("http://[::1]:8000/a", True),
        ("http://localhost/", True),
        ("https://a.localhost", True),
        ("http://localhost.example.com", False),
        ("http://192.168.0.7:99/", False),
    ],
)
def test_a_receiver_may_be_anywhere(url: str, local: bool) -> None:
    ensure_receiver(url)
    assert is_local(url) is local


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("", "must begin with https://"),
        ("example.com", "must begin with https://"),
        ("ftp://example.com", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https://", "names no host"),
        ("https:///path", "names no host"),
        ("https://example.com:0/", "names no host"),
        ("https://example.com:99999/", "no URL"),
        ("https://[::1/", "no URL"),
        ("https://user:word@example.com", "remove it"),
        ("https://user@example.com", "remove it"),
        ("https://example.com/a b", "blank"),
        ("https://example.com/\n", "blank"),
        ("https://example.com/#there", "never sent"),
        ("https://example.com/" + "x" * 3000, "may have 2048"),
    ],
)
def test_what_is_no_receiver_is_refused_with_what_would_be_right(url: str, right: str) -> None:
    with pytest.raises(ValueError, match=right) as refused:
        ensure_receiver(url)
    assert "word" not in str(refused.value).replace("password", "")
