"""Case 19: however an agent's process ends, everything it left open is closed, once."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import Daemon, running
from tests.testing.story import Event, Talk, items, lives, of_type, outcome, said, text

from .common import eventually, pid_of
from .puppet import (
    BEGIN,
    DONE,
    END,
    ENV,
    MESSAGE,
    PAUSE,
    Act,
    call,
    complete,
    delta,
    dying,
    line,
    prompt,
    saying,
    start,
    write,
)

WORDS = delta("I do not")
CALL = call("t1") + delta("{}", "t1", "arguments")
READY = complete("t1")
ASK = line("ask_permission", key="p1", item="t1", action="bash")
QUESTION = line("ask_question", key="q1", questions=[{"question_id": "a", "prompt": "Why?"}])
TEXT = {"type": "text", "text": ""}
HELPER = start("a1", "status", {"type": "status", "label": "subagent"}, parent="t1") + start(
    "m2", "message", TEXT, parent="t1", subagent="a1"
)
HELLO = saying(delta("hello"))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), env=ENV) as started:
        yield started


def one_error(turn: list[Event]) -> Any:
    (error,) = of_type(turn, "error")
    assert error["code"] == "process_exit"
    return error


@pytest.mark.parametrize(
    ("end", "code", "number"),
    [
        (["exit", 0], 0, None),
        (["exit", 1], 1, None),
        (["exit", 255], 255, None),
        (["kill", signal.SIGKILL], None, 9),
        (["kill", signal.SIGSEGV], None, 11),
        (["kill", signal.SIGTERM], None, 15),
    ],
    ids=str,
)
@pytest.mark.parametrize("open_lines", [b"", BEGIN, BEGIN + MESSAGE + WORDS], ids=len)
def test_case_19_an_end_without_an_end_frame_fails_the_turn_and_the_session_goes_on(
    daemon: Daemon, end: Act, code: int | None, number: int | None, open_lines: bytes
) -> None:
    talk = Talk(daemon)
    said(talk.turn(HELLO))
    native = talk.info["nativeSessionId"]
    turn = talk.turn(prompt(*write(open_lines), end))
    error = one_error(turn)
    assert (error["details"]["exit_code"], error["details"]["signal"]) == (code, number)
    assert outcome(turn) == "failed"
    assert len(items(turn, "message", "user")) == 1
    assert (talk.info["status"], talk.info["lastOutcome"]) == ("idle", "failed")
    assert said(talk.turn(HELLO)) == ["hello"]
    assert talk.info["nativeSessionId"] == native
    assert of_type(talk.conforms(), "session.ended") == []


def test_case_19_everything_that_was_open_is_closed_in_order_and_once(daemon: Daemon) -> None:
    talk = Talk(daemon)
    open_lines = BEGIN + MESSAGE + WORDS + CALL + READY + HELPER + ASK + QUESTION
    talk.send(prompt(*write(open_lines), ["stderr", "out of memory\n"], ["exit", 137]))
    talk.until("turn.ended")
    events = talk.conforms()
    for type in ("permission.resolved", "question.resolved"):
        (resolved,) = of_type(events, type)
        assert resolved["status"] in ("reject", "rejected")
        assert resolved["metadata"]["reason"] == "process_exit"
        assert "approver" not in resolved
    cut = [item for item in items(events) if item["status"] == "failed"]
    assert {item["reason"] for item in cut} == {"process_exit"}
    assert {item["kind"] for item in cut} == {"message", "status", "tool_result"}
    assert text(items(events, "message", "assistant")[-1]) == "I do not"
    types = [event["type"] for event in events]
    ends = [types.index(type) for type in ("permission.resolved", "error", "turn.ended")]
    assert ends == sorted(ends)
    assert one_error(events)["details"]["stderr"]["head"] == "out of memory"
    pending = daemon.get(f"{talk.path}/pending")
    assert (pending["permissions"], pending["questions"]) == ([], [])


def test_case_19_an_agent_that_never_came_up_ends_the_session_with_what_it_wrote(
    daemon: Daemon,
) -> None:
    talk = Talk(daemon, env=dying("no licence\nsee the manual\n"))
    message_id = talk.send("hello")
    ended = talk.until("session.ended")["data"]
    events = talk.conforms()
    assert (ended["reason"], ended["terminated_by"]) == ("error", "agent")
    assert ended["exit_code"] == 5
    assert ended["stderr"] == {
        "head": "no licence\nsee the manual",
        "truncated": False,
        "total_lines": 2,
    }
    assert outcome(events) == "failed"
    assert one_error(events)["details"]["exit_code"] == 5
    (mine,) = items(events, "message", "user")
    assert (mine["message_id"], text(mine)) == (message_id, "hello")
    assert len(of_type(events, "session.ended")) == 1
    assert talk.post("/messages", {"message": "again"}).status == 410


def test_case_19_long_last_words_are_cut_in_the_middle(daemon: Daemon) -> None:
    words = "".join(f"line {number}\n" for number in range(1, 101))
    talk = Talk(daemon, env=dying(words))
    talk.send("hello")
    stderr = talk.until("session.ended")["data"]["stderr"]
    assert (stderr["truncated"], stderr["total_lines"]) == (True, 100)
    assert stderr["head"].split("\n") == [f"line {number}" for number in range(1, 21)]
    assert stderr["tail"].split("\n") == [f"line {number}" for number in range(51, 101)]


def test_case_19_an_agent_that_dies_before_it_named_itself_cannot_be_resumed(
    daemon: Daemon,
) -> None:
    talk = Talk(daemon, env={"PUPPET_SILENT": "1"})
    talk.send(prompt(*write(BEGIN + MESSAGE + WORDS), ["kill", 9]))
    ended = talk.until("session.ended")["data"]
    assert ended["reason"] == "error"
    assert "exit_code" not in ended
    assert "signal 9" in ended["message"]
    assert said(talk.conforms()) == ["I do not"]


def test_case_19_in_a_crash_loop_each_message_gets_its_turn_its_error_and_its_end(
    daemon: Daemon,
) -> None:
    talk = Talk(daemon)
    crash = prompt(*write(BEGIN + MESSAGE + WORDS), ["exit", 3])
    ids = [talk.send(crash) for _ in range(5)]
    for _ in ids:
        talk.until("turn.ended")
    events = talk.conforms()
    assert [data["outcome"] for data in of_type(events, "turn.ended")] == ["failed"] * 5
    assert [error["code"] for error in of_type(events, "error")] == ["process_exit"] * 5
    assert [item["message_id"] for item in items(events, "message", "user")] == ids
    assert said(events) == ["I do not"] * 5
    assert said(talk.turn(HELLO)) == ["hello"]


def test_case_19_an_exit_between_turns_writes_nothing_and_the_next_message_starts_anew(
    daemon: Daemon,
) -> None:
    talk = Talk(daemon)
    lines = BEGIN + MESSAGE + DONE + END
    turn = talk.turn(prompt(*write(lines), *[PAUSE] * 5, ["exit", 1]))
    assert outcome(turn) == "completed"
    for pid in talk.processes():
        wait_for_end(pid)
    before = talk.events()
    assert said(talk.turn(HELLO)) == ["hello"]
    after = talk.conforms()[len(before) :]
    assert after[0]["type"] == "turn.started"
    assert of_type(after, "error") == []


def wait_for_end(pid: int) -> None:
    with suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        select.select([process], [], [], 10)
        os.close(process)


def test_case_19_a_message_that_waited_is_delivered_to_the_next_process(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn(HELLO)
    talk.send(prompt(*write(BEGIN + MESSAGE + WORDS), *[PAUSE] * 10, ["exit", 3]))
    talk.until("item.delta")
    talk.send(HELLO)
    assert talk.until("turn.ended")["data"]["outcome"] == "failed"
    assert talk.until("turn.ended")["data"]["outcome"] == "completed"
    assert said(talk.conforms()) == ["hello", "I do not", "hello"]


@pytest.mark.parametrize("ending", [["exit", 3], ["stay"]], ids=["gone", "deaf"])
def test_case_19_an_answer_that_a_rule_gives_may_find_nobody(daemon: Daemon, ending: Act) -> None:
    """The agent asks and is gone, or closes its input, before the mode's answer can be written."""
    talk = Talk(daemon, permissionMode="bypass")
    talk.turn(HELLO)
    asks = b"".join(line("ask_permission", key=f"p{n}", action="bash") for n in range(9))
    deaf: list[Act] = [["deaf"]]
    turn = talk.turn(prompt(*deaf, *write(BEGIN + MESSAGE + WORDS + CALL + READY + asks), ending))
    assert outcome(turn) == "failed"
    assert one_error(turn)["details"]["stderr"]["head"] is not None
    assert said(talk.turn(HELLO)) == ["hello"]
    talk.conforms()


