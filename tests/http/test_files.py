"""Files over HTTP: listed, read, written, moved and removed, as clients of the API know it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import sys
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.common import eventually, memory_bytes, open_files, pid_of
from tests.daemon import Daemon, running
from tests.http.fs import Fs, member, tar

MEMORY = Path("/dev/shm")
MIB = 1024 * 1024


@pytest.fixture
def root(daemon: Daemon) -> Path:
    """A folder of a test's own, beneath the daemon's root."""
    folder = daemon.files / f"test-{uuid.uuid4()}"
    folder.mkdir()
    return folder


@pytest.fixture
def fs(daemon: Daemon, root: Path) -> Fs:
    """The file API, with the test's folder as a session's directory."""
    daemon.create(root.name, directory=str(root))
    return Fs(daemon, root.name)


def names_below(folder: Path) -> list[str]:
    """All that is in a folder, however it is called."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# --- Roots ---


def test_relative_paths_begin_at_the_root_and_absolute_ones_may_be_beneath_it(
    daemon: Daemon, root: Path
) -> None:
    fs = Fs(daemon)
    (root / "file").write_text("here")
    for path in (f"{root.name}/file", f"./{root.name}//file", f"{root}/file"):
        assert fs.read(path).body == b"here"
        assert fs.stat(path).json["path"] == f"{root}/file"


def test_with_a_session_the_root_is_its_directory(daemon: Daemon, fs: Fs, root: Path) -> None:
    (root / "file").write_text("here")
    assert fs.read("file").body == fs.read(f"{root}/file").body == b"here"
    assert fs.read(str(daemon.files)).status == 403
    for spelling in ("session_id", "sessionId"):
        assert daemon.get(f"/fs/entries?{spelling}={root.name}")[0]["name"] == "file"


def test_an_unknown_session_is_404_and_an_impossible_one_400(daemon: Daemon) -> None:
    reply = Fs(daemon, "nobody").entries()
    assert (reply.status, reply.json["title"]) == (404, "Session Not Found")
    for session_id in ("..", "a/b", ""):
        assert Fs(daemon, session_id).entries().status == 400


