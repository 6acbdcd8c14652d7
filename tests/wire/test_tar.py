"""A tar archive is understood in whatever pieces it comes."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InvalidRequest
from dragoman.wire.tar import Member, Tar
from tests.http.fs import member, tar

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=60)


def read(pieces: Iterable[bytes]) -> list[tuple[Member, bytes]]:
    """The members of an archive, each with its bytes."""
    reader, found = Tar(), list[tuple[Member, bytes]]()
    for piece in pieces:
        for each in reader.feed(piece):
            if isinstance(each, Member):
                found.append((each, b""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + each)
    reader.close()
    return found


def split(data: bytes, sizes: list[int]) -> Iterable[bytes]:
    at = 0
    for size in sizes:
        yield data[at : at + size]
        at += size
    yield data[at:]


@given(
    files=st.dictionaries(NAMES, st.binary(max_size=1500), max_size=4),
    format=st.sampled_from(FORMATS),
    sizes=st.lists(st.integers(1, 700), max_size=20),
)
def test_what_was_packed_comes_out_however_it_is_cut(
    files: dict[str, bytes], format: int, sizes: list[int]
) -> None:
    files = {name: content for name, content in files.items() if name not in (".", "..")}
    try:
        archive = tar(*(member(*file) for file in files.items()), format=format)
    except ValueError:
        return  # the oldest format has no room for long names
    found = {each.name: content for each, content in read(split(archive, sizes))}
    assert found == files


@given(st.binary(max_size=3000), st.lists(st.integers(1, 700), max_size=5))
def test_anything_else_is_refused_in_words(data: bytes, sizes: list[int]) -> None:
    if data[:512].strip(b"\0"):
        with pytest.raises(InvalidRequest):
            read(split(data, sizes))


def test_long_names_links_and_notes_belong_to_the_next_member() -> None:
    long = "/".join(["part" * 20] * 3)
    for format in FORMATS[1:]:
        archive = tar(
            member(long, b"x"),
            member("link", type=tarfile.SYMTYPE, linkname=long),
            member("plain", b"y", mode=0o755),
            format=format,
        )
        assert read([archive]) == [
            (Member(long, "file", 1), b"x"),
            (Member("link", "link", target=long), b""),
            (Member("plain", "file", 1, is_executable=True), b"y"),
        ]


def test_what_comes_after_the_end_is_nobodys_business() -> None:
    assert len(read([tar(member("a")), b"anything"])) == 1
