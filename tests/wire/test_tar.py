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


def noted(records: dict[str, str], type: bytes = tarfile.XHDTYPE) -> bytes:
    """A header that says something about the next member, and nothing else."""
    note = b"".join(_record(key, value) for key, value in records.items())
    info, _ = member("note", type=type)
    info.size = len(note)
    return info.tobuf(tarfile.GNU_FORMAT) + note.ljust(-(-len(note) // 512) * 512, b"\0")


def _record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n".encode()
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length += 1
    return str(length).encode() + rest


@pytest.mark.parametrize("type", [tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_notes_without_a_member_are_refused(type: bytes) -> None:
    assert len(read([noted({"mtime": "1"}, type) * 4 + tar(member("a"))])) == 1
    with pytest.raises(InvalidRequest, match="no file after them"):
        read([noted({"mtime": "1"}, type) * 5 + tar(member("a"))])


def test_of_many_notes_on_a_member_each_says_its_part() -> None:
    notes = noted({"path": "long", "comment": "x"}) + noted({"size": "1", "mtime": "1"})
    assert read([notes + tar(member("a", b"x"))]) == [(Member("long", "file", 1), b"x")]


def test_what_is_said_of_all_members_may_not_rename_them() -> None:
    archive = noted({"comment": "a commit"}, tarfile.XGLTYPE) + tar(member("a", b"x"))
    assert read([archive]) == [(Member("a", "file", 1), b"x")]
    for key in ("path", "linkpath", "size"):
        with pytest.raises(InvalidRequest, match="renames all members"):
            read([noted({key: "1"}, tarfile.XGLTYPE) + tar(member("a"))])