def test_there_may_be_several_roots_and_the_first_is_for_relative_paths(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    with running(tmp_path / "data", "--root", str(one), "--root", str(two)) as daemon:
        fs = Fs(daemon)
        assert fs.read("name").body == b"one"
        assert fs.read(str(two / "name")).body == b"two"
        assert fs.move("name", str(two / "moved")).status == 200
        assert fs.read(str(tmp_path / "data" / "token")).status == 403
    assert names_below(two) == ["moved", "name"]


def test_the_root_is_the_home_unless_it_is_set(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with running(tmp_path / "data", env={"HOME": str(home)}) as daemon:
        assert Fs(daemon).write("file", b"x").json == {
            "path": f"{home}/file", "bytesWritten": 1,
        }  # fmt: skip


def test_a_root_that_is_no_folder_is_refused_at_the_start(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="--root /nowhere is no folder"),
        running(tmp_path / "data", "--root", "/nowhere"),
    ):
        raise AssertionError("it started")


def test_the_daemons_own_data_stays_shut(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data, env={"DRAGOMAN_ROOTS": str(tmp_path)}) as daemon:
        fs = Fs(daemon)
        (tmp_path / "link").symlink_to("data")
        for path in ("data/token", "data", "link/token", str(data / "token")):
            assert fs.read(path).status == 403
            assert fs.stat(path).status == 403
            assert fs.write(path, b"mine").status == 403
            assert fs.move(path, "stolen").status == 403
        assert fs.entries("data").status == fs.entries("link").status == 403
        assert fs.remove("data", recursive="true").status == 403
        assert fs.move("other", "data", overwrite=True).status == 404
        assert fs.remove("link").status == 200
        assert daemon.get("/health") == {"status": "ok"}
    assert (data / "token").exists()


def test_so_do_the_token_file_and_the_settings_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config" / "dragoman").mkdir(parents=True)
    (home / ".config" / "dragoman" / "config.toml").write_text('token_file = "~/secret"\n')
    (home / "secret").write_text("token")
    (home / "secret").chmod(0o600)
    env = {"HOME": str(home), "XDG_CONFIG_HOME": ""}
    with running(home / "data", env=env) as daemon:
        (daemon.data_dir / "token").write_text("token")  # for those who look for it there
        fs = Fs(daemon)
        assert {"secret", ".config", "data"} < set(fs.names())
        for path in ("secret", ".config/dragoman/config.toml"):
            assert fs.read(path).status == fs.write(path, b"mine").status == 403
            assert fs.remove(path).status == fs.move(path, "x").status == 403
            assert fs.unpack(tar(member(path, b"mine"))).status == 403
        assert fs.remove(".config", recursive="true").status == 403
        assert fs.write(".config/other", b"x").status == 200


def test_so_does_a_settings_file_that_is_named_at_the_start(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.toml").write_text('token = "secret"\n')
    (home / "link.toml").symlink_to("mine.toml")
    env = {"HOME": str(home), "XDG_CONFIG_HOME": ""}
    with running(home / "data", "--config", str(home / "link.toml"), env=env) as daemon:
        (daemon.data_dir / "token").write_text("secret")  # for those who look for it there
        fs = Fs(daemon)
        for path in ("mine.toml", "link.toml"):
            for reply in (fs.read(path), fs.write(path, b"mine"), fs.remove(path)):
                assert reply.status == 403, path
                assert b"secret" not in reply.body
        assert fs.write(".config/dragoman/config.toml", b"mine").status == 403


def test_nothing_is_made_where_it_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "folder").mkdir(parents=True)
    (home / "folder" / "file").write_text("mine")
    (home / "sly").symlink_to("new/../data/new")
    (home / "into").symlink_to("data/new")
    config = ".config/dragoman/config.toml"
    env = {"HOME": str(home), "XDG_CONFIG_HOME": ""}
    with running(home / "data", env=env) as daemon:
        fs, before = Fs(daemon), {*names_below(home)} | {"folder/file"}
        for path in ("data/new", "data/new/deep", "into/x/y", f"{config}/x", config):
            for reply in (
                fs.mkdir(f"{path}/folder"), fs.write(f"{path}/file", b""),
                fs.move("folder", f"{path}/moved"), fs.unpack(tar(member("a")), f"{path}/x"),
            ):  # fmt: skip
                assert reply.status == 403, (path, reply.body)
        assert fs.move("folder/file", config).status == 403
        assert fs.move("folder", ".config/dragoman").status == 403
        assert fs.mkdir("sly/x").status == 404
        for name in (config, f"{config}/below"):
            assert fs.unpack(tar(member(name, b"mine"))).status == 403
        assert fs.unpack(tar(member("dragoman/config.toml", b"mine")), ".config").status == 403
        link = member(".config", type=tarfile.SYMTYPE, linkname="folder")
        assert fs.unpack(tar(link)).status == 403
        made = {*names_below(home)} - before
        assert {name for name in made if not name.startswith("data/")} == set()
        assert not (daemon.data_dir / "new").exists()
        assert fs.unpack(tar(member(".config/dragoman/other", b"x"))).status == 200


def test_no_root_goes_and_nothing_around_one(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "x" / "w"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    (tmp_path / "a" / "free").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b")
    roots = (tmp_path / "a", inner, tmp_path / "a" / "link")
    flags = [flag for root in roots for flag in ("--root", str(root))]
    with running(tmp_path / "data", *flags) as daemon:
        daemon.create("all", directory=str(tmp_path / "a"))
        for fs in (Fs(daemon), Fs(daemon, "all")):
            for path in ("x/w", "x", "link", str(inner), str(inner.parent)):
                assert fs.remove(path, recursive="true").status == 403, path
                assert fs.move(path, "elsewhere").status == 403, path
                assert fs.move("free", path, overwrite=True).status == 403, path
        assert Fs(daemon).remove("x/w/file").status == 200
    assert inner.is_dir()


def test_a_root_that_is_a_link_stays_what_it_was_at_the_start(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    root = tmp_path / "root"
    root.symlink_to("one")
    with running(tmp_path / "data", "--root", str(root)) as daemon:
        fs = Fs(daemon)
        assert fs.read(f"{root}/file").body == fs.read(f"{tmp_path}/one/file").body == b"one"
        assert fs.stat("file").json["path"] == f"{root}/file"
        root.unlink()
        root.symlink_to("two")
        assert fs.read("file").body == fs.read(f"{root}/file").body == b"one"
        assert fs.read(f"{tmp_path}/two/file").status == 403
        (tmp_path / "one").rename(tmp_path / "old")
        assert fs.read("file").status == 404
        (tmp_path / "one").symlink_to("two")
        assert fs.read("file").status == 403
        assert fs.write("new", b"x").status == 403
    assert names_below(tmp_path / "two") == ["file"]


# --- Looking ---


def test_a_folder_is_listed_by_name_with_kinds_and_sizes(fs: Fs, root: Path) -> None:
    (root / "b.txt").write_text("four")
    (root / "a").mkdir()
    (root / ".hidden").touch()
    (root / "Z").touch()
    os.utime(root / "b.txt", ns=(0, 1_700_000_000_123_456_789))
    reply = fs.entries()
    assert [entry["name"] for entry in reply.json] == [".hidden", "Z", "a", "b.txt"]
    assert reply.json[3] == {
        "name": "b.txt", "path": f"{root}/b.txt", "entryType": "file", "size": 4,
        "modified": "2023-11-14T22:13:20.123Z", "kind": "file",
    }  # fmt: skip
    assert reply.json[2]["entryType"] == reply.json[2]["kind"] == "directory"


def test_links_are_named_as_such(fs: Fs, root: Path) -> None:
    (root / "folder").mkdir()
    (root / "folder" / "file").write_text("12345")
    (root / "to-folder").symlink_to("folder")
    (root / "to-file").symlink_to(root / "folder" / "file")
    (root / "out").symlink_to("/etc/passwd")
    (root / "nowhere").symlink_to("gone")
    os.mkfifo(root / "pipe")
    found = {e["name"]: (e["entryType"], e["kind"], e.get("target")) for e in fs.entries().json}
    assert found == {
        "folder": ("directory", "directory", None),
        "to-folder": ("directory", "symlink", "folder"),
        "to-file": ("file", "symlink", f"{root}/folder/file"),
        "out": ("file", "symlink", "/etc/passwd"),
        "nowhere": ("file", "symlink", "gone"),
        "pipe": ("file", "other", None),
    }
    assert {e["name"]: e["size"] for e in fs.entries().json}["to-file"] == 5
    assert fs.stat("to-file").json | {"modified": ""} == {
        "path": f"{root}/to-file", "entryType": "file", "size": 5, "modified": "",
        "kind": "symlink", "target": f"{root}/folder/file",
    }  # fmt: skip


def test_names_that_are_not_text_are_listed_all_the_same(fs: Fs, root: Path) -> None:
    (root / os.fsdecode(b"odd-\xff")).touch()
    (entry,) = fs.entries().json
    assert entry["name"] == "odd-\ufffd"


def test_what_is_missing_is_404_and_what_is_another_kind_400(fs: Fs, root: Path) -> None:
    (root / "file").touch()
    os.mkfifo(root / "pipe")
    for reply in (fs.entries("none"), fs.read("none"), fs.stat("none"), fs.remove("none"),
                  fs.read("file/below"), fs.read("none/below")):  # fmt: skip
        assert (reply.status, reply.json["title"]) == (404, "Not Found")
    for reply in (fs.entries("file"), fs.read(""), fs.read("pipe"), fs.ask("GET", "file")):
        assert reply.status == 400


# --- Reading ---


def test_a_file_is_fetched_as_bytes_that_no_browser_runs(fs: Fs, root: Path) -> None:
    (root / "pâge.html").write_text("<script>alert(1)</script>")
    reply = fs.read("pâge.html")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"] == "attachment; filename*=UTF-8''p%C3%A2ge.html"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in reply.headers["content-security-policy"]
    assert reply.headers["content-length"] == "25"


def test_head_tells_all_but_the_content(fs: Fs, root: Path) -> None:
    (root / "file").write_bytes(b"0123456789")
    whole, head = fs.read("file"), fs.ask("HEAD", "file", path="file")
    assert (head.status, head.body) == (200, b"")
    same = ("content-length", "etag", "last-modified", "content-type")
    assert [head.headers[name] for name in same] == [whole.headers[name] for name in same]


@pytest.mark.parametrize(
    ("wanted", "status", "content", "told"),
    [
        ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=0-1", 200, b"0123456789", None),
    ],
)
def test_a_range_is_that_part_of_the_file(
    fs: Fs, root: Path, wanted: str, status: int, content: bytes | None, told: str | None
) -> None:
    (root / "file").write_bytes(b"0123456789")
    reply = fs.read("file", Range=wanted)
    assert reply.status == status
    assert content is None or reply.body == content
    assert reply.headers.get("content-range") == told


def test_a_version_that_is_known_is_not_sent_again(fs: Fs, root: Path) -> None:
    (root / "file").write_bytes(b"0123456789")
    first = fs.read("file")
    etag, modified = first.headers["etag"], first.headers["last-modified"]
    assert fs.read("file", If_None_Match=f'"x", W/{etag}').status == 304
    assert fs.read("file", If_Modified_Since=modified).status == 304
    assert fs.read("file", If_None_Match='"x"', If_Modified_Since=modified).status == 200
    assert fs.read("file", If_Modified_Since="yesterday").status == 200
    for condition in (etag, modified):
        assert fs.read("file", Range="bytes=0-1", If_Range=condition).status == 206
    fs.write("file", b"9876543210")
    assert fs.read("file", If_None_Match=etag).body == b"9876543210"
    assert fs.read("file", Range="bytes=0-1", If_Range=etag).status == 200


def test_an_empty_file_is_a_file(fs: Fs, root: Path) -> None:
    assert fs.write("empty", b"").json["bytesWritten"] == 0
    assert (fs.read("empty").status, fs.read("empty").body) == (200, b"")
    assert fs.read("empty", Range="bytes=0-").status == 416


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="no disk in memory here")
def test_a_file_of_a_time_that_no_calendar_has_is_read_all_the_same(daemon: Daemon) -> None:
    folder = MEMORY / f"dragoman-{uuid.uuid4()}"
    folder.mkdir()
    try:
        (folder / "file").write_text("here")
        os.utime(folder / "file", (0, 2**40))
        daemon.create(folder.name, directory=str(folder))
        fs = Fs(daemon, folder.name)
        reply = fs.read("file")
        assert (reply.status, reply.body) == (200, b"here")
        assert "last-modified" not in reply.headers
        assert fs.read("file", If_None_Match=reply.headers["etag"]).status == 304
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("path", ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_a_file_that_is_not_as_long_as_it_says_comes_to_its_end(daemon: Daemon, path: str) -> None:
    if not os.access(path, os.R_OK):
        pytest.skip(f"there is no {path} here")
    folder, name = os.path.split(path)
    daemon.create(f"odd-{name}", directory=folder)
    fs = Fs(daemon, f"odd-{name}")
    for headers in ({}, {"Range": "bytes=0-1"}, {"If_None_Match": "*"}):
        reply = fs.read(name, **headers)
        assert (reply.status, reply.body) == (200, Path(path).read_bytes())
        assert not {"content-length", "etag", "last-modified"} & set(reply.headers)
    head = fs.ask("HEAD", "file", path=name)
    assert (head.status, head.body, "content-length" in head.headers) == (200, b"", False)


def test_what_belongs_to_a_process_stays_shut(daemon: Daemon) -> None:
    daemon.create("proc", directory="/proc")
    fs = Fs(daemon, "proc")
    for process in ("self", "1", str(pid_of(daemon)), "thread-self"):
        for file in ("environ", "cmdline", "mem", "task/1/environ"):
            assert fs.read(f"{process}/{file}").status in (403, 404)
        assert fs.entries(process).status == fs.read(f"{process}/environ").status == 403
        assert fs.write(f"{process}/oom_score_adj", b"0").status == 403
    assert "version" in fs.names()


def test_a_file_full_of_nothing_is_as_long_as_it_says(fs: Fs, root: Path) -> None:
    with (root / "sparse").open("wb") as file:
        file.truncate(3 * MIB)
    reply = fs.read("sparse")
    assert (reply.body, reply.headers["content-length"]) == (bytes(3 * MIB), str(3 * MIB))
    assert fs.read("sparse", Range="bytes=0-9").status == 206


# --- Writing ---


def test_a_file_is_written_with_the_folders_above_it(fs: Fs, root: Path) -> None:
    reply = fs.write("new/deep/file", b"content")
    assert reply.json == {"path": f"{root}/new/deep/file", "bytesWritten": 7}
    assert (root / "new/deep/file").read_bytes() == b"content"
    assert names_below(root) == ["new", "new/deep", "new/deep/file"]


def test_a_file_that_is_replaced_keeps_its_mode(fs: Fs, root: Path) -> None:
    (root / "script").write_text("old")
    (root / "script").chmod(0o750)
    (root / "other-name").hardlink_to(root / "script")
    assert fs.write("script", b"new").status == 200
    assert stat.S_IMODE((root / "script").stat().st_mode) == 0o750
    assert (root / "other-name").read_text() == "old"


def test_a_link_that_stays_inside_is_written_through(fs: Fs, root: Path) -> None:
    (root / "folder").mkdir()
    (root / "relative").symlink_to("folder/one")
    (root / "absolute").symlink_to(root / "folder" / "two")
    (root / "folder" / "up").symlink_to("../three")
    for name in ("relative", "absolute", "folder/up"):
        assert fs.write(name, name.encode()).status == 200
        assert (root / name).is_symlink()
        assert fs.read(name).body == name.encode()
    assert names_below(root / "folder") == ["one", "two", "up"]
    assert (root / "three").read_text() == "folder/up"


def test_what_cannot_be_written_is_a_conflict(fs: Fs, root: Path) -> None:
    (root / "folder").mkdir()
    (root / "file").touch()
    for reply in (fs.write("folder", b"x"), fs.write("file/below", b"x"), fs.mkdir("file"),
                  fs.write("", b"x"), fs.mkdir("file/below")):  # fmt: skip
        assert (reply.status, reply.json["title"]) == (409, "Conflict")
    assert names_below(root) == ["file", "folder"]


def test_a_body_that_ends_early_leaves_nothing(daemon: Daemon, fs: Fs, root: Path) -> None:
    (root / "file").write_text("old")
    before = open_files(daemon)
    for path in ("file", "new/file"):
        connection = daemon.connect()
        connection.putrequest("PUT", f"/v1/fs/file?path={path}&session_id={root.name}")
        for name, value in daemon.headers(**{"Content-Length": "1000000"}).items():
            connection.putheader(name, value)
        connection.endheaders(b"x" * 300_000)
        connection.close()
    assert fs.write("last", b"").status == 200
    eventually(lambda: open_files(daemon) <= before, "all descriptors are back")
    assert names_below(root) == ["file", "last"]
    assert (root / "file").read_text() == "old"


def test_large_files_stream_both_ways_without_being_held(daemon: Daemon, fs: Fs) -> None:
    size = 200 * MIB
    before = memory_bytes(daemon)

    def content() -> Iterator[bytes]:
        for number in range(size // MIB):
            yield number.to_bytes(4, "big") * (MIB // 4)

    reply = fs.ask("PUT", "file", path="large", body=content())
    assert reply.json["bytesWritten"] == size
    assert memory_bytes(daemon) - before < 60 * MIB
    connection = daemon.connect()
    query = f"path=large&session_id={fs.stat('large').json['path'].split('/')[-2]}"
    connection.request("GET", f"/v1/fs/file?{query}", headers=daemon.headers())
    answer = connection.getresponse()
    for piece in content():
        assert answer.read(MIB) == piece
    assert answer.read() == b""
    connection.close()
    assert memory_bytes(daemon) - before < 60 * MIB
    assert fs.remove("large").status == 200


def test_a_limit_on_uploads_is_413_and_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "data", env={"DRAGOMAN_MAX_UPLOAD_BYTES": "2000"}) as daemon:
        fs = Fs(daemon)
        assert fs.write("fits", b"x" * 2000).status == 200
        for body in (b"x" * 2001, iter([b"x" * 1500] * 2)):
            reply = fs.ask("PUT", "file", path="new/file", body=body)
            assert (reply.status, reply.json["details"]["limit"]) == (413, "max_upload_bytes")
        assert names_below(daemon.files) == ["fits"]


def test_a_disk_that_is_full_is_507_and_nothing_is_left(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        fs = Fs(daemon)
        assert fs.write("file", b"old").status == 200
        for most, status in ((MIB, 507), (resource.RLIM_INFINITY, 200)):
            limits = (most, resource.RLIM_INFINITY)
            resource.prlimit(pid_of(daemon), resource.RLIMIT_FSIZE, limits)
            assert fs.write("file", bytes(2 * MIB)).status == status
            assert fs.unpack(tar(member("new", bytes(2 * MIB)))).status == status
            assert names_below(daemon.files) == ["file"] + ["new"] * (status == 200)
            assert (daemon.files / "file").stat().st_size == (3 if status == 507 else 2 * MIB)


@pytest.mark.parametrize("route", ["upload-batch", "file"])
def test_a_daemon_that_stops_leaves_nothing_of_what_was_coming(tmp_path: Path, route: str) -> None:
    with running(tmp_path / "data") as daemon:
        connection = daemon.connect()
        method = "POST" if route == "upload-batch" else "PUT"
        connection.putrequest(method, f"/v1/fs/{route}?path=new")
        told = {"Content-Length": str(9 * MIB), "Content-Type": "application/x-tar"}
        for name, value in daemon.headers(**told).items():
            connection.putheader(name, value)
        connection.endheaders(tar(member("file", bytes(4 * MIB)))[: 3 * MIB])
        if route == "upload-batch":
            eventually(lambda: names_below(daemon.files) != [], "it has begun")
        os.kill(pid_of(daemon), signal.SIGTERM)
        assert connection.getresponse().status == 503
        connection.close()
        daemon.stop()
        assert names_below(daemon.files) == []
        assert "Traceback" not in (daemon.data_dir / "logs" / "daemon.log").read_text()


def test_what_a_killed_daemon_left_goes_with_the_next_upload(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        connection = daemon.connect()
        connection.putrequest("POST", "/v1/fs/upload-batch?path=new")
        told = {"Content-Length": str(9 * MIB), "Content-Type": "application/x-tar"}
        for name, value in daemon.headers(**told).items():
            connection.putheader(name, value)
        connection.endheaders(tar(member("deep/file", bytes(4 * MIB)))[: 3 * MIB])
        eventually(lambda: len(names_below(daemon.files)) == 3, "it has begun")
        daemon.kill()
        connection.close()
        assert len(names_below(daemon.files)) == 3
        daemon.python = (sys.executable,)  # what is forked has the same name for what it makes
        daemon.start()
        assert Fs(daemon).unpack(tar(member("file", b"x")), "new").status == 200
        assert names_below(daemon.files) == ["new", "new/file"]


# --- Folders, moving, removing ---


def test_a_folder_is_made_with_those_above_and_again(fs: Fs, root: Path) -> None:
    for _ in range(2):
        assert fs.mkdir("a/b/c").json == {"path": f"{root}/a/b/c"}
    assert names_below(root) == ["a", "a/b", "a/b/c"]
    assert fs.mkdir("").status == 200


def test_an_entry_is_moved_and_replaces_only_when_told(fs: Fs, root: Path) -> None:
    (root / "one").write_text("1")
    (root / "two").write_text("2")
    assert fs.move("one", "two").status == 409
    assert fs.move("one", "new/one").json == {"from": f"{root}/one", "to": f"{root}/new/one"}
    assert fs.move("new/one", "two", overwrite=True).status == 200
    assert names_below(root) == ["new", "two"]
    assert (root / "two").read_text() == "1"


def test_overwrite_replaces_a_folder_with_all_that_is_in_it(fs: Fs, root: Path) -> None:
    for name in ("old/deep", "new"):
        (root / name).mkdir(parents=True)
        (root / name / "file").write_text(name)
    assert fs.move("new", "old").status == 409
    assert fs.move("new", "old", overwrite=True).status == 200
    assert names_below(root) == ["old", "old/file"]
    (root / "file").touch()
    assert fs.move("file", "old", overwrite=True).status == 200
    assert names_below(root) == ["old"]


def test_impossible_moves_are_refused(fs: Fs, root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "file").touch()
    assert fs.move("none", "new").status == 404
    assert fs.move("a", "a/b/c").status == 400
    assert fs.move("a/b", "a", overwrite=True).status in (400, 409)
    assert fs.move("a", "file/below").status == 409
    assert fs.move("", "new").status == fs.move("a", "").status == 403
    assert fs.move("a", "../out").json["details"]["field"] == "to"
    assert names_below(root) == ["a", "a/b", "file"]


@pytest.mark.parametrize("target", ["a/new/deep", "a/b/new/deep", "link/new/deep", "a/new"])
def test_a_folder_that_would_be_moved_into_itself_stays_as_it_was(
    fs: Fs, root: Path, target: str
) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "link").symlink_to(root / "a" / "b")
    before = names_below(root)
    for overwrite in (False, True):
        reply = fs.move("a", target, overwrite=overwrite)
        assert (reply.status, reply.json["details"]) == (400, {"field": "to"})
        assert reply.json["detail"] == "a folder cannot be moved into itself"
    assert names_below(root) == before


def test_a_link_can_be_moved_into_the_folder_that_it_leads_to(fs: Fs, root: Path) -> None:
    (root / "a").mkdir()
    (root / "link").symlink_to(root / "a")
    assert fs.move("link", "link/new/link").status == 200
    assert names_below(root) == ["a", "a/new", "a/new/link"]


@pytest.mark.parametrize(
    ("source", "target", "field"),
    [
        ("none", "new", "from"),
        ("file/below", "new", "from"),
        ("x" * 300, "new", "from"),
        ("", "new", "from"),
        ("out/passwd", "new", "from"),
        ("a", "file/below", "to"),
        ("a", "x" * 300, "to"),
        ("a", "", "to"),
        ("a", "out/new", "to"),
        ("a/b", "file/x", "to"),
        ("a", "file", "overwrite"),
    ],
)
def test_a_move_that_is_refused_names_which_of_its_paths_is_wrong(
    fs: Fs, root: Path, source: str, target: str, field: str
) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "file").touch()
    (root / "out").symlink_to("/etc")
    assert fs.move(source, target).json["details"]["field"] == field


def test_a_link_is_moved_and_removed_itself(fs: Fs, root: Path) -> None:
    (root / "folder").mkdir()
    (root / "folder" / "file").touch()
    (root / "link").symlink_to("folder")
    (root / "out").symlink_to("/etc")
    assert fs.move("link", "moved").status == 200
    assert fs.remove("moved", recursive="true").status == 200
    assert fs.remove("out", recursive="true").status == 200
    assert names_below(root) == ["folder", "folder/file"]


def test_a_folder_with_something_in_it_goes_only_with_all(fs: Fs, root: Path) -> None:
    (root / "full" / "er").mkdir(parents=True)
    (root / "full" / "er" / "link").symlink_to("/etc")
    (root / "empty").mkdir()
    assert fs.remove("empty").json == {"path": f"{root}/empty"}
    assert fs.remove("full").status == 409
    assert fs.remove("full", recursive="true").status == 200
    assert names_below(root) == []
    assert fs.remove("").status == fs.remove(str(root), recursive="true").status == 403


def test_a_very_deep_tree_can_be_removed(daemon: Daemon, fs: Fs, root: Path) -> None:
    before = open_files(daemon)
    here = os.open(root, os.O_PATH)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_PATH, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert fs.remove("deep", recursive="true").status == 200
    assert names_below(root) == []
    eventually(lambda: open_files(daemon) <= before, "all descriptors are back")


# --- Stored files ---


def test_what_an_event_names_is_served_under_its_session(daemon: Daemon) -> None:
    daemon.create("pictures")
    parts = [
        part
        for event in daemon.turn("pictures", "image")
        if event["type"] == "item.completed"
        for part in event["data"]["item"]["content"]
    ]
    path = Path(next(part["path"] for part in parts if part["type"] == "image"))
    reply = daemon.request("GET", f"/sessions/pictures/files/{path.name}")
    assert (reply.status, reply.body) == (200, path.read_bytes())
    assert reply.headers["content-type"] == "image/png"
    assert "immutable" in reply.headers["cache-control"]
    etag = {"If-None-Match": reply.headers["etag"]}
    assert daemon.request("GET", f"/sessions/pictures/files/{path.name}", None, etag).status == 304

    daemon.create("others")
    assert daemon.request("GET", f"/sessions/others/files/{path.name}").status == 404
    assert daemon.request("GET", f"/sessions/nobody/files/{path.name}").status == 404
    for name in ("..", ".x.partial", "%2e%2e", "a%2Fb", "%00", "x" * 300):
        assert daemon.request("GET", f"/sessions/pictures/files/{name}").status in (400, 404)
    daemon.request("DELETE", "/sessions/pictures")
    assert daemon.request("GET", f"/sessions/pictures/files/{path.name}").status == 404


def test_a_stored_file_that_is_no_image_is_not_shown(daemon: Daemon) -> None:
    daemon.create("svg")
    folder = daemon.data_dir / "files" / "svg"
    folder.mkdir(parents=True)
    (folder / "a.svg").write_text("<svg onload='alert(1)'/>")
    reply = daemon.request("GET", "/sessions/svg/files/a.svg")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"].startswith("attachment")
