"""The daemon dies after Codex was given a message, and before it could hear that it has it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents.codex import ADAPTER
from dragoman.testing.model import ScriptedModel, StepLike
from tests.agents.codex.live import muffle
from tests.agents.codex.live.agent import CODEX
from tests.agents.codex.live.scripts import run
from tests.agents.live import Live, calls, command
from tests.agents.watch import asked, done, ended, heard, outcomes
from tests.cases.common import eventually
from tests.daemon import running
from tests.testing.story import items, said, text

ONCE = run("echo once >> hits.txt")


@contextmanager
def walled(folder: Path, model: ScriptedModel, **create: Any) -> Iterator[tuple[Live, Path]]:
    """A session with a Codex that is not heard as long as the file is there."""
    flag = folder / "flag"
    words = [sys.executable, muffle.__file__, str(flag), *command(ADAPTER)]
    with running(folder / "data", env={"DRAGOMAN_CODEX_COMMAND": shlex.join(words)}) as daemon:
        yield Live(daemon, model, folder, CODEX, **create), flag


def hits(live: Live) -> int:
    found = live.workspace / "hits.txt"
    return found.read_text().count("once") if found.exists() else 0


def survive(live: Live, flag: Path) -> None:
    """Kill the daemon, and let the next one hear."""
    live.daemon.kill()
    flag.unlink()
    live.daemon.start()


@pytest.mark.parametrize("earlier", [["Hi"], []], ids=["later", "first"])
def test_a_message_that_codex_has_is_not_delivered_again(
    tmp_path: Path, earlier: list[str]
) -> None:
    steps: list[StepLike] = [*("Hello." for _ in earlier), calls(ONCE), "Done."]
    with ScriptedModel(steps) as model, walled(tmp_path, model, permissionMode="bypass") as made:
        live, flag = made
        for words in earlier:
            live.turn(words)
        flag.touch()
        live.send("Do it once")
        eventually(lambda: len(model.mains) == len(steps), "the model has done it")
        survive(live, flag)
        heard(live, ended("interrupted"))
        assert outcomes(live.events()) == [*("completed" for _ in earlier), "interrupted"]
        assert text(items(live.events(), "message", "user")[-1]) == "Do it once"
        model.script("I did.")
        assert said(live.turn("Did you?")) == ["I did."]
        assert hits(live) == 1
        assert asked(live, len(steps) + 1).count("Do it once") == 1
        live.conforms()


def test_a_message_that_has_joined_a_turn_is_not_delivered_again(tmp_path: Path) -> None:
    wait = run("while [ ! -e go ]; do sleep .01; done")
    steps = (calls(wait), calls(ONCE), "Done.")
    with ScriptedModel(steps) as model, walled(tmp_path, model, permissionMode="bypass") as made:
        live, flag = made
        live.send("Wait")
        heard(live, done("tool_call"))
        flag.touch()
        live.send("Do it once", delivery="steer")
        # Later it would cut what the model says next.
        eventually(lambda: flag.read_text() == "passed", "it is on its way into the turn")
        (live.workspace / "go").touch()
        eventually(lambda: len(model.mains) == len(steps), "the model has done it")
        survive(live, flag)
        heard(live, done("status"))
        model.script("I did.")
        assert said(live.turn("Did you?")) == ["I did."]
        assert outcomes(live.events()) == ["interrupted", "interrupted", "completed"]
        assert hits(live) == 1
        assert asked(live, len(steps) + 1).count("Do it once") == 1
        live.conforms()


def test_a_first_message_that_codex_never_heard_is_delivered_after_a_restart(
    tmp_path: Path,
) -> None:
    steps = (calls(ONCE), "Done.")
    with ScriptedModel(steps) as model, walled(tmp_path, model, permissionMode="bypass") as made:
        live, flag = made
        flag.write_text("lose")
        live.send("Do it once")
        eventually(lambda: flag.read_text() == "lost", "it is on its way, and does not arrive")
        survive(live, flag)
        heard(live, ended())
        assert hits(live) == 1
        assert outcomes(live.events()) == ["completed"]
        live.conforms()
