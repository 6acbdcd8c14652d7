"""Logs are bounded, private, readable by programs, and hold no secret."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman import logs

SECRET = "tok/en+with=signs"
log = logging.getLogger("dragoman.test")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A log file; afterwards logging is as it was before."""
    root, ours = logging.getLogger(), logging.getLogger("dragoman")
    before = root.handlers[:], root.level, ours.level
    yield tmp_path / "logs" / "dragoman.log"
    for handler in root.handlers[:]:
        if handler not in before[0]:
            root.removeHandler(handler)
            handler.close()
    root.setLevel(before[1])
    ours.setLevel(before[2])


def lines(path: Path) -> list[dict[str, Any]]:
    """What the file holds."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_record_is_one_json_line_with_its_fields(path: Path) -> None:
    logs.configure("info", path)
    log.info("session %s created", "s1", extra={"session_id": "s1", "took": {"ms": 3}})
    (line,) = lines(path)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "dragoman.test",
        "message": "session s1 created",
        "session_id": "s1",
        "took": {"ms": 3},
    }


def test_a_newline_or_an_escape_forges_no_line(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure("info", path)
    log.warning('x\n{"level": "error"}\x1b[2J\x9b')
    assert len(lines(path)) == 1
    told = capsys.readouterr().err
    assert told == 'dragoman: warning: x\\n{"level": "error"}\\x1b[2J\\x9b\n'


def test_people_see_warnings_only_and_short(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("debug", path)
    log.info("quiet")
    try:
        raise ValueError("the reason")
    except ValueError:
        log.exception("it failed")
    assert capsys.readouterr().err == "dragoman: error: it failed (ValueError: the reason)\n"
    assert "Traceback" in lines(path)[1]["exception"]


@pytest.mark.parametrize(
    ("level", "expected"),
    [("debug", ["d", "i", "w"]), ("info", ["i", "w"]), ("error", [])],
)
def test_the_level_is_kept(path: Path, level: str, expected: list[str]) -> None:
    logs.configure(level, path)
    log.debug("d")
    log.info("i")
    log.warning("w")
    assert [line["message"] for line in lines(path)] == expected


def test_libraries_do_not_get_to_debug_into_our_log(path: Path) -> None:
    logs.configure("debug", path)
    logging.getLogger("some.library").debug("whole request")
    assert path.read_text() == ""


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef123",
        "authorization=Token abcdef123",
        "{'Authorization': 'Basic abcdef123'}",
        "(b'authorization', b'Digest user=\"x\", abcdef123')",
        '{"authorization": "abcdef123"}',
        "sent Bearer abcdef123 along",
        "GET /v1/x?token=abcdef123&a=b",
        "GET /v1/x?a=b&access_token=abcdef123 HTTP/1.1",
        "next=%2F%3Ftoken%3Dabcdef123",
    ],
)
def test_a_token_does_not_pass(path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    logs.configure("info", path)
    log.warning(text)
    log.warning("by argument %s", text)
    log.warning("by field", extra={"request": {"line": [text]}})
    log.warning("by object", extra={"error": ValueError(text)})
    try:
        raise RuntimeError(text)
    except RuntimeError:
        log.exception("by exception")
    assert len(lines(path)) == 5
    assert "abcdef123" not in path.read_text() + capsys.readouterr().err


def test_what_stands_beside_a_token_stays(path: Path) -> None:
    assert logs.redacted("GET /x?token=abc&a=b") == "GET /x?token=[redacted]&a=b"


def test_a_registered_secret_does_not_pass(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.redact(SECRET)
    logs.configure("info", path)
    log.warning("plain %s", SECRET)
    log.warning("encoded tok%2Fen%2Bwith%3Dsigns")
    log.warning("field", extra={"argv": ["--x", SECRET], SECRET: SECRET.encode()})
    written = path.read_text() + capsys.readouterr().err
    assert "tok/en" not in written
    assert "tok%2Fen" not in written


def test_nothing_registered_redacts_nothing(path: Path) -> None:
    logs.redact("")
    assert logs.redacted("as it is") == "as it is"


def test_a_field_that_is_named_like_a_secret_is_masked(path: Path) -> None:
    logs.configure("info", path)
    log.info("x", extra={"token": "abc", "headers": {"Set-Cookie": "abc", "Host": "h"}})
    (line,) = lines(path)
    assert line["token"] == logs.MASK
    assert line["headers"] == {"Set-Cookie": logs.MASK, "Host": "h"}


def test_only_the_owner_can_read_the_file(path: Path) -> None:
    path.parent.mkdir()
    path.touch(mode=0o644)
    logs.configure("info", path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_file_is_bounded_and_its_backups_private(path: Path) -> None:
    logs.configure("info", path)
    for _ in range(1500):
        log.info("x" * logs.MAX_TEXT)
    files = sorted(path.parent.iterdir())
    assert len(files) == 1 + logs.BACKUPS
    assert all(file.stat().st_size <= logs.MAX_FILE_BYTES for file in files)
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)


def test_an_endless_text_is_clipped_after_it_was_redacted(path: Path) -> None:
    logs.configure("info", path)
    log.info("%stoken=%s", "x" * (logs.MAX_TEXT - 10), "s3cret" * 10_000)
    (line,) = lines(path)
    assert len(line["message"]) < logs.MAX_TEXT + 100
    assert "s3c" not in line["message"]


def test_configuring_again_replaces(path: Path) -> None:
    logs.configure("info", path)
    logs.configure("info", path)
    log.info("once")
    assert len(lines(path)) == 1


def test_a_record_that_cannot_be_written_is_not_spilt(tmp_path: Path) -> None:
    # In a process of its own: there a file can be forbidden to grow, whoever runs the test.
    code = (
        "import logging, pathlib, resource, sys\n"
        "from dragoman import logs\n"
        "logs.configure('info', pathlib.Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "log = logging.getLogger('dragoman.test')\n"
        "log.info('the secret')\n"
        "log.info('the secret')\n"
        "log.warning('%d', 'the secret')\n"
    )
    source = str(Path(logs.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "dragoman.log")],
        env={**os.environ, "PYTHONPATH": source},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    lost = "dragoman: error: a record of dragoman.test was not logged\n"
    assert done.stderr == lost * 2  # once for the file, once for stderr
