"""The file of stderr: the beginning, the latest, and a bound for both."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.runtime.processes import stderr
from dragoman.runtime.processes.stderr import HELD_BYTES, StderrFile, StderrFilter, without_secrets
from dragoman.wire.redactor import Redactor

CAP = 4096


def keep(data_dir: Path, *chunks: bytes, wait: bool = True, name: str = "s") -> dict[str, bytes]:
    """Write the chunks; what is in the files then."""

    async def run() -> None:
        file = StderrFile(data_dir, name, CAP)
        for chunk in chunks:
            file.feed(chunk)
            if wait:
                await file.close()
        await file.close()

    asyncio.run(run())
    return {path.name: path.read_bytes() for path in (data_dir / "stderr").iterdir()}


def test_what_is_short_is_in_one_file(tmp_path: Path) -> None:
    assert keep(tmp_path, b"one\n", b"\xff\n") == {"s.log": b"one\n\xff\n"}
    assert keep(tmp_path, b"two\n") == {"s.log": b"one\n\xff\ntwo\n"}


def test_the_beginning_stays_and_the_end_is_the_latest(tmp_path: Path) -> None:
    chunks = [b"%04d\n" % number for number in range(2000)]
    found = keep(tmp_path, *chunks)
    assert sum(map(len, found.values())) <= CAP
    whole = b"".join(chunks)
    assert whole.startswith(found["s.log"])
    assert len(found["s.log"]) == CAP // 2
    assert whole.endswith(found["s+tail.1.log"] + found["s+tail.log"])


def test_one_chunk_may_be_more_than_everything(tmp_path: Path) -> None:
    chunk = bytes(range(256)) * 64
    found = keep(tmp_path, chunk)
    assert found == {"s.log": chunk[: CAP // 2], "s+tail.log": chunk[-CAP // 4 :]}


def test_of_what_comes_faster_than_the_disk_the_latest_is_kept(tmp_path: Path) -> None:
    pieces = [letter * (HELD_BYTES // 4) for letter in (b"a", b"b", b"c", b"d", b"e", b"f")]
    found = keep(tmp_path, *pieces, wait=False)
    note = b"\n[%d bytes came too fast to be kept]\n" % (HELD_BYTES // 2)
    assert found["s.log"].startswith(note + b"c")
    assert found["s+tail.log"].endswith(b"f")


def test_a_session_is_forgotten_and_those_that_begin_alike_are_not(tmp_path: Path) -> None:
    flood = b"x" * 2 * CAP
    for name in ("s", "s.1", "s-tail"):
        keep(tmp_path, flood, flood, name=name)
    stderr.remove(tmp_path, "s")
    stderr.remove(tmp_path, "never there")
    left = {
        path.name.partition("+")[0].removesuffix(".log") for path in (tmp_path / "stderr").iterdir()
    }
    assert left == {"s.1", "s-tail"}


def test_a_link_in_its_place_is_not_followed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "stderr").mkdir()
    (tmp_path / "stderr" / "s.log").symlink_to(tmp_path / "elsewhere")
    keep_nothing(tmp_path)
    assert not (tmp_path / "elsewhere").exists()
    assert "stderr is not kept" in caplog.text


def keep_nothing(data_dir: Path) -> None:
    async def run() -> None:
        file = StderrFile(data_dir, "s", CAP)
        file.feed(b"secret")
        await file.close()

    asyncio.run(run())


KEY, LINES = "sk-ant-0123456789", "first line\nsecond line"
REDACTOR = Redactor([("KEY", KEY), ("LINES", LINES)])
words = st.lists(
    st.sampled_from([KEY, LINES, KEY[:5], "first line\n", "word", " ", "\n", "é", "\udcff"]),
    max_size=12,
).map("".join)


@given(words, st.lists(st.integers(0, 200), max_size=12))
@example(KEY[:5] + KEY[:5] + "first line\n", [])  # a key that ends where a value may begin
def test_however_it_is_written_nothing_secret_is_kept(text: str, places: list[int]) -> None:
    data = text.encode(errors="surrogateescape")
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    filter = StderrFilter(lambda: REDACTOR)
    kept = b"".join(filter.feed(data[a:b]) for a, b in itertools.pairwise(edges)) + filter.close()
    assert kept == without_secrets(data, REDACTOR)
    assert KEY.encode() not in kept
    assert LINES.encode() not in kept


def test_a_line_without_end_is_kept_as_it_comes_and_cut_in_no_secret() -> None:
    filter = StderrFilter(lambda: REDACTOR)
    kept = filter.feed(b"x" * 100_000 + KEY[:9].encode())
    assert len(kept) > 99_000
    kept += filter.feed(KEY[9:].encode() + b"\n")
    assert kept == b"x" * 100_000 + b"[redacted:KEY]\n"
