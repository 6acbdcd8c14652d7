"""The client and a real daemon: files go there and come back."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dragoman.client import Client
from dragoman.errors import Conflict, NotFound, PermissionDenied, TooLarge
from dragoman.schema.events import ItemCompleted
from dragoman.schema.http import CreateSession
from dragoman.schema.items import Image
from tests.daemon import running
from tests.http.fs import member, tar

MIB = 1024 * 1024


def test_files_go_there_and_come_back(tmp_path: Path) -> None:
    env = {"DRAGOMAN_MAX_UPLOAD_BYTES": str(8 * MIB)}
    with (
        running(tmp_path / "data", env=env) as daemon,
        Client(f"http://127.0.0.1:{daemon.port}", daemon.token) as client,
    ):
        files = client.files
        content = bytes(range(256)) * (5 * MIB // 256)
        written = files.write("a/large", (content[at : at + MIB] for at in range(0, 5 * MIB, MIB)))
        assert written.bytes_written == files.stat("a/large").size == 5 * MIB
        assert b"".join(files.read("a/large")) == content
        assert files.unpack(tar(member("b", b"x")), "a").paths == (f"{daemon.files}/a/b",)
        assert [entry.name for entry in files.entries("a")] == ["b", "large"]
        assert files.move("a/b", "c").to == f"{daemon.files}/c"
        assert files.make_folder("d/e") == f"{daemon.files}/d/e"
        files.remove("a", recursive=True)
        assert [entry.name for entry in files.entries()] == ["c", "d"]

        with pytest.raises(NotFound):
            next(files.read("none"))
        with pytest.raises(Conflict):
            files.remove("d")
        with pytest.raises(PermissionDenied):
            files.stat("/etc/passwd")
        with pytest.raises(TooLarge):
            files.write("large", io.BytesIO(bytes(9 * MIB)))


def test_a_sessions_files_are_reached_by_its_id(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with (
        running(tmp_path / "data") as daemon,
        Client(f"http://127.0.0.1:{daemon.port}", daemon.token) as client,
    ):
        client.create(CreateSession(agent="mock", directory=str(tmp_path / "work")), "s")
        client.files.write("file", b"x", session="s")
        assert (tmp_path / "work" / "file").read_bytes() == b"x"
        path, *_ = (
            part.path
            for event in client.stream_turn("s", "image")
            if isinstance(event.data, ItemCompleted)
            for part in event.data.item.content
            if isinstance(part, Image)
        )
        stored = b"".join(client.files.read_stored("s", Path(path).name))
        assert stored == Path(path).read_bytes()
