"""Case 9: no spelling of a path leads out of a root."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.daemon import Daemon, Reply
from tests.http.fs import Fs, member, tar

ABOVE = (
    "..", "../secret", "a/../../secret", "a/..", "./../secret", "a/b/../../../secret",
    "..\\secret", "a\\..\\..\\secret", "folder/..\\..\\secret",
)  # fmt: skip


@pytest.fixture(scope="module")
def root(daemon: Daemon) -> Path:
    """The daemon's root, with a secret and a sibling beside it."""
    (daemon.files / "a" / "b").mkdir(parents=True)
    (daemon.files.parent / "secret").write_text("secret")
    sibling = daemon.files.with_name(f"{daemon.files.name}-evil")
    sibling.mkdir()
    (sibling / "secret").write_text("secret")
    return daemon.files


def all_answers(fs: Fs, path: str) -> list[Reply]:
    """What every route says to a path."""
    return [
        fs.entries(path), fs.read(path), fs.stat(path), fs.write(path, b"mine"), fs.mkdir(path),
        fs.remove(path, recursive="true"), fs.move(path, "b"), fs.move("a", path, overwrite=True),
        fs.unpack(tar(member("file", b"mine")), path),
    ]  # fmt: skip


def assert_untouched(root: Path) -> None:
    assert (root / "a" / "b").is_dir()
    for outside in (root.parent, root.with_name(f"{root.name}-evil")):
        assert (outside / "secret").read_text() == "secret"
    assert {path.name for path in root.parent.glob("secret*")} == {"secret"}


@pytest.mark.parametrize("path", ABOVE)
def test_case_09_a_path_that_goes_up_is_400_on_every_route(
    daemon: Daemon, root: Path, path: str
) -> None:
    for reply in all_answers(Fs(daemon), path):
        assert (reply.status, reply.json["title"]) == (400, "Invalid Request")
    assert_untouched(root)


@pytest.mark.parametrize("path", ["with\0nul", "\0", "x" * 4097, "é" * 2049, "a/" * 2500])
def test_case_09_nul_and_endless_paths_are_400(daemon: Daemon, root: Path, path: str) -> None:
    for reply in all_answers(Fs(daemon), path):
        assert (reply.status, reply.json["title"]) == (400, "Invalid Request")
    assert_untouched(root)


def test_case_09_a_name_too_long_for_the_disk_is_400(daemon: Daemon, root: Path) -> None:
    fs = Fs(daemon)
    for reply in (fs.read("x" * 300), fs.write("x" * 300, b""), fs.mkdir("a/" + "x" * 300)):
        assert reply.status == 400


def test_case_09_absolute_paths_outside_and_siblings_are_403(daemon: Daemon, root: Path) -> None:
    sibling = f"{root}-evil/secret"
    for path in ("/", "/etc/passwd", str(root.parent), sibling, f"{root}x", "//etc/passwd",
                 "/proc/self/environ", str(daemon.data_dir / "token")):  # fmt: skip
        for reply in all_answers(Fs(daemon), path):
            assert (reply.status, reply.json["title"]) == (403, "Permission Denied")
    assert_untouched(root)


@pytest.mark.parametrize("encoded", ["%2e%2e%2fsecret", "..%2Fsecret", "%2e%2e/secret"])
def test_case_09_encoding_hides_nothing(daemon: Daemon, root: Path, encoded: str) -> None:
    assert daemon.request("GET", f"/fs/file?path={encoded}").status == 400
    assert_untouched(root)


def test_case_09_what_is_encoded_twice_is_only_a_strange_name(daemon: Daemon, root: Path) -> None:
    twice = quote(quote("../secret", safe=""), safe="")
    assert daemon.request("GET", f"/fs/file?path={twice}").status == 404
    assert daemon.request("GET", "/fs/file?path=%ff%fe").status == 400
    assert_untouched(root)


def test_case_09_ids_cannot_lead_anywhere_either(daemon: Daemon, root: Path) -> None:
    for session_id in ("..", ".", "../x", "a/b", "x" * 129):
        for reply in all_answers(Fs(daemon, session_id), "a")[:6]:
            assert reply.status == 400
    for path in ("/sessions/%2e%2e/files/token", "/sessions/s/files/%2e%2e%2ftoken",
                 "/agents/%2e%2e/modes"):  # fmt: skip
        assert daemon.request("GET", path).status in (400, 404)
    assert_untouched(root)
