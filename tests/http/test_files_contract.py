"""What clients of the known file API send and read is in the contract, and slow ones are borne."""

from __future__ import annotations

import http.client
from pathlib import Path

import msgspec
import pytest

from dragoman.http.files import ARCHIVES
from dragoman.http.openapi import openapi_document
from tests.cases.common import eventually, open_files
from tests.daemon import running

DOCUMENT = msgspec.json.decode(openapi_document())
MIB = 1024 * 1024
ENTRY = {"name", "path", "entryType", "size"}

# Method and route → query parameters, those that are required, fields of the answer.
KNOWN = {
    ("get", "entries"): ({"path", "session_id"}, set(), ENTRY),
    ("get", "file"): ({"path", "session_id"}, {"path"}, None),
    ("put", "file"): ({"path", "session_id"}, {"path"}, {"path", "bytesWritten"}),
    ("delete", "entry"): ({"path", "session_id", "recursive"}, {"path"}, {"path"}),
    ("post", "mkdir"): ({"path", "session_id"}, {"path"}, {"path"}),
    ("post", "move"): ({"session_id"}, set(), {"from", "to"}),
    ("get", "stat"): ({"path", "session_id"}, {"path"}, ENTRY - {"name"}),
    ("post", "upload-batch"): ({"path", "session_id"}, set(), {"paths", "truncated"}),
}


@pytest.mark.parametrize(("method", "route"), KNOWN)
def test_a_client_of_the_known_file_api_finds_all_it_sends_and_reads(
    method: str, route: str
) -> None:
    query, required, fields = KNOWN[method, route]
    operation = DOCUMENT["paths"][f"/v1/fs/{route}"][method]
    found = {p["name"]: p["required"] for p in operation["parameters"] if p["in"] == "query"}
    assert set(found) == query
    assert {name for name, is_required in found.items() if is_required} == required
    (media, content), *_ = operation["responses"]["200"]["content"].items()
    if fields is None:
        assert media == "application/octet-stream"
        return
    schema = content["schema"]
    if route == "entries":
        assert schema["type"] == "array"
        schema = schema["items"]
    struct = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert fields <= set(struct["required"])
    assert fields <= set(struct["properties"])


def test_a_move_needs_only_what_it_always_needed() -> None:
    move = DOCUMENT["components"]["schemas"]["FsMove"]
    assert set(move["required"]) == {"from", "to"}
    assert set(move["properties"]) == {"from", "to", "overwrite"}


def test_an_archive_may_come_as_plain_bytes_and_the_contract_says_so() -> None:
    body = DOCUMENT["paths"]["/v1/fs/upload-batch"]["post"]["requestBody"]
    assert set(body["content"]) == {"application/x-tar", "application/octet-stream"}
    assert set(body["content"]) <= set(ARCHIVES)


def test_a_reader_who_takes_nothing_is_dropped_with_its_file(tmp_path: Path) -> None:
    with running(tmp_path / "data", env={"DRAGOMAN_STALLED_READER_S": "0.3"}) as daemon:
        (daemon.files / "large").write_bytes(bytes(64 * MIB))
        before = open_files(daemon)
        connection = daemon.connect()
        connection.request("GET", "/v1/fs/file?path=large", headers=daemon.headers())
        answer = connection.getresponse()
        eventually(lambda: open_files(daemon) <= before, "the reader is dropped")
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answer.read()
        connection.close()
        log = (daemon.data_dir / "logs" / "daemon.log").read_text()
        assert '"level":"error"' not in log.lower().replace(" ", "")


def test_a_file_that_shrinks_while_it_is_sent_never_looks_whole(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        large = daemon.files / "large"
        large.write_bytes(bytes(64 * MIB))
        connection = daemon.connect()
        connection.request("GET", "/v1/fs/file?path=large", headers=daemon.headers())
        answer = connection.getresponse()
        assert answer.read(MIB) == bytes(MIB)
        large.write_bytes(b"short")
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answer.read()
        connection.close()
        assert daemon.get("/fs/stat?path=large")["size"] == 5
