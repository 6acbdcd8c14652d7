"""What waits, seen and answered from a terminal, with a real daemon."""

from __future__ import annotations

import itertools
import json
import os
import pty
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.acp_agent import COMMAND
from tests.cli.conftest import Beside


def until(stream: IO[str] | None, words: str) -> str:
    """Read lines up to the first that holds these words."""
    assert stream is not None
    for line in stream:
        if words in line:
            return line
    raise AssertionError(f"it ended without {words!r}")


def cancel_in(told: str) -> list[str]:
    """The command that a hint names."""
    found = re.search(r"dragoman (cancel \S+ msg_\w+)", told)
    assert found
    return found[1].split()


def test_a_message_that_waits_says_so_and_is_taken_back(beside: Beside) -> None:
    with beside.open("send", "back", "permission", "--agent", "mock") as first:
        until(first.stdout, "dragoman reply")
        with beside.open("send", "back", "echo later") as second:
            told = until(second.stderr, "waiting for the running turn to end")
            shown = beside.run("pending", "back").stdout
            assert "permission wanted: bash\n  | make clean\n  once | always (bash) |" in shown
            listed = r"message, waiting for \d+s: echo later\n  dragoman cancel back msg_"
            assert re.search(listed, shown)
            done = beside.run(*cancel_in(told)).stdout
            assert done.endswith(" is taken back; the agent never sees it\n")
            out, rest = second.communicate(timeout=30)
        assert (second.returncode, out) == (1, "")
        assert rest == "the message was taken back; the agent never saw it\n"
        beside.run("interrupt", "back")
        shown, _ = first.communicate(timeout=30)
    assert "permission bash: withdrawn (interrupt)\n" in shown
    assert "waiting" not in shown
    assert beside.run("pending", "back").stdout == "nothing waits\n"


def test_leaving_a_message_that_waits_says_where_it_is(beside: Beside) -> None:
    with beside.open("send", "left", "permission", "--agent", "mock") as first:
        until(first.stdout, "dragoman reply")
        with beside.open("send", "left", "echo later") as second:
            until(second.stderr, "waiting for the running turn to end")
            second.send_signal(signal.SIGINT)
            _, told = second.communicate(timeout=30)
        assert second.returncode == 130
        assert "the message stays in the queue; take it back with" in told
        message = cancel_in(told)[-1]
        (waiting,) = json.loads(beside.run("pending", "left", "--json").stdout)["messages"]
        assert waiting["messageId"] == message
        first.send_signal(signal.SIGINT)
        _, told = first.communicate(timeout=30)
        assert "the turn goes on; stop it with: dragoman interrupt left" in told
    assert json.loads(beside.run("cancel", "left", message, "--json").stdout) == {
        "messageId": message,
        "cancelled": True,
    }
    assert message in beside.run("cancel", "left", message, code=4).stderr


def test_what_pending_prints_answers_a_question(beside: Beside) -> None:
    with beside.open("send", "asked", "questions", "--agent", "mock") as turn:
        until(turn.stdout, "reject)")
        shown = beside.run("pending", "asked").stdout
        assert "  1. Colour: Which colour?\n     - Red: Like a rose.\n" in shown
        (command,) = re.findall(r"^  dragoman (reply .*)$", shown, re.MULTILINE)
        assert command.endswith("-a 1=Red -a 2=Apple -a 2=Pear")
        beside.run(*command.split())
        rest, _ = turn.communicate(timeout=30)
    assert "question answered: Colour: Red; Fruit: Apple, Pear\n" in rest
    assert "You answered. Colour: Red; Fruit: Apple, Pear\n" in rest


def test_what_a_rule_answers_is_one_line_without_a_hint(beside: Beside) -> None:
    flags = ("--agent", "mock", "--permission-mode", "bypass")
    shown = beside.run("send", "free", "permission", *flags).stdout
    assert "permission bash: allowed by rule mode:bypass\n" in shown
    assert "wanted" not in shown
    assert "dragoman reply" not in shown
    listed = beside.run("events", "free").stdout
    assert "bash: allowed by rule mode:bypass\n" in listed
    assert "Context(" not in listed


def test_an_id_is_not_used_twice(beside: Beside) -> None:
    beside.run("send", "gone", "echo hi", "--agent", "mock")
    beside.run("rm", "gone")
    told = beside.run("send", "gone", "echo hi", "--agent", "mock", code=4).stderr
    assert "was used before and removed" in told


@pytest.mark.parametrize(("variable", "styled"), [("NO_COLOR", False), ("ANY_COLOR", True)])
def test_a_terminal_without_colour_gets_plain_text(
    beside: Beside, variable: str, styled: bool
) -> None:
    ours, theirs = pty.openpty()
    environ = {**beside.environ, "TERM": "xterm-256color", variable: "1"}
    name = f"plain-{variable}"
    process = subprocess.Popen(
        beside.argv("send", name, "tools", "--agent", "mock"),
        env=environ, cwd=beside.home, stdout=theirs, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            shown += chunk
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    assert process.wait(30) == 0
    assert "→ bash: make lint" in shown.decode()
    assert (b"\x1b" in shown) is styled


# --- An agent that takes its time ---

_numbers = itertools.count(1)


@pytest.fixture
def gate(beside: Beside) -> Iterator[tuple[str, Path]]:
    """An agent that comes up when its gate is opened."""
    gate = beside.home / "gate"
    os.mkfifo(gate)
    name = f"slow{next(_numbers)}"
    wait = f"read line < {shlex.quote(str(gate))}; exec {shlex.join(COMMAND)}"
    beside.run("agents", "add", name, "--", "sh", "-c", wait)
    yield name, gate
    beside.run("agents", "remove", name)


def test_an_agent_that_takes_its_time_is_said_to_be_starting(
    beside: Beside, gate: tuple[str, Path]
) -> None:
    """Before, nothing was said for up to 17 s, where an agent runs on Node.js."""
    name, opened = gate
    with beside.open("send", f"s-{name}", "hello there", "--agent", name) as sending:
        assert until(sending.stderr, "starting") == f"starting {name} …\n"
        opened.write_text("go\n")
        shown, told = sending.communicate(timeout=30)
    assert (sending.returncode, told) == (0, "")
    assert shown.startswith("hello there\n")


def test_a_terminal_shows_for_how_long_it_has_been_starting(
    beside: Beside, gate: tuple[str, Path]
) -> None:
    name, opened = gate
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        beside.argv("send", f"s-{name}", "hello there", "--agent", name),
        env={**beside.environ, "TERM": "xterm", "COLUMNS": "100"}, cwd=beside.home,
        stdout=subprocess.PIPE, stderr=theirs, text=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while not re.search(rf"starting {name} … \d+ s", shown.decode(errors="replace")):
        shown += os.read(ours, 4096)
    opened.write_text("go\n")
    answer, _ = process.communicate(timeout=30)
    os.close(ours)
    assert answer.startswith("hello there\n")
