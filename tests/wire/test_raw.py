from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.raw import as_json

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def unwrapped(raw: bytes) -> bytes:
    wrapper = json.loads(raw)
    assert list(wrapper) == ["encoding", "data"]
    assert wrapper["encoding"] == "base64"
    return base64.b64decode(wrapper["data"], validate=True)


@given(values, st.booleans())
def test_json_stands_there_verbatim(value: Any, ascii_only: bool) -> None:
    message = json.dumps(value, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    assert as_json(message) == message


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b" ",
        b"npm warn deprecated",
        b'{"a":1}\r',
        b'{"a":\n1}',
        b"\r{}",
        b"{}{}",
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf{}",
        b'"\x00"',
        rb'"\ud83d"',
        b"NaN",
        b"01",
        b"[" * 100_000 + b"]" * 100_000,
        b"[" * 201 + b"]" * 201,
    ],
)
def test_anything_else_stands_there_as_base64(message: bytes) -> None:
    assert unwrapped(as_json(message)) == message


@given(st.binary() | st.text().map(str.encode) | st.text().map(lambda text: f'"{text}"'.encode()))
def test_any_bytes_become_one_line_of_json_that_keeps_them(message: bytes) -> None:
    raw = as_json(message)
    assert b"\n" not in raw
    assert b"\r" not in raw
    json.loads(raw.decode())
    assert raw == message or unwrapped(raw) == message
