from __future__ import annotations

import hashlib
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.wire.jsonl import HEAD_BYTES, Lines, Oversize
from tests.wire.chunks import cut, places

# Few letters and many line ends, so that short streams hold many lines.
streams = st.lists(st.sampled_from([b"\n", b"\r", b" ", b"a", b"\xe2\x80\xa8", b"bcdefgh"])).map(
    b"".join
)


def split(stream: bytes, max_bytes: int, cuts: list[int] | None = None) -> list[bytes | Oversize]:
    lines = Lines(max_bytes)
    found = [line for chunk in cut(stream, cuts or []) for line in lines.feed(chunk)]
    return found + lines.close()


def expected(stream: bytes, max_bytes: int) -> list[bytes | Oversize]:
    """What the splitter promises, written down without chunks."""
    found: list[bytes | Oversize] = []
    for line in stream.split(b"\n"):
        if len(line) > max_bytes:
            digest = hashlib.sha256(line).hexdigest()
            found.append(Oversize(size=len(line), sha256=digest, head=line[:HEAD_BYTES]))
        elif line.strip(b" \r"):
            found.append(line)
    return found


@given(streams | st.binary(max_size=300), places, st.integers(min_value=1, max_value=40))
@example(b"ab\ncd", [2], 40)
@example(b"a" * 5 + b"\nb", [3], 4)
def test_any_chunking_gives_the_same_lines(stream: bytes, cuts: list[int], max_bytes: int) -> None:
    assert split(stream, max_bytes, cuts) == expected(stream, max_bytes)


def test_only_the_byte_lf_ends_a_line() -> None:
    stream = "a\u2028b\rc\x85d\n".encode()
    assert split(stream, 100) == ["a\u2028b\rc\x85d".encode()]


def test_blank_lines_are_dropped() -> None:
    assert split(b"\n \r\n\r\n{}\r\n   \n", 100) == [b"{}\r"]


def test_the_unterminated_rest_comes_at_the_end_once() -> None:
    lines = Lines(100)
    assert lines.feed(b"one\ntwo") == [b"one"]
    assert lines.close() == [b"two"]
    assert lines.close() == []


@pytest.mark.parametrize(("size", "kept"), [(99, True), (100, True), (101, False)])
@pytest.mark.parametrize("cuts", [[], [50]])
def test_the_limit_is_the_largest_line_that_is_kept(size: int, kept: bool, cuts: list[int]) -> None:
    (line,) = split(b"x" * size + b"\n", 100, cuts)
    assert isinstance(line, bytes) is kept


def test_the_line_after_an_oversize_one_is_intact() -> None:
    big = bytes(range(32, 127)) * 100
    lines = Lines(1000)
    found = [
        line for chunk in (big[:700], big[700:] + b"\n{", b"}\n") for line in lines.feed(chunk)
    ]
    digest = hashlib.sha256(big).hexdigest()
    assert found == [Oversize(size=9500, sha256=digest, head=big[:1024]), b"{}"]


def test_an_endless_line_is_not_kept_in_memory() -> None:
    chunk = b"x" * 65536
    lines = Lines(1 << 20)
    tracemalloc.start()
    try:
        for _ in range(1024):
            assert lines.feed(chunk) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20
    (line,) = lines.close()
    assert isinstance(line, Oversize)
    assert line.size == 1024 * len(chunk)
