"""Case 11: an archive that explodes, or holds what it should not, is refused while it streams."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zlib
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from tests.cases.common import eventually, memory_bytes, open_files
from tests.daemon import Daemon, Reply, running
from tests.http.fs import Fs, member, tar

MIB = 1024 * 1024
LIMITS = {
    "DRAGOMAN_MAX_UPLOAD_BYTES": str(64 * MIB),
    "DRAGOMAN_MAX_ARCHIVE_ENTRIES": "1000",
    "DRAGOMAN_MAX_ARCHIVE_RATIO": "50",
}


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with narrow limits, and one file that is there before."""
    with running(tmp_path_factory.mktemp("limited"), env=LIMITS) as daemon:
        (daemon.files / "there").write_text("before")
        yield daemon


def assert_refused(daemon: Daemon, reply: Reply, status: int, limit: str | None = None) -> None:
    """It was refused, and nothing is left of it."""
    assert reply.status == status, reply.body
    assert limit is None or reply.json["details"]["limit"] == limit
    assert [path.name for path in daemon.files.rglob("*")] == ["there"]
    assert (daemon.files / "there").read_text() == "before"


def header(name: str, size: int, **more: Any) -> bytes:
    info, _ = member(name, **more)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


def swelling(size: int) -> Iterator[bytes]:
    """A gzip of an archive with one huge file of zeros, made while it is sent."""
    packer = zlib.compressobj(9, wbits=31)
    yield packer.compress(header("zeros", size)) + packer.flush(zlib.Z_FULL_FLUSH)
    # What comes after a full flush does not depend on what was before it, but for the checksum at
    # the very end, which nobody may get to.
    yield from repeat(packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH), size // MIB)


def test_case_11_a_gigabyte_out_of_a_megabyte_is_refused_early(limited: Daemon) -> None:
    before = memory_bytes(limited)
    reply = Fs(limited).unpack(b"".join(swelling(1024 * MIB)), "new")
    assert_refused(limited, reply, 413)
    assert memory_bytes(limited) - before < 60 * MIB


def test_case_11_what_swells_too_much_is_refused(limited: Daemon) -> None:
    archive = b"".join(swelling(32 * MIB))
    reply = Fs(limited).unpack(archive, "new", "application/gzip")
    assert_refused(limited, reply, 413, "max_archive_ratio")


def test_case_11_a_size_that_is_only_promised_is_refused_at_once(limited: Daemon) -> None:
    reply = Fs(limited).unpack(header("file", 10 * 1024**3), "new")
    assert_refused(limited, reply, 413, "max_upload_bytes")


def test_case_11_more_than_was_allowed_is_refused_while_it_comes(limited: Daemon) -> None:
    def archive() -> Iterator[bytes]:
        for number in range(100):
            yield header(f"file-{number}", MIB) + bytes(MIB)

    assert_refused(limited, Fs(limited).unpack(archive()), 413, "max_upload_bytes")


def test_case_11_a_million_entries_are_refused(limited: Daemon) -> None:
    many = b"".join(header(f"f{number}", 0) for number in range(20_000))
    assert_refused(limited, Fs(limited).unpack(many), 413, "max_archive_entries")
    deep = b"".join(header(f"{number}/" + "d/" * 40 + "f", 0) for number in range(100))
    assert_refused(limited, Fs(limited).unpack(deep), 413, "max_archive_entries")


