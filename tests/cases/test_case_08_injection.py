"""Case 8: what an agent says is text, wherever it is shown; it commands no terminal."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon import Daemon, running

from .puppet import BEGIN, DONE, END, ENV, MESSAGE, delta, prompt, write

HOSTILE = (
    "\x1b[2J\x1b[31mred\x1b[0m"
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\"
    "\x1b]52;c;Zm9v\x07"
    "\x1b]0;title\x07"
    "\x9b31m\x00\x08\x7f\u202egnp.exe\u2066"
    "<script>alert(1)</script>"
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with an agent that says what it is told to."""
    with running(tmp_path_factory.mktemp("daemon"), env=ENV) as started:
        yield started


def hostile_turn(daemon: Daemon, session_id: str) -> None:
    daemon.create(session_id)
    daemon.turn(session_id, prompt(*write(BEGIN + MESSAGE + delta(HOSTILE) + DONE + END)))


def printed(daemon: Daemon, tmp_path: Path, *words: str) -> str:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8",
               "DRAGOMAN_DATA_DIR": str(daemon.data_dir)}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", *words],
        capture_output=True, text=True, env=environ, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def commands_in(text: str) -> list[str]:
    """Characters that a terminal, or a reader's eye, would obey."""
    return [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf")]


@pytest.mark.parametrize("words", [("events",), ("events", "--json")], ids=" ".join)
def test_case_08_no_control_sequence_of_an_agent_reaches_the_terminal(
    daemon: Daemon, tmp_path: Path, words: tuple[str, ...]
) -> None:
    session_id = f"evil-{len(words)}"
    hostile_turn(daemon, session_id)
    shown = printed(daemon, tmp_path, words[0], session_id, *words[1:])
    assert "red" in shown
    assert "click" in shown
    assert commands_in(shown) == []


def test_case_08_markup_of_an_agent_is_kept_as_text_and_never_sniffed(daemon: Daemon) -> None:
    hostile_turn(daemon, "markup")
    reply = daemon.request("GET", "/sessions/markup/events")
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-content-type-options"] == "nosniff"
    texts = [
        part["text"]
        for event in json.loads(reply.body)["events"]
        if event["type"] == "item.completed"
        for part in event["data"]["item"]["content"]
        if event["data"]["item"]["role"] == "assistant"
    ]
    assert texts == [HOSTILE]
