"""The README, and the first session that it leads to, work word for word."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from tests.daemon import Daemon
from tests.generated import ROOT

PORT = "2468"
START = "make run\n"
TEST = "make test\n"
README = ROOT / "README.md"
FIRST_SESSION = ROOT / "docs" / "first-session.md"
DONE = "this block is done"
DEADLINE_S = 30

_BLOCK = re.compile(r"```sh\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n)?", re.DOTALL)
_MASKS = (
    # When one comes, between which events, is a matter of moments.
    (re.compile(r"^: chain \d+ [0-9a-f]{32}\n\n?", re.MULTILINE), ""),
    (re.compile(r"ticket=.*"), "ticket=TICKET"),
    (re.compile(r"\b(evt|itm|msg|req|turn)_[0-9a-f]{23,}"), r"\1_ID"),
    (re.compile(r"\bmock-[0-9a-f]{12}"), "mock-ID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "TIME"),
)


class Block(Struct, frozen=True):
    """Something to type, and what comes of it; None: nothing is shown."""

    code: str
    shown: str | None


def blocks(page: Path) -> list[Block]:
    return [Block(found["code"], found["shown"]) for found in _BLOCK.finditer(page.read_text())]


def shape(text: str) -> str:
    """What stays the same from run to run."""
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class Terminal:
    """The second terminal: one shell for all blocks, so that its variables stay."""

    def __init__(self, home: Path) -> None:
        environ = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=ROOT,
            env={**environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def type(self, code: str) -> str:
        """Run some lines; what they print."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{code}printf '\\n{DONE}\\n'\n")
        self._shell.stdin.flush()
        printed = iter(self._shell.stdout.readline, f"{DONE}\n")
        return "".join(printed)

    def close(self) -> None:
        self._shell.communicate("exit\n", timeout=DEADLINE_S)


@contextmanager
def terminals(home: Path) -> Iterator[tuple[Daemon, Terminal]]:
    """Two terminals: in the first the daemon, in the second a shell."""
    plain = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    daemon, terminal = Daemon(home / "data" / "dragoman", env=plain), Terminal(home)
    try:
        yield daemon, terminal
    finally:
        terminal.close()
        if daemon.process is not None:
            daemon.stop()


@pytest.mark.parametrize("page", [README, FIRST_SESSION], ids=lambda page: page.stem)
def test_every_command_works_word_for_word(page: Path, tmp_path: Path) -> None:
    with terminals(tmp_path) as (daemon, terminal):
        for block in blocks(page):
            if block.code == TEST:
                continue  # that is who runs this
            if block.code == START:
                if daemon.process is not None:
                    assert daemon.process.wait(DEADLINE_S) == -signal.SIGKILL
                    daemon.kill()
                daemon.start()
                assert daemon.process is not None
                assert daemon.process.stdout is not None
                address = f"http://127.0.0.1:{daemon.port}"
                printed = f"Dragoman listens on {address}\n{daemon.process.stdout.readline()}"
            else:
                printed = terminal.type(_here(block.code, daemon))
            assert shape(printed) == shape(_here(block.shown or "", daemon)), block.code


def _here(text: str, daemon: Daemon) -> str:
    """The same on this daemon's port, with the command of the environment that runs the tests."""
    command = str(Path(sys.executable).with_name("dragoman"))
    return text.replace(f":{PORT}", f":{daemon.port}").replace(".venv/bin/dragoman", command)


def test_the_readme_serves_a_newcomer_with_two_minutes() -> None:
    """Before, the picture stood below the fold, and the command that tests it nowhere."""
    text = README.read_text()
    assert text.index("![") < text.index(START) < text.index(TEST) < text.index("## What it does")
    assert len(text.splitlines()) < 100
    assert "first-session.md" in text


def test_the_first_session_shows_everything_it_promises() -> None:
    typed = "".join(block.code for block in blocks(FIRST_SESSION))
    for step in ("/v1/health", "/messages", "/events/sse", "kill -9", "Last-Event-ID"):
        assert step in typed
    assert [block.code for block in blocks(FIRST_SESSION)].count(START) == 2


def test_make_run_starts_the_daemon_as_it_is() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nrun: setup")[2].splitlines()[1:3]
    assert "web" in recipe[0]
    assert recipe[1].strip() == "@$(BIN)/dragoman serve"