def test_case_19_an_idle_agent_that_closed_its_input_is_replaced(daemon: Daemon) -> None:
    talk = Talk(daemon)
    deaf: list[Act] = [["deaf"]]
    talk.turn(prompt(*deaf, *write(BEGIN + MESSAGE + WORDS + DONE + END), ["stay"]))
    native = talk.info["nativeSessionId"]
    assert said(talk.turn(HELLO)) == ["hello"]
    assert talk.info["nativeSessionId"] == native
    assert len(talk.processes()) == 1
    assert of_type(talk.conforms(), "error") == []


# --- An agent that closes its output and lives on ---


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    env = {**ENV, "DRAGOMAN_STDOUT_DEADLINE_S": "0.3", "DRAGOMAN_STOP_DEADLINE_S": "0.3"}
    with running(tmp_path_factory.mktemp("impatient"), env=env) as started:
        yield started


def mute(lines: bytes, *then: Act) -> str:
    """The prompt of an agent that says this, and can say nothing more."""
    return prompt(*write(lines), ["mute"], *then)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM], ids=["polite", "stubborn"])
def test_case_19_an_agent_that_closes_its_output_and_lives_on_fails_its_turn(
    impatient: Daemon, number: int
) -> None:
    """Before, the turn ran for ever: only the end of the process was noticed."""
    talk = Talk(impatient)
    talk.turn(HELLO)
    native = talk.info["nativeSessionId"]
    (pid,) = talk.processes()
    ignore: Act = ["ignore", number]
    turn = talk.turn(prompt(ignore, *write(BEGIN + MESSAGE + WORDS), ["mute"], ["stay"]))
    (error,) = of_type(turn, "error")
    assert error["code"] == "stdout_closed"
    assert "closed its output" in error["message"]
    assert outcome(turn) == "failed"
    assert said(turn) == ["I do not"]
    assert not lives(pid)
    assert said(talk.turn(HELLO)) == ["hello"]
    assert talk.info["nativeSessionId"] == native
    assert of_type(talk.conforms(), "session.ended") == []


