"""The examples do what they say, against a real daemon."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon import Daemon, running
from tests.generated import ROOT

EXAMPLES = ROOT / "examples"
DEADLINE_S = 60


def run(daemon: Daemon, *words: str, answers: str = "") -> str:
    """Run an example as a user does, and give what it printed."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / words[0]), *words[1:]],
        env={"DRAGOMAN_DATA_DIR": str(daemon.data_dir), "HOME": str(daemon.data_dir)},
        input=answers,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copied(database: Path, session: str) -> list[bytes]:
    db = sqlite3.connect(database)
    try:
        found = db.execute(
            "SELECT event FROM events WHERE session = ? ORDER BY sequence", (session,)
        )
        return [event.encode() for (event,) in found]
    finally:
        db.close()


def stored(daemon: Daemon, session: str) -> list[bytes]:
    """The events of an ended session, byte for byte."""
    with daemon.stream(f"/sessions/{session}/events/sse") as stream:
        return [data for _, data in stream.frames()]


def test_follow_shows_a_turn(daemon: Daemon) -> None:
    shown = run(daemon, "follow.py", "followed", "tool")
    assert "I will use some tools." in shown
    assert '> bash {"command": "make test"}' in shown
    assert "< completed: collecting\n3 passed" in shown
    assert shown.endswith("-- completed\n")


@pytest.mark.parametrize(
    ("answer", "told"), [("y", "You allowed it"), ("n", "You declined")], ids=["yes", "no"]
)
def test_follow_asks_for_permissions(daemon: Daemon, answer: str, told: str) -> None:
    shown = run(daemon, "follow.py", f"asked-{answer}", "permission", answers=f"{answer}\n")
    assert "May it use bash? [y/N]" in shown
    assert told in shown


def test_follow_asks_questions(daemon: Daemon) -> None:
    shown = run(daemon, "follow.py", "questioned", "questions", answers="Red\nPlum\n")
    assert "You answered. Colour: Red; Fruit: Plum" in shown


def test_copy_holds_every_event_byte_for_byte(daemon: Daemon, tmp_path: Path) -> None:
    daemon.create("copied")
    daemon.turn("copied", "demo")
    daemon.turn("copied", "end")
    for _ in range(2):  # the second run finds that nothing is left to do
        run(daemon, "copy_events.py", "copied", str(tmp_path / "copy.db"))
        assert copied(tmp_path / "copy.db", "copied") == stored(daemon, "copied")


def test_copy_survives_the_death_of_copier_and_daemon(data_dir: Path, tmp_path: Path) -> None:
    database = tmp_path / "copy.db"
    with running(data_dir) as daemon:
        daemon.create("long")
        daemon.send("long", "slow 100000")
        first = copying(daemon, database)
        wait_for_rows(database, 20)
        first.kill()
        first.wait(DEADLINE_S)
        second = copying(daemon, database)
        try:
            wait_for_rows(database, len(copied(database, "long")) + 20)
            daemon.kill()
            daemon.start()
            daemon.request("POST", "/sessions/long/terminate")
            assert second.wait(DEADLINE_S) == 0
        finally:
            second.kill()
            second.wait(DEADLINE_S)
        assert copied(database, "long") == stored(daemon, "long")


def copying(daemon: Daemon, database: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(EXAMPLES / "copy_events.py"), "long", str(database)],
        env={"DRAGOMAN_DATA_DIR": str(daemon.data_dir), "HOME": str(daemon.data_dir)},
    )


def wait_for_rows(database: Path, count: int) -> None:
    """Look until the copy holds so many events; the test's own deadline bounds it."""
    while True:
        try:
            if len(copied(database, "long")) >= count:
                return
        except sqlite3.OperationalError:
            continue  # the copier has not made its tables yet


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_page_follows_in_javascript(daemon: Daemon) -> None:
    daemon.create("page")
    daemon.turn("page", "demo")
    daemon.turn("page", "end")
    done = subprocess.run(
        ["node", str(EXAMPLES / "follow.mjs"), f"http://127.0.0.1:{daemon.port}", daemon.token,
         "page"],
        capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "user: demo\nassistant: This is what an agent may do.\n" in done.stdout
    assert done.stdout.endswith("user: end\nassistant: Goodbye.\n")
