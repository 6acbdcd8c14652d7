"""Answers in JSON are smaller for whoever takes gzip."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon import Daemon, Reply, running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("data")) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo " + "words " * 30_000)
        yield daemon


def get(daemon: Daemon, path: str, accepted: str | None, method: str = "GET") -> Reply:
    """What somebody gets who takes these encodings."""
    return daemon.request(method, path, headers={"Accept-Encoding": accepted} if accepted else {})


@pytest.mark.parametrize("path", ["/sessions/s/events", "/agents", "/openapi.json", "/schema.json"])
def test_json_is_compressed_for_who_takes_it(daemon: Daemon, path: str) -> None:
    """Before, a session of 193 items was 870 KB on a slow line, and took 17 seconds."""
    plain = get(daemon, path, None)
    small = get(daemon, path, "br;q=1, gzip;q=0.5")
    assert gzip.decompress(small.body) == plain.body
    assert small.headers["content-encoding"] == "gzip"
    assert int(small.headers["content-length"]) == len(small.body) < len(plain.body) / 2
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == small.headers["vary"] == "Accept-Encoding"
    assert plain.headers["content-type"] == small.headers["content-type"]


@pytest.mark.parametrize("accepted", [None, "br", "identity", "gzip;q=0", "*"])
def test_who_does_not_ask_for_it_gets_plain_json(daemon: Daemon, accepted: str | None) -> None:
    answer = get(daemon, "/sessions/s/events", accepted)
    assert "content-encoding" not in answer.headers
    assert len(answer.json["events"]) > 3


def test_what_is_small_stays_as_it_is(daemon: Daemon) -> None:
    for path in ("/health", "/sessions/s", "/sessions/nobody"):
        answer = get(daemon, path, "gzip")
        assert len(answer.body) < 1024
        assert not {"content-encoding", "vary"} & answer.headers.keys()


def test_streams_and_files_stay_as_they_are(daemon: Daemon, tmp_path: Path) -> None:
    """A stream would wait for more; a part of a file is a part of what the file holds."""
    daemon.create("here", directory=str(tmp_path))
    (tmp_path / "a.json").write_text('{"a": 1}' * 1000)
    answer = get(daemon, "/fs/file?path=a.json&session_id=here", "gzip")
    assert answer.body == b'{"a": 1}' * 1000
    assert "content-encoding" not in answer.headers
    daemon.request("POST", "/sessions/here/terminate")
    stream = get(daemon, "/sessions/here/events/sse", "gzip")
    assert b'"type":"session.ended"' in stream.body
    assert "content-encoding" not in stream.headers


def test_a_head_says_how_long_the_plain_answer_is(daemon: Daemon) -> None:
    head = get(daemon, "/openapi.json", "gzip", "HEAD")
    assert int(head.headers["content-length"]) == len(get(daemon, "/openapi.json", None).body)
