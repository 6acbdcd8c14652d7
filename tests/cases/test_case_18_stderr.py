"""Case 18: whatever an agent writes to stderr is drained, and costs no memory and little disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon import Daemon, running
from tests.testing.story import Talk, of_type, outcome, said

from .common import memory_bytes
from .culprits import WORDS, patience
from .puppet import BEGIN, DONE, END, ENV, MESSAGE, prompt, write

CAP = 1 << 20
FLAT_BYTES = 32 << 20
LINES = 64 << 10
"""Of a KiB each: twice what may be held."""
WHOLE = write(BEGIN + MESSAGE + WORDS + DONE + END)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    env = {**ENV, "DRAGOMAN_MAX_STDERR_BYTES": str(CAP)}
    with running(tmp_path_factory.mktemp("daemon"), env=env) as started:
        yield started


def files(talk: Talk) -> dict[str, Path]:
    folder = talk.daemon.data_dir / "stderr"
    return {path.name.removeprefix(talk.id): path for path in folder.glob(f"{talk.id}[.+]*")}


def test_case_18_a_flood_blocks_nobody_and_costs_no_memory(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn(patience(1))
    before = memory_bytes(daemon)
    assert outcome(talk.turn(prompt(["flood", LINES], *WHOLE))) == "completed"
    assert memory_bytes(daemon) - before < FLAT_BYTES
    turn = talk.turn(prompt(["flood", LINES], *write(BEGIN + MESSAGE + WORDS), ["exit", 3]))
    (error,) = of_type(turn, "error")
    stderr = error["details"]["stderr"]
    assert (stderr["total_lines"], stderr["truncated"]) == (2 * LINES, True)
    assert [text.split()[1] for text in stderr["head"].split("\n")] == [
        str(number) for number in range(1, 21)
    ]
    assert [text.split()[1] for text in stderr["tail"].split("\n")] == [
        str(number) for number in range(LINES - 49, LINES + 1)
    ]
    assert memory_bytes(daemon) - before < FLAT_BYTES
    assert said(talk.turn(patience(1))) == ["There. "]
    talk.conforms()


def test_case_18_of_a_flood_the_beginning_and_the_end_are_in_a_file(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn(prompt(["flood", 8 << 10], *WHOLE))
    talk.terminate()
    found = files(talk)
    assert set(found) == {".log", "+tail.log", "+tail.1.log"}
    assert sum(path.stat().st_size for path in found.values()) <= CAP
    assert {path.stat().st_mode & 0o777 for path in found.values()} == {0o600}
    assert found[".log"].parent.stat().st_mode & 0o077 == 0
    assert found[".log"].read_text().startswith("line 1 x")
    assert found["+tail.log"].read_text().rpartition("line ")[2].startswith(f"{8 << 10} x")


def test_case_18_what_is_short_is_kept_whole_from_one_process_to_the_next(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn(patience(1))
    for words in ("one\n", "two \N{SNOWMAN}\n"):
        talk.turn(prompt(["stderr", words], *write(BEGIN + MESSAGE), ["exit", 1]))
    (path,) = files(talk).values()
    assert path.read_text() == "one\ntwo \N{SNOWMAN}\n"


def test_case_18_the_file_goes_with_its_session_and_no_other_does(daemon: Daemon) -> None:
    talk, other = Talk(daemon), Talk(daemon)
    for each in (talk, other):
        each.turn(prompt(["stderr", "hello\n"], *WHOLE))
        each.terminate()
    assert daemon.request("DELETE", talk.path).status == 204
    assert files(talk) == {}
    assert len(files(other)) == 1


def test_case_18_a_folder_that_cannot_be_written_costs_the_file_and_nothing_else(
    data_dir: Path,
) -> None:
    data_dir.mkdir(mode=0o700)
    (data_dir / "stderr").write_text("in the way")
    with running(data_dir, env=ENV) as daemon:
        talk = Talk(daemon)
        talk.turn(patience(1))
        turn = talk.turn(prompt(["stderr", "help\n"], *write(BEGIN + MESSAGE), ["exit", 1]))
        assert of_type(turn, "error")[0]["details"]["stderr"]["head"] == "help"
        assert outcome(talk.turn(patience(1))) == "completed"
    assert os.path.isfile(data_dir / "stderr")
