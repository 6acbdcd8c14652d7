"""Case 9: a session's directory opens no more to the file API than whoever asks may have."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon import Daemon, Reply, running
from tests.http.fs import Fs


class Places:
    """Folders beside each other: a root, a home, one for temporary files, and one that is none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root, self.home = folder / "root", folder / "home"
        self.temporary, self.elsewhere = folder / "temporary", folder / "elsewhere"
        for each in (self.root, self.home, self.temporary, self.elsewhere):
            (each / "below").mkdir(parents=True)
        (self.elsewhere / "secret").write_text("secret")

    @contextmanager
    def daemon(self, *flags: str, cwd: Path | None = None) -> Iterator[Daemon]:
        """A daemon that knows these folders."""
        env = {"HOME": str(self.home), "TMPDIR": str(self.temporary)}
        with running(self.folder / "data", *flags, env=env, cwd=cwd) as daemon:
            yield daemon


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def token(daemon: Daemon, *scopes: str) -> dict[str, str]:
    """The header of a new token with these scopes."""
    wanted = {"name": "-".join(scopes), "scopes": scopes}
    made = daemon.request("POST", "/tokens", wanted)
    assert made.status == 201, made.body
    return {"Authorization": f"Bearer {made.json['token']}"}


def create(
    daemon: Daemon,
    directory: Path | str | None,
    headers: dict[str, str] | None = None,
    **more: object,
) -> Reply:
    asked = None if directory is None else str(directory)
    wanted = {"agent": "mock", "directory": asked, **more}
    return daemon.request("POST", "/sessions", wanted, headers)


def assert_refused(reply: Reply, field: str = "directory") -> None:
    assert (reply.status, reply.json["title"]) == (403, "Permission Denied"), reply.body
    assert reply.json["details"]["field"] == field


def directory_of(daemon: Daemon, created: Reply) -> str:
    assert created.status == 201, created.body
    found: str = daemon.get(f"/sessions/{created.json['sessionId']}")["directory"]
    return found


def test_case_09_a_session_stays_beneath_the_roots(places: Places) -> None:
    """Before, a session in `/` opened every file to whoever had a token, `--root` or not."""
    (places.root / "out").symlink_to(places.elsewhere)
    (places.root / "in").symlink_to("below")
    (places.folder / "root-too").mkdir()
    with places.daemon("--root", str(places.root)) as daemon:
        writer = token(daemon, "write")
        outside = (
            "/", "/etc", places.folder, places.elsewhere, places.root / "out", places.home,
            places.temporary, places.folder / "root-too", f"{places.root}/../elsewhere",
            places.folder / "is-not-there",
        )  # fmt: skip
        for headers in (writer, None):
            for directory in outside:
                refused = create(daemon, directory, headers)
                assert_refused(refused)
                assert str(places.root) in refused.json["detail"]
            for directory in (places.root, places.root / "below", places.root / "in"):
                made = create(daemon, directory, headers)
                assert directory_of(daemon, made) == str(directory)
        assert create(daemon, places.root / "is-not-there", writer).status == 400
        assert daemon.get("/sessions")["sessions"][-1]["directory"].startswith(str(places.root))


def test_case_09_resume_and_fork_stay_beneath_the_roots(places: Places) -> None:
    """Before, what was resumed or forked could be so anywhere."""
    with places.daemon("--root", str(places.root)) as daemon:
        daemon.create("first", directory=str(places.root))
        daemon.turn("first", "echo hello")
        for fork in (False, True):
            resume = {"sessionId": "first", "fork": fork}
            assert_refused(create(daemon, places.elsewhere, resume=resume))
        made = create(daemon, places.root / "below", resume={"sessionId": "first", "fork": True})
        assert made.status == 201, made.body


def test_case_09_without_roots_only_an_admin_leaves_the_home(places: Places) -> None:
    """Before, a token that may write could open `/` to itself."""
    with places.daemon() as daemon:
        writer, admin = token(daemon, "write"), token(daemon, "admin")
        for directory in ("/", places.elsewhere, places.folder, places.folder / "is-not-there"):
            refused = create(daemon, directory, writer)
            assert_refused(refused)
            assert refused.json["details"]["scope"] == "admin"
            assert "--root" in refused.json["detail"]
        for directory in (places.home, places.home / "below", places.temporary / "below"):
            assert create(daemon, directory, writer).status == 201
        for headers in (admin, None):
            made = create(daemon, places.elsewhere, headers)
            fs = Fs(daemon, made.json["sessionId"])
            assert fs.read("secret").body == b"secret"


def test_case_09_the_directory_that_nobody_asked_for_is_one_that_may_be(places: Places) -> None:
    """Before, it was the daemon's own folder, also where that was outside of every root."""
    roots = ("--root", str(places.root), "--root", str(places.home))
    below = places.home / "below"
    for flags, cwd, expected in (
        (roots, places.elsewhere, places.root),
        (roots, below, below),
        ((), places.elsewhere, places.elsewhere),
        ((), below, below),
        ((), Path("/"), places.home),
    ):
        with places.daemon(*flags, cwd=cwd) as daemon:
            writer = token(daemon, "write")
            made = create(daemon, None, writer)
            assert directory_of(daemon, made) == str(expected)
            assert Fs(daemon, made.json["sessionId"], writer).entries().status == 200
            if cwd == places.elsewhere:
                assert_refused(create(daemon, places.elsewhere / "below", writer))
        shutil.rmtree(places.folder / "data")


def test_case_09_a_session_that_was_kept_opens_no_more_than_a_new_one(places: Places) -> None:
    """Before, one from a time without roots, or whose link was led elsewhere, opened all."""
    link = places.home / "link"
    link.symlink_to(places.home / "below")
    with places.daemon() as daemon:
        daemon.create("kept", directory=str(places.elsewhere))
        reader = token(daemon, "read")
        assert create(daemon, link, token(daemon, "write")).status == 201
        linked = daemon.get("/sessions")["sessions"][0]["sessionId"]
        assert Fs(daemon, linked, reader).entries().status == 200
        link.unlink()
        link.symlink_to(places.elsewhere)
        for session in ("kept", linked):
            assert_refused(Fs(daemon, session, reader).read("secret"), "session_id")
            assert Fs(daemon, session).read("secret").body == b"secret"
    with places.daemon("--root", str(places.root)) as daemon:
        for session in ("kept", linked):
            for headers in (reader, None):
                fs = Fs(daemon, session, headers)
                for reply in (fs.entries(), fs.read("secret")):
                    assert_refused(reply, "session_id")
            assert_refused(Fs(daemon, session).write("new", b"x"), "session_id")
        assert daemon.get("/sessions/kept")["directory"] == str(places.elsewhere)
    assert [path.name for path in places.elsewhere.iterdir() if path.is_file()] == ["secret"]
