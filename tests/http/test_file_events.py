"""Files of a session: each change in its stream, each turn's diff before its end."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases.common import assert_conforms, eventually, types
from tests.daemon import Daemon, running
from tests.workspace.trees import apply, contents, git, repository, write

Event = dict[str, Any]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("files") / "data") as started:
        yield started


class Worker:
    """A session of the mock agent, whose files the test changes while a turn waits."""

    def __init__(self, daemon: Daemon, name: str, folder: Path, **more: Any) -> None:
        self.daemon, self.folder, self.path = daemon, folder, f"/sessions/{name}"
        body = {"agent": "mock", "directory": str(folder), **more}
        reply = daemon.request("POST", self.path, body)
        assert reply.status == 200, reply.body

    def events(self) -> list[Event]:
        return list(self.daemon.get(f"{self.path}/events?limit=10000")["events"])

    def of_type(self, type: str) -> list[Event]:
        return [event for event in self.events() if event["type"] == type]

    def wait_for(self, name: str, after: int = 0, **data: Any) -> Event:
        with self.daemon.stream(f"{self.path}/events/sse?offset={after}") as stream:
            for event in stream:
                if event["type"] == name and data.items() <= event["data"].items():
                    return dict(event)
        raise AssertionError(f"no {name}")

    def begin(self) -> Event:
        """A turn that waits for a permission."""
        after = len(self.events())
        reply = self.daemon.request("POST", f"{self.path}/messages", {"message": "permission"})
        assert reply.status == 204, reply.body
        return self.wait_for("permission.requested", after)

    def finish(self, asked: Event) -> Event:
        """Let it go on, and wait for its end."""
        name = asked["data"]["permission_id"]
        reply = self.daemon.request(
            "POST", f"{self.path}/permissions/{name}/reply", {"reply": "once"}
        )
        assert reply.status == 204, reply.body
        return self.wait_for("turn.ended", asked["sequence"])

    def file_events(self, name: str) -> list[str]:
        path = str(self.folder / name)
        return [
            e["data"]["type"] for e in self.of_type("sandbox.file") if e["data"]["path"] == path
        ]


def test_files_are_told_of_live_and_with_a_time(daemon: Daemon, tmp_path: Path) -> None:
    worker = Worker(daemon, "live", tmp_path)
    write(tmp_path, {"before-any-turn": "1"})
    event = worker.wait_for("sandbox.file", path=f"{tmp_path}/before-any-turn")
    assert event["data"].keys() == {"type", "path", "timestamp"}
    assert event["data"]["type"] == "create"
    assert event["synthetic"]
    asked = worker.begin()
    write(tmp_path, {"before-any-turn": "22", "sub/new": "x"})
    worker.wait_for("sandbox.file", type="change", path=f"{tmp_path}/before-any-turn")
    worker.wait_for("sandbox.file", type="create", path=f"{tmp_path}/sub/new")
    (tmp_path / "sub" / "new").unlink()
    worker.wait_for("sandbox.file", type="delete", path=f"{tmp_path}/sub/new")
    assert not worker.of_type("turn.ended")
    worker.finish(asked)
    assert_conforms(worker.events())


def test_what_is_written_right_before_a_turn_is_told(daemon: Daemon, tmp_path: Path) -> None:
    worker = Worker(daemon, "right-before", tmp_path)
    write(tmp_path, {"a": "1"})
    asked = worker.begin()
    worker.wait_for("sandbox.file", type="create", path=f"{tmp_path}/a")
    (tmp_path / "a").unlink()
    worker.wait_for("sandbox.file", type="delete", path=f"{tmp_path}/a")
    worker.finish(asked)


def test_a_turn_ends_with_what_it_has_changed(daemon: Daemon, tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"a": "1\n", "b": "1\n"})
    write(work, {"a": "dirty\n", "untracked": "u\n", "staged": "s\n"})
    git(work, "add", "staged")
    copy, clone = tmp_path / "copy", tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(work), str(clone))
    shutil.copytree(work, copy)
    worker = Worker(daemon, "turn", work)
    asked = worker.begin()
    write(work, {"a": "changed\n", "new/file": "n\n", "untracked": "v\n"})
    (work / "b").unlink()
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "by the agent")
    write(work, {"late": "l\n"})
    ended = worker.finish(asked)
    (changed,) = worker.of_type("file.changed")
    (of_turn,) = worker.of_type("turn.diff")
    assert [changed["sequence"], of_turn["sequence"]] == [
        ended["sequence"] - 2, ended["sequence"] - 1,
    ]  # fmt: skip
    assert changed["data"]["path"] == "."
    assert of_turn["data"]["turn_id"] == ended["data"]["turn_id"]
    apply(clone, changed["data"]["diff"])
    apply(copy, of_turn["data"]["diff"])
    assert contents(clone) == contents(copy) == contents(work)
    # Also what was written right before the end was told before it.
    assert worker.file_events("late") == ["create"]
    (told,) = [e for e in worker.of_type("sandbox.file") if e["data"]["path"].endswith("/late")]
    assert told["sequence"] < changed["sequence"]
    assert_conforms(worker.events())
    info = daemon.get(worker.path)
    assert info["changes"] == {"files": 6, "additions": 5, "deletions": 2}


def test_a_turn_that_changes_nothing_has_no_diff(daemon: Daemon, tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"a": "1\n"})
    write(work, {"a": "dirty\n"})
    worker = Worker(daemon, "nothing", work)
    worker.finish(worker.begin())
    assert not {"file.changed", "turn.diff", "sandbox.file"} & set(types(worker.events()))


def test_each_turn_has_its_own_diff_and_the_session_all(daemon: Daemon, tmp_path: Path) -> None:
    worker = Worker(daemon, "each", tmp_path)
    for number in (1, 2):
        write(tmp_path, {f"by-a-person-{number}": "p\n"})
        asked = worker.begin()
        write(tmp_path, {f"by-the-agent-{number}": "a\n"})
        worker.finish(asked)
    first, second = worker.of_type("turn.diff")
    assert "by-a-person" not in second["data"]["diff"]
    assert "by-the-agent-2" in second["data"]["diff"]
    assert "by-the-agent-1" not in second["data"]["diff"]
    for event in (first, second):
        found = daemon.get(f"{worker.path}/diff?turn={event['data']['turn_id']}")
        assert found == {"path": ".", "diff": event["data"]["diff"], "truncated": False}
    whole = daemon.get(f"{worker.path}/diff")["diff"]
    assert all(name in whole for name in ("by-the-agent-1", "by-a-person-2", "by-the-agent-2"))
    assert "by-a-person-1" not in whole
    write(tmp_path, {"now": "n\n"})
    assert "now" in daemon.get(f"{worker.path}/diff")["diff"]
    daemon.request("POST", f"{worker.path}/terminate")
    assert daemon.get(f"{worker.path}/diff")["diff"] == whole
    assert daemon.request("GET", f"{worker.path}/diff?turn=none").status == 404


def test_interrupted_and_failed_turns_have_diffs(daemon: Daemon, tmp_path: Path) -> None:
    worker = Worker(daemon, "cut", tmp_path)
    asked = worker.begin()
    write(tmp_path, {"interrupted": "1\n"})
    daemon.request("POST", f"{worker.path}/interrupt")
    ended = worker.wait_for("turn.ended", asked["sequence"])
    assert ended["data"]["outcome"] == "interrupted"
    assert "interrupted" in worker.of_type("file.changed")[-1]["data"]["diff"]
    asked = worker.begin()
    write(tmp_path, {"killed": "1\n"})
    (process,) = [
        each for each in daemon.get("/processes")["processes"] if each["sessionIds"] == ["cut"]
    ]
    subprocess.run(["kill", "-9", str(process["pid"])], check=True)
    ended = worker.wait_for("turn.ended", asked["sequence"])
    assert ended["data"]["outcome"] == "failed"
    assert "killed" in worker.of_type("turn.diff")[-1]["data"]["diff"]
    assert_conforms(worker.events())


def test_two_sessions_in_one_folder_both_hear(daemon: Daemon, tmp_path: Path) -> None:
    workers = [Worker(daemon, name, tmp_path) for name in ("one", "two")]
    asked = [worker.begin() for worker in workers]
    write(tmp_path, {"shared": "1\n"})
    for worker, each in zip(workers, asked, strict=True):
        worker.wait_for("sandbox.file", path=f"{tmp_path}/shared")
        worker.finish(each)
        assert "shared" in worker.of_type("turn.diff")[0]["data"]["diff"]


def test_a_session_may_want_to_hear_nothing_or_less_or_more(daemon: Daemon, tmp_path: Path) -> None:
    work = repository(tmp_path / "work", {"a": "1\n", ".gitignore": "*.log\n"})
    off = Worker(daemon, "off", work, fileEvents=False)
    options = {"ignore": ["dist"], "gitignore": True, "diff": True}
    more = Worker(daemon, "more", work, fileEvents=options)
    asked = [off.begin(), more.begin()]
    write(work, {"a": "2\n", "x.log": "1", "dist/y": "2"})
    diff = more.wait_for("sandbox.file.diff", path=f"{work}/a")
    assert "-1\n+2\n" in diff["data"]["diff"]
    for worker, each in zip((off, more), asked, strict=True):
        worker.finish(each)
    assert not {"sandbox.file", "file.changed", "turn.diff"} & set(types(off.events()))
    assert {e["data"]["path"] for e in more.of_type("sandbox.file")} == {f"{work}/a"}
    assert daemon.request("GET", f"{off.path}/diff").status == 404
    assert daemon.get(more.path)["fileEvents"] == options
    assert daemon.get(off.path)["fileEvents"] is False


def test_a_secret_in_a_file_is_redacted_in_diffs(daemon: Daemon, tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    worker = Worker(daemon, "secret", tmp_path, env={"MY_SECRET": secret})
    asked = worker.begin()
    write(tmp_path, {"config": f"key={secret}\n"})
    worker.finish(asked)
    assert "[redacted:MY_SECRET]" in worker.of_type("turn.diff")[0]["data"]["diff"]
    assert secret not in str(worker.events())
    assert secret not in daemon.get(f"{worker.path}/diff")["diff"]


def test_a_diff_has_a_size(tmp_path: Path) -> None:
    with running(tmp_path / "data", env={"DRAGOMAN_MAX_DIFF_BYTES": "2048"}) as daemon:
        work = tmp_path / "work"
        work.mkdir()
        worker = Worker(daemon, "large", work)
        asked = worker.begin()
        write(work, {"long": "x\n" * 5000, "short": "y\n"})
        worker.finish(asked)
        data = worker.of_type("file.changed")[0]["data"]
        assert data["truncated"] is True
        assert "+y" in data["diff"]
        assert "# left out, its diff has" in data["diff"]
        assert len(data["diff"]) < 3000


def test_after_a_kill_the_turn_that_was_cut_has_its_diff(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, {"a": "1\n"})
    with running(tmp_path / "data") as daemon:
        worker = Worker(daemon, "killed", work)
        worker.begin()
        write(work, {"a": "2\n"})
        daemon.kill()
        daemon.start()
        (changed,) = worker.of_type("file.changed")
        assert "-1\n+2\n" in changed["data"]["diff"]
        assert types(worker.events())[-1] == "turn.ended"
        asked = worker.begin()
        write(work, {"b": "3\n"})
        worker.finish(asked)
        assert "a/a" not in worker.of_type("turn.diff")[-1]["data"]["diff"]
        assert "a/a" in daemon.get(f"{worker.path}/diff")["diff"]
        assert_conforms(worker.events())


def test_deleting_the_last_session_of_a_folder_removes_its_snapshots(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work, {"a": "1\n"})
    with running(tmp_path / "data") as daemon:
        workers = [Worker(daemon, name, work) for name in ("one", "two")]
        for worker in workers:
            worker.finish(worker.begin())
        kept = tmp_path / "data" / "workspaces"
        assert len(list(kept.iterdir())) == 1
        for worker in workers:
            assert daemon.request("DELETE", worker.path).status == 204
        eventually(lambda: not list(kept.iterdir()), "the snapshots are gone")


def test_the_data_folder_of_the_daemon_is_no_news(tmp_path: Path) -> None:
    """Each event that is written would be the next one to tell."""
    with running(tmp_path / "project" / "data") as daemon:
        above = Worker(daemon, "above", tmp_path / "project")
        inside = Worker(daemon, "inside", tmp_path / "project" / "data")
        for worker in (above, inside):
            asked = worker.begin()
            write(tmp_path / "project", {f"of-{asked['session_id']}": "1\n"})
            worker.finish(asked)
        write(tmp_path / "project", {"end": "1"})
        above.wait_for("sandbox.file", path=f"{tmp_path}/project/end")
        paths = {event["data"]["path"] for event in above.of_type("sandbox.file")}
        names = {"of-above", "of-inside", "end"}
        assert paths == {f"{tmp_path}/project/{name}" for name in names}
        diff = above.of_type("turn.diff")[0]["data"]["diff"]
        assert "of-above" in diff
        assert "data/" not in diff
        assert inside.of_type("sandbox.file") == []


def test_debugging_the_sandbox_logs_what_it_sees(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with running(tmp_path / "data", "--debug", "sandbox") as daemon:
        worker = Worker(daemon, "logged", work)
        write(work, {"a": "1\n"})
        worker.wait_for("sandbox.file")
        log = (tmp_path / "data" / "logs" / "daemon.log").read_text()
    assert f"create {work}/a" in log


FEW_WATCHES = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$0" "$@"'
"""In a user namespace, the limit is that of the namespace."""


def test_a_watch_limit_that_is_reached_is_told_and_files_are_seen_all_the_same(
    tmp_path: Path,
) -> None:
    own = ("unshare", "--user", "--map-root-user", "sh", "-c", FEW_WATCHES)
    if subprocess.run([*own, "true"], capture_output=True).returncode:
        pytest.skip("no user namespace can be made here")
    work = tmp_path / "work"
    write(work, {f"{number}/a": "1" for number in range(9)})
    daemon = Daemon(tmp_path / "data")
    daemon.python = (*own, sys.executable)
    daemon.start()
    try:
        worker = Worker(daemon, "limited", work)
        status = worker.wait_for("item.completed")["data"]["item"]["content"][0]
        assert status["label"] == "file events"
        assert "raise fs.inotify.max_user_watches" in status["detail"]
        write(work, {"8/new": "1"})
        worker.wait_for("sandbox.file", path=f"{work}/8/new")
        assert_conforms(worker.events())
    finally:
        daemon.stop()


def test_copies_that_nobody_needs_are_removed(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with running(tmp_path / "data") as daemon:
        worker = Worker(daemon, "many", work)
        for content in ("one", "two", "three"):
            asked = worker.begin()
            write(work, {f"{number}": f"{content} {number}\n" for number in range(2000)})
            worker.finish(asked)
        (place,) = (tmp_path / "data" / "workspaces").iterdir()
        # Those of the first turn are the session's beginning, those of the last one its end.
        eventually(lambda: objects(place) < 2 * 2000 + 1000, "copies are removed")
        assert "+three 7" in daemon.get(f"{worker.path}/diff?turn={last_turn(worker)}")["diff"]


def objects(place: Path) -> int:
    return sum(len(list(folder.iterdir())) for folder in (place / "objects").glob("??"))


def last_turn(worker: Worker) -> str:
    return str(worker.of_type("turn.ended")[-1]["data"]["turn_id"])


def test_that_the_settings_turn_it_off_is_told(tmp_path: Path) -> None:
    with running(tmp_path / "data", env={"DRAGOMAN_FILE_EVENTS": "false"}) as daemon:
        off = Worker(daemon, "off", tmp_path)
        on = Worker(daemon, "on", tmp_path, fileEvents=True)
        assert daemon.get(off.path)["fileEvents"] is False
        assert daemon.get(on.path)["fileEvents"] is True
        assert daemon.request("GET", f"{off.path}/diff").status == 404