def notes(count: int) -> Iterator[bytes]:
    """Headers about a member that never comes, each with a few hundred keys of its own."""
    for number in range(count):
        pairs = b"".join(b"14 %08x=x\n" % (number * 300 + key) for key in range(300))
        yield header("n", len(pairs), type=tarfile.XHDTYPE)
        yield pairs.ljust(-(-len(pairs) // 512) * 512, b"\0")


def test_case_11_what_is_said_of_no_member_takes_no_memory(limited: Daemon) -> None:
    before = memory_bytes(limited)
    archive = gzip.compress(b"".join(notes(10_000)), 1)
    assert_refused(limited, Fs(limited).unpack(archive), 400)
    assert memory_bytes(limited) - before < 30 * MIB


def loose(size: int) -> bytes:
    """Bytes that can be packed, but not too well."""
    chance = random.Random(size)
    return b"".join(chance.randbytes(64) + bytes(448) for _ in range(size // 512))


def remark(size: int) -> bytes:
    """A header about a member that says nothing."""
    record = b"%d comment=" % size + loose(size + 512)
    record = record[: size - 1] + b"\n"
    return header("n", size, type=tarfile.XHDTYPE) + record.ljust(-(-size // 512) * 512, b"\0")


@pytest.mark.parametrize(
    "archive",
    [
        pytest.param(lambda: tar(member("a", b"x")) + loose(MIB) * 65, id="after the end"),
        pytest.param(lambda: (remark(60_000) * 4 + header("a", 0)) * 300, id="notes"),
    ],
)
def test_case_11_every_byte_that_comes_out_counts(
    limited: Daemon, archive: Callable[[], bytes]
) -> None:
    packed = gzip.compress(archive(), 1)
    assert len(packed) < 32 * MIB
    reply = Fs(limited).unpack(packed)
    assert_refused(limited, reply, 413, "max_upload_bytes")


@pytest.mark.parametrize(
    "name", ["../out", "a/../../out", "/etc/out", "..", "a\\..\\..\\out", "d/" * 65 + "f"]
)
@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_case_11_names_that_lead_out_are_refused(limited: Daemon, name: str, format: int) -> None:
    archive = tar(member("first", b"x"), member(name, b"out"), format=format)
    assert_refused(limited, Fs(limited).unpack(archive), 400)


@pytest.mark.parametrize(
    "more",
    [
        {"type": tarfile.LNKTYPE, "linkname": "there"},
        {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3},
        {"type": tarfile.BLKTYPE, "devmajor": 7, "devminor": 0},
        {"type": tarfile.FIFOTYPE},
        {"type": tarfile.GNUTYPE_SPARSE},
        {"type": b"?"},
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.SYMTYPE, "linkname": "../there"},
        {"type": tarfile.SYMTYPE, "linkname": "a/../../there"},
        {"type": tarfile.SYMTYPE, "linkname": ""},
        {"type": tarfile.SYMTYPE, "linkname": "a/../b"},
    ],
    ids=str,
)
def test_case_11_what_no_archive_should_hold_is_refused(
    limited: Daemon, more: dict[str, Any]
) -> None:
    archive = tar(member("first", b"x"), member("odd", **more), format=tarfile.GNU_FORMAT)
    assert_refused(limited, Fs(limited).unpack(archive), 400)


def test_case_11_a_file_behind_a_link_of_the_same_archive_is_refused(limited: Daemon) -> None:
    archive = tar(
        member("real/x", b"x"),
        member("link", type=tarfile.SYMTYPE, linkname="real"),
        member("link/file", b"x"),
    )
    assert_refused(limited, Fs(limited).unpack(archive), 400)


def test_case_11_links_cannot_leave_together_either(limited: Daemon) -> None:
    archive = tar(
        member("d/l1", type=tarfile.SYMTYPE, linkname=".."),
        member("e/l2", type=tarfile.SYMTYPE, linkname="../d/l1/.."),
    )
    assert_refused(limited, Fs(limited).unpack(archive), 400)


def test_case_11_a_link_may_lead_through_another_one_and_down(tmp_path: Path) -> None:
    archive = tar(
        member("releases/1/app", b"x"),
        member("current", type=tarfile.SYMTYPE, linkname="releases/1"),
        member("bin/app", type=tarfile.SYMTYPE, linkname=".././current/app"),
    )
    with running(tmp_path / "data") as daemon:
        assert Fs(daemon).unpack(archive).status == 200
        assert (daemon.files / "bin" / "app").read_bytes() == b"x"


def test_case_11_gzip_may_be_padded_and_come_in_several_parts(tmp_path: Path) -> None:
    whole = tar(member("a", loose(2 * MIB)), member("b", b"y"))
    half = len(whole) // 2
    parts = gzip.compress(whole[:half]) + gzip.compress(whole[half:])
    with running(tmp_path / "data") as daemon:
        for number, archive in enumerate(
            (parts, parts + bytes(10_000), gzip.compress(whole) + bytes(1), gzip.compress(whole))
        ):
            reply = Fs(daemon).unpack(archive, str(number))
            assert reply.status == 200, reply.body
        assert Fs(daemon).unpack(parts + bytes(100) + b"x").status == 400


def test_case_11_broken_archives_are_refused(limited: Daemon) -> None:
    whole = tar(member("a", b"x" * 5000), member("b" * 150, b"y"))
    packed = gzip.compress(whole)
    pax = io.BytesIO()
    with tarfile.open(fileobj=pax, mode="w", format=tarfile.PAX_FORMAT) as file:
        info, _ = member("p")
        info.pax_headers = {"GNU.sparse.major": "1"}
        file.addfile(info)
    for archive in (
        b"", b"x", b"no archive at all", bytes(511), whole[:3000], whole[:-10240], packed[:-20],
        packed[:50], b"\x1f\x8b" + bytes(100), header("x", -5), whole.replace(b"ustar", b"uster"),
        pax.getvalue(), header("n", 1 << 30, type=tarfile.GNUTYPE_LONGNAME),
        header("n", 0, type=tarfile.XHDTYPE), header("n", 5, type=b"x") + b"9 a=b".ljust(512),
    ):  # fmt: skip
        assert_refused(limited, Fs(limited).unpack(archive, "new/folder"), 400)


def test_case_11_forms_are_415(limited: Daemon) -> None:
    for type in ("text/plain", "multipart/form-data; boundary=b", "application/zip", ""):
        assert_refused(limited, Fs(limited).unpack(tar(member("a")), type=type), 415)


def test_case_11_an_upload_that_is_cut_leaves_nothing(limited: Daemon) -> None:
    before = open_files(limited)
    connection = limited.connect()
    connection.putrequest("POST", "/v1/fs/upload-batch?path=new")
    told = {"Content-Length": "5000000", "Content-Type": "application/x-tar"}
    for name, value in limited.headers(**told).items():
        connection.putheader(name, value)
    connection.endheaders(header("file", 4_000_000) + bytes(1_000_000))
    connection.close()
    eventually(lambda: open_files(limited) <= before, "all descriptors are back")
    assert [path.name for path in limited.files.rglob("*")] == ["there"]


def test_case_11_one_that_does_not_fit_changes_nothing(limited: Daemon) -> None:
    archive = tar(member("a/new", b"x"), member("there/below", b"x"))
    assert_refused(limited, Fs(limited).unpack(archive), 409)
    assert_refused(limited, Fs(limited).unpack(tar(member("x", b"x")), "there"), 409)


def test_case_11_a_good_archive_is_unpacked_over_what_is_there(tmp_path: Path) -> None:
    long = "/".join(["long" * 20] * 4)
    members = (
        member("./", type=tarfile.DIRTYPE),
        member("./empty/", type=tarfile.DIRTYPE),
        member("./bin/run", b"#!/bin/sh\n", mode=0o755),
        member("./bin/alias", type=tarfile.SYMTYPE, linkname="../bin/run"),
        member("readme", b"first"),
        member("readme", b"second"),
        member(f"{long}/é", b"z" * 100_000),
    )
    with running(tmp_path / "data") as daemon:
        fs = Fs(daemon)
        for number, format in enumerate(
            (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
        ):
            folder = daemon.files / f"f{number}" / "below"
            fs.write(f"f{number}/below/readme", b"old")
            fs.write(f"f{number}/below/bin/kept", b"kept")
            fitting = members if format != tarfile.USTAR_FORMAT else members[:-1]
            archive = tar(*fitting, format=format)
            reply = fs.unpack(gzip.compress(archive) if number else archive, f"f{number}/below")
            assert reply.status == 200, reply.body
            assert reply.json["truncated"] is False
            assert reply.json["paths"][:3] == [
                f"{folder}/empty", f"{folder}/bin/run", f"{folder}/bin/alias",
            ]  # fmt: skip
            assert (folder / "readme").read_text() == "second"
            assert (folder / "bin" / "kept").read_text() == "kept"
            assert (folder / "bin" / "run").stat().st_mode & 0o100
            assert (folder / "bin" / "alias").readlink() == Path("../bin/run")
            assert not list(daemon.files.rglob(".dragoman-*"))
        assert (folder / long / "é").stat().st_size == 100_000


def test_case_11_only_so_many_paths_are_named(daemon: Daemon) -> None:
    archive = tar(*(member(f"f{number:04}") for number in range(1500)))
    reply = Fs(daemon).unpack(archive, "many", "application/octet-stream")
    assert len(reply.json["paths"]) == 1024
    assert reply.json["truncated"] is True
    assert len(list((daemon.files / "many").iterdir())) == 1500
