"""One process for many sessions: who hears what, what a crash costs, and who is left."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dragoman.runtime.processes import linux
from tests.cases.common import eventually
from tests.daemon import Daemon
from tests.shared_agent import SharedAgentDaemon, house
from tests.testing.story import Event, Talk, items, lives, of_type, outcome, parts, said


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SharedAgentDaemon]:
    started = SharedAgentDaemon(tmp_path / "data", env={"SHARED_AGENT_HOME": str(tmp_path)})
    started.start()
    try:
        yield started
    finally:
        if started.process is not None:
            started.stop()
        assert left(started) == []


def shared_talk(daemon: SharedAgentDaemon, **create: Any) -> Talk:
    return Talk(daemon, **{"agent": "shared", **create})


def left(daemon: SharedAgentDaemon) -> list[int]:
    """Everything that runs on behalf of this daemon's folder."""
    mark = linux.mark_of(daemon.data_dir)
    return [pid for pid, _ in linux.marked(f"{mark}:") if lives(pid)]


def status(daemon: Daemon, agent: str = "shared") -> Any:
    agents = daemon.get("/agents")["agents"]
    return next(each for each in agents if each["id"] == agent)["serverStatus"]


def pid_of(talk: Talk) -> int:
    (words,) = said(talk.turn("pid"))
    return int(words)


def process_log(daemon: SharedAgentDaemon) -> str:
    return "".join(path.read_text() for path in (daemon.data_dir / "stderr").glob("server+*"))


def heard(tmp_path: Path) -> str:
    """What the agents' processes were told."""
    return (tmp_path / "heard").read_text()


def failed_once(events: list[Event]) -> Any:
    assert outcome(events) == "failed"
    (error,) = of_type(events, "error")
    assert error["code"] == "process_exit"
    return error


# --- Who hears what ---


def test_ten_sessions_on_one_process_hear_only_their_own_words(daemon: SharedAgentDaemon) -> None:
    talks = [shared_talk(daemon) for _ in range(10)]
    assert len({pid_of(talk) for talk in talks}) == 1
    words = [[f"{number}-{word}" for word in range(20)] for number in range(10)]
    with ThreadPoolExecutor(10) as together:
        prompts = [f"together 10 {' '.join(each)}" for each in words]
        turns = list(together.map(lambda talk, prompt: talk.turn(prompt), talks, prompts))
    for talk, turn, mine in zip(talks, turns, words, strict=True):
        assert said(turn) == ["".join(mine)]
        assert outcome(turn) == "completed"
        talk.conforms()
        assert {event["native_session_id"] for event in turn} == {talk.info["nativeSessionId"]}
    assert len({talk.info["nativeSessionId"] for talk in talks}) == 10