def test_case_19_an_agent_that_closes_its_output_before_it_ends_ends_as_always(
    daemon: Daemon,
) -> None:
    """It has five seconds, and what it then says with its exit code is what counts."""
    talk = Talk(daemon)
    talk.turn(HELLO)
    error = one_error(talk.turn(mute(BEGIN + MESSAGE + WORDS, *[PAUSE] * 10, ["exit", 3])))
    assert error["details"]["exit_code"] == 3
    talk.conforms()


def test_case_19_an_agent_that_closed_its_output_before_it_named_itself_ends_its_session(
    impatient: Daemon,
) -> None:
    talk = Talk(impatient, env={"PUPPET_SILENT": "1"})
    talk.send(mute(BEGIN + MESSAGE + WORDS, ["stay"]))
    ended = talk.until("session.ended")["data"]
    assert (ended["reason"], "closed its output" in ended["message"]) == ("error", True)
    talk.conforms()


def test_case_19_an_idle_agent_that_closed_its_output_is_ended_without_a_word(
    impatient: Daemon,
) -> None:
    talk = Talk(impatient)
    assert outcome(talk.turn(mute(BEGIN + MESSAGE + DONE + END, ["stay"]))) == "completed"
    for pid in talk.processes():
        wait_for_end(pid)
    before = talk.events()
    assert said(talk.turn(HELLO)) == ["hello"]
    after = talk.conforms()[len(before) :]
    assert after[0]["type"] == "turn.started"
    assert of_type(after, "error") == []


def test_case_19_an_idle_agent_that_closed_its_output_is_replaced(data_dir: Path) -> None:
    """Also at once: a message is not told to one who cannot answer."""
    with running(data_dir, env=ENV) as daemon:
        talk = Talk(daemon)
        before = pipes(daemon)
        talk.turn(mute(BEGIN + MESSAGE + WORDS + DONE + END, ["stay"]))
        eventually(lambda: pipes(daemon) == before + 2, "only stdin and stderr are open")
        assert said(talk.turn(HELLO)) == ["hello"]
        assert of_type(talk.conforms(), "error") == []


def pipes(daemon: Daemon) -> int:
    """How many pipes the daemon holds."""
    folder = f"/proc/{pid_of(daemon)}/fd"
    found = 0
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):
            found += os.readlink(f"{folder}/{name}").startswith("pipe:")
    return found


def test_case_19_a_command_that_cannot_be_started_says_so(data_dir: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with running(data_dir, env={"DRAGOMAN_MOCK_COMMAND": str(broken)}) as daemon:
        talk = Talk(daemon)
        talk.send("hello")
        ended = talk.until("session.ended")["data"]
        events = talk.conforms()
    assert ended["reason"] == "error"
    (error,) = of_type(events, "error")
    assert error["code"] == "launch_failed"
    assert str(broken) in error["message"]
    assert [event["source"] for event in events if event["type"] == "error"] == ["daemon"]
    assert outcome(events) == "failed"