def test_the_process_is_greeted_once_and_its_health_is_shown(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    assert status(daemon)["status"] == "stopped"
    with ThreadPoolExecutor(5) as together:
        talks = [shared_talk(daemon) for _ in range(5)]
        list(together.map(lambda talk: talk.turn("say hello"), talks))
    assert heard(tmp_path).count('"initialize"') == 1
    assert heard(tmp_path).count('"initialized"') == 1
    shown = status(daemon)
    assert (shown["status"], shown["restartCount"]) == ("running", 0)
    assert shown["uptimeMs"] >= 0
    assert "serverStatus" not in next(
        each for each in daemon.get("/agents")["agents"] if each["id"] == "mock"
    )


def test_what_is_said_before_the_thread_is_known_is_held_for_it(daemon: SharedAgentDaemon) -> None:
    talk = shared_talk(daemon)
    talk.turn("say hello")
    (status_item,) = items(talk.conforms(), "status")
    assert parts(status_item, "status")[0]["detail"] == talk.info["nativeSessionId"]


def test_what_a_thread_of_ones_own_thread_says_is_heard(daemon: SharedAgentDaemon) -> None:
    talk = shared_talk(daemon)
    assert said(talk.turn("child la")) == ["la"]
    talk.conforms()


def rumours(talk: Talk) -> list[str]:
    found = [parts(item, "status")[0]["detail"] for item in items(talk.conforms(), "status")]
    return [words for words in found if words != talk.info["nativeSessionId"]]


def test_what_is_for_everybody_is_heard_by_everybody(daemon: SharedAgentDaemon) -> None:
    talks = [shared_talk(daemon) for _ in range(3)]
    for talk in talks:
        talk.turn("say la")
    talks[0].turn("rumour the tenor is ill")
    eventually(lambda: all(rumours(talk) for talk in talks), "everybody heard it")
    assert [rumours(talk) for talk in talks] == [["the tenor is ill"]] * 3


def told(tmp_path: Path, method: str) -> list[str]:
    """The threads that the agent was told this of."""
    lines = map(json.loads, heard(tmp_path).splitlines())
    return [line["params"]["threadId"] for line in lines if line.get("method") == method]


def test_the_process_is_told_who_leaves_and_who_never_comes_back(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    kept, gone = shared_talk(daemon), shared_talk(daemon)
    kept.turn("say la")
    gone.turn("say la")
    threads = [talk.info["nativeSessionId"] for talk in (kept, gone)]
    kept.terminate()
    eventually(lambda: told(tmp_path, "thread/leave") == threads[:1], "one has left")
    assert daemon.request("DELETE", f"/sessions/{gone.id}").status == 204
    assert told(tmp_path, "thread/leave") == threads
    assert told(tmp_path, "thread/retire") == threads[1:]


def test_a_conversation_of_somebody_else_is_not_retired(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    first = shared_talk(daemon)
    first.turn("say la")
    first.terminate()
    second = shared_talk(daemon, resume={"sessionId": first.id})
    second.turn("say la")
    for talk in (first, second):
        assert daemon.request("DELETE", f"/sessions/{talk.id}").status == 204
    assert told(tmp_path, "thread/retire") == []


def test_a_process_is_started_to_hear_who_never_comes_back(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    talk = shared_talk(daemon)
    talk.turn("say la")
    thread = talk.info["nativeSessionId"]
    daemon.stop()
    daemon.start()
    assert daemon.request("DELETE", f"/sessions/{talk.id}").status == 204
    assert told(tmp_path, "thread/retire") == [thread]


def test_other_words_in_the_environment_mean_another_process(daemon: SharedAgentDaemon) -> None:
    one, other = shared_talk(daemon), shared_talk(daemon, env={"VOICE": "bass"})
    assert pid_of(one) != pid_of(other)
    assert pid_of(shared_talk(daemon, env={"VOICE": "bass"})) == pid_of(other)


def test_a_permission_is_asked_and_answered_in_its_own_session(daemon: SharedAgentDaemon) -> None:
    talks = [shared_talk(daemon) for _ in range(4)]
    for number, talk in enumerate(talks):
        talk.send(f"ask_for cup-{number}")
    asked = [talk.until("permission.requested") for talk in talks]
    replies = ["once", "reject", "once", "reject"]
    for talk, permission, reply in reversed(list(zip(talks, asked, replies, strict=True))):
        talk.reply(permission, reply)
    for number, (talk, reply) in enumerate(zip(talks, replies, strict=True)):
        talk.until("turn.ended")
        assert said(talk.conforms()) == [f"cup-{number} {reply}"]


def test_case_20_a_request_that_nobody_knows_is_refused_and_kept(daemon: SharedAgentDaemon) -> None:
    talk = shared_talk(daemon)
    turn = talk.turn("odd")
    assert said(turn) == ["-32601"]
    unparsed = [event for event in talk.events(raw=True) if event["type"] == "agent.unparsed"]
    assert [event["raw"]["method"] for event in unparsed] == ["client/odd"]
    assert outcome(turn) == "completed"


def test_what_is_for_nobody_is_refused_counted_and_kept(daemon: SharedAgentDaemon) -> None:
    talk = shared_talk(daemon)
    assert status(daemon)["unrouted"] == 0
    assert said(talk.turn("stranger")) == ["-32601 -32601"]
    assert said(talk.turn("stray")) == ["done"]
    talk.conforms()

    def kept() -> bool:
        text = process_log(daemon)
        return all(word in text for word in ("who hears this?", "the hall is cold", "never-asked"))

    eventually(kept, "what nobody heard is in the process's log")
    log = (daemon.data_dir / "logs" / "daemon.log").read_text()
    assert "said something to nobody" in log
    assert "who hears this?" not in log  # what people say to agents may be among it
    # Two about a thread that nobody knows, a reply to nothing, and a line that is no JSON; what
    # is about the process itself is where it belongs.
    eventually(lambda: status(daemon)["unrouted"] == 4, "its health tells how many")


# --- Leaving ---


def test_terminating_a_session_leaves_the_others_alone(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    talk, other = shared_talk(daemon), shared_talk(daemon)
    pid = pid_of(talk)
    other.send("wait for it")
    other.until("item.delta")
    talk.send("wait here")
    talk.until("item.delta")
    talk.terminate()
    assert talk.conforms()[-1]["type"] == "session.ended"
    thread = talk.info["nativeSessionId"]
    eventually(lambda: '"turn/interrupt"' in heard(tmp_path), "its turn was called off")
    assert f'"turn/interrupt","params":{{"threadId":"{thread}"}}' in heard(tmp_path)
    eventually(lambda: '[late] {"method": "turn/completed"' in process_log(daemon), "it came late")
    assert lives(pid)
    other.interrupt()
    other.until("turn.ended")
    assert pid_of(other) == pid
    other.conforms()


def test_what_was_asked_of_a_session_that_leaves_is_refused(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    talk = shared_talk(daemon)
    talk.send("ask_for tea")
    talk.until("permission.requested")
    talk.terminate()
    eventually(lambda: '"error":{"code":-32000' in heard(tmp_path), "the agent was answered")


def test_a_thread_in_use_is_not_given_to_another_session(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    talk, other = shared_talk(daemon), shared_talk(daemon)
    talk.turn("say hello")
    (tmp_path / "next").write_text(talk.info["nativeSessionId"])
    other.send("say hello")
    error = other.until("error")["data"]
    assert f"in use by session '{talk.id}'" in error["message"]
    other.conforms()
    assert said(talk.turn("say la")) == ["la"]
    talk.conforms()


def test_a_thread_whose_session_has_ended_goes_on_in_another(daemon: SharedAgentDaemon) -> None:
    talk = shared_talk(daemon)
    pid = pid_of(talk)
    talk.terminate()
    other = shared_talk(daemon, resume={"sessionId": talk.id})
    assert pid_of(other) == pid
    assert other.info["nativeSessionId"] == talk.info["nativeSessionId"]


def test_a_process_that_nobody_uses_ends_and_is_started_again(
    tmp_path: Path,
) -> None:
    env = {"SHARED_AGENT_HOME": str(tmp_path), "DRAGOMAN_IDLE_PROCESS_S": "0.3"}
    daemon = SharedAgentDaemon(tmp_path / "data", env=env)
    daemon.start()
    try:
        talk = shared_talk(daemon)
        pid = pid_of(talk)
        eventually(lambda: left(daemon) == [], "it ended")
        shown = status(daemon)
        assert (shown["status"], shown["restartCount"]) == ("stopped", 0)
        assert pid_of(talk) != pid
        talk.conforms()
    finally:
        daemon.stop()


# --- Crashes ---


def test_a_crash_fails_each_turn_once_and_each_session_resumes(daemon: SharedAgentDaemon) -> None:
    talks = [shared_talk(daemon) for _ in range(5)]
    pid = pid_of(talks[0])
    for talk in talks:
        talk.send("wait la")
        talk.until("item.delta")
    natives = [talk.info["nativeSessionId"] for talk in talks]
    culprit = shared_talk(daemon)
    failed_once(culprit.turn("crash 3"))
    for talk in talks:
        talk.until("turn.ended")
        turn = [event for event in talk.conforms() if event["type"] in ("error", "turn.ended")]
        error = failed_once(turn[1:] if talk is talks[0] else turn)
        assert error["details"]["exit_code"] == 3
        assert error["details"]["stderr"]["head"] == "the conductor fell"
    with ThreadPoolExecutor(5) as together:
        pids = set(together.map(pid_of, talks))
    assert len(pids) == 1
    assert pids != {pid}
    assert [talk.info["nativeSessionId"] for talk in talks] == natives
    for talk in [*talks, culprit]:
        assert of_type(talk.conforms(), "session.ended") == []
    shown = status(daemon)
    assert (shown["status"], shown["restartCount"]) == ("running", 1)
    assert shown["lastError"] == "exit code 3: the conductor fell"


def test_case_19_a_shared_process_that_closes_its_output_is_ended_and_replaced(
    tmp_path: Path,
) -> None:
    """Before, the turns of all its sessions ran for ever, and so did every later one."""
    with house(tmp_path, DRAGOMAN_STDOUT_DEADLINE_S="0.3") as daemon:
        talks = [Talk(daemon, agent="shared") for _ in range(3)]
        pid = pid_of(talks[0])
        for talk in talks:
            talk.send("wait la")
            talk.until("item.delta")
        culprit = Talk(daemon, agent="shared")
        culprit.send("silence")
        for talk in [*talks, culprit]:
            assert talk.until("turn.ended")["data"]["outcome"] == "failed"
            (error,) = of_type(talk.conforms(), "error")
            assert error["code"] == "stdout_closed"
        assert not lives(pid)
        assert pid_of(talks[0]) == pid_of(culprit) != pid
        assert "closed its output" in status(daemon)["lastError"]


def test_sessions_of_an_agent_that_cannot_resume_end_with_the_reason(
    daemon: SharedAgentDaemon,
) -> None:
    talk = shared_talk(daemon, agent="volatile")
    talk.turn("say hello")
    talk.send("crash 3")
    ended = talk.until("session.ended")["data"]
    assert (ended["reason"], ended["exit_code"]) == ("error", 3)
    assert "exit code 3" in ended["message"]
    talk.conforms()


def test_a_process_killed_while_all_are_idle_costs_nothing(daemon: SharedAgentDaemon) -> None:
    talks = [shared_talk(daemon) for _ in range(3)]
    (pid,) = {pid_of(talk) for talk in talks}
    os.kill(pid, signal.SIGKILL)
    for talk in talks:
        assert said(talk.turn("say hello")) == ["hello"]
        events = talk.conforms()
        assert of_type(events, "error") == []


def test_a_thread_that_vanished_ends_its_session_with_the_agents_words(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    talk = shared_talk(daemon)
    os.kill(pid_of(talk), signal.SIGKILL)
    (tmp_path / "threads").write_text("")
    talk.send("say hello")
    ended = talk.until("session.ended")["data"]
    assert (ended["reason"], ended["message"]) == ("error", "no such thread")
    talk.conforms()


def ended_at_once(talk: Talk) -> Event:
    """How a session ended whose process did not come up."""
    talk.send("say hello")
    ended: Event = talk.until("session.ended")["data"]
    events = talk.conforms()
    (error,) = of_type(events, "error")
    assert (error["code"], error["details"]["exit_code"]) == ("process_exit", 1)
    assert error["details"]["stderr"] == ended["stderr"]
    assert ended["stderr"]["head"].strip() == "no voice today"
    assert (outcome(events), ended["reason"]) == ("failed", "error")
    return ended


def test_a_process_that_does_not_come_up_again_costs_a_turn_and_not_the_session(
    daemon: SharedAgentDaemon, tmp_path: Path
) -> None:
    talk = shared_talk(daemon)
    os.kill(pid_of(talk), signal.SIGKILL)
    (tmp_path / "dies").write_text("no voice today")
    turn = talk.turn("say hello")
    (error,) = of_type(turn, "error")
    assert (outcome(turn), error["code"]) == ("failed", "process_exit")
    assert error["details"]["stderr"]["head"].strip() == "no voice today"
    (tmp_path / "dies").unlink()
    assert said(talk.turn("say hello")) == ["hello"]
    talk.conforms()


def test_who_crashes_again_and_again_is_waited_for_longer_and_longer(
    daemon: SharedAgentDaemon,
) -> None:
    dying = {"SHARED_AGENT_DIES": "1"}
    for _ in range(5):
        assert ended_at_once(shared_talk(daemon, env=dying))["exit_code"] == 1
    talk = shared_talk(daemon, env=dying)
    turn = talk.turn("say hello")
    assert outcome(turn) == "failed"
    (error,) = of_type(turn, "error")
    assert error["code"] == "launch_failed"
    assert "failed 5 times in a row (exit code 1: no voice today)" in error["message"]
    assert "may start again in" in error["message"]
    shown = status(daemon)
    assert (shown["status"], shown["restartCount"]) == ("error", 4)
    assert talk.info["status"] == "idle"
    talk.conforms()
    assert said(shared_talk(daemon).turn("say hello")) == ["hello"]


def test_who_refuses_the_greeting_does_not_serve(daemon: SharedAgentDaemon) -> None:
    talk = shared_talk(daemon, env={"SHARED_AGENT_REFUSES": "yes"})
    turn = talk.turn("say hello")
    assert outcome(turn) == "failed"
    (error,) = of_type(turn, "error")
    assert error["message"].endswith("it refused 'initialize': no second hello, please")
    assert left(daemon) == []


def test_who_does_not_read_is_replaced(tmp_path: Path) -> None:
    env = {"SHARED_AGENT_HOME": str(tmp_path), "DRAGOMAN_SEND_DEADLINE_S": "0.5"}
    daemon = SharedAgentDaemon(tmp_path / "data", env=env)
    daemon.start()
    try:
        talk, other = shared_talk(daemon), shared_talk(daemon)
        other.turn("say hello")
        talk.send("deaf")
        talk.until("item.delta")
        turn = other.turn("say " + "x" * (1 << 20))
        assert outcome(turn) == "failed"
        assert of_type(turn, "error")[0]["code"] == "stdin_blocked"
        talk.until("turn.ended")
        for each in (talk, other):
            assert said(each.turn("say hello")) == ["hello"]
            each.conforms()
        assert status(daemon)["restartCount"] == 1
    finally:
        daemon.stop()


# --- The daemon's end ---


def test_the_daemon_ends_it_with_itself(daemon: SharedAgentDaemon) -> None:
    talk = shared_talk(daemon)
    talk.send("wait la")
    talk.until("item.delta")
    pid = int(left(daemon)[0])
    daemon.stop()
    assert not lives(pid)
    daemon.start()
    events = talk.conforms()
    assert outcome(events) == "interrupted"
    assert said(talk.turn("say hello")) == ["hello"]


def test_a_killed_daemon_leaves_nothing_once_it_is_started_again(daemon: SharedAgentDaemon) -> None:
    talks = [shared_talk(daemon) for _ in range(3)]
    pid = pid_of(talks[0])
    natives = []
    for talk in talks:
        talk.send("wait la")
        talk.until("item.delta")
        natives.append(talk.info["nativeSessionId"])
    daemon.kill()
    daemon.start()
    assert not lives(pid)
    assert left(daemon) == []
    for talk, native in zip(talks, natives, strict=True):
        assert said(talk.turn("say hello"))[-1] == "hello"
        assert talk.info["nativeSessionId"] == native
        ends = of_type(talk.conforms(), "turn.ended")
        assert [end["outcome"] for end in ends][-2:] == ["interrupted", "completed"]
