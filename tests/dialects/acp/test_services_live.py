"""`fs/*` and `terminal/*` through a daemon: what agents get, and that nothing of it is left."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp_agent.scripted import (
    OFFER,
    OPTIONS,
    STAY,
    Act,
    ScriptedTalk,
    ask,
    create,
    of_terminal,
    prompt,
    read,
    replies,
    scripted,
    shows,
    tool,
    update,
    wait,
    write,
)
from tests.cases.common import eventually, memory_bytes
from tests.cases.culprits import MISDEEDS, assert_nothing_left, token, with_token
from tests.cases.test_case_21_orphans import written_down
from tests.daemon import Daemon
from tests.testing.story import items, of_type, outcome, parts

KINDS = ("stay", "stubborn", "double-fork", "setsid", "daemon", "scrubbed", "tree")
NOT_FOUND, INVALID, NOT_ALLOWED, CANCELLED = -32002, -32602, -32003, -32800
FLAT_BYTES = 64 << 20


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with scripted(tmp_path_factory.mktemp("daemon")) as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def talk(daemon: Daemon, folder: Path) -> Iterator[ScriptedTalk]:
    """A session in a folder of its own; it is over afterwards, whatever happened in it."""
    session = ScriptedTalk(daemon, folder)
    yield session
    if daemon.process is not None:
        session.terminate()


def misdeed(name: str, kind: str, word: str) -> Act:
    """Run something that hides, in a terminal that stays open beside it."""
    words = shlex.join((sys.executable, str(MISDEEDS), kind, word))
    return create(name, f"{words}; sleep 61")


def runs(word: str) -> None:
    eventually(lambda: bool(with_token(word)), "the command runs")


def commands(daemon: Daemon, session_id: str) -> list[str]:
    """The command lines of a session's processes, as they are listed."""
    found = daemon.get("/processes")["processes"]
    mine = [each for each in found if each["sessionIds"] == [session_id]]
    return [each["tree"][0]["command"] for each in mine]


# --- Files ---


def test_lines_of_a_file_are_read(talk: ScriptedTalk, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\r\nthree\nfour")
    found = talk.act(
        read("all", folder / "a.txt"),
        read("some", folder / "a.txt", line=2, limit=2),
        read("last", folder / "a.txt", line=4),
        read("beyond", folder / "a.txt", line=9, limit=3),
        read("none", folder / "a.txt", limit=0),
    )
    assert {name: each["content"] for name, each in found.items()} == {
        "all": "one\ntwo\r\nthree\nfour",
        "some": "two\r\nthree\n",
        "last": "four",
        "beyond": "",
        "none": "",
    }


def test_a_file_is_written_in_one_step_and_shown_with_its_diff(
    talk: ScriptedTalk, folder: Path
) -> None:
    (folder / "old.sh").write_text("a\nb\n")
    (folder / "old.sh").chmod(0o750)
    found = talk.act(
        write("first", folder / "new" / "deep.txt", "hello\n"),
        write("second", folder / "old.sh", "a\nB\n"),
        read("back", folder / "new" / "deep.txt"),
    )
    assert found == {"first": {}, "second": {}, "back": {"content": "hello\n"}}
    assert (folder / "old.sh").read_text() == "a\nB\n"
    assert (folder / "old.sh").stat().st_mode & 0o777 == 0o750
    assert os.listdir(folder / "new") == ["deep.txt"]
    results = items(talk.events(), "tool_result")
    refs = [ref for each in results for ref in parts(each, "file_ref")]
    assert [(each["path"], each["action"]) for each in refs] == [
        (str(folder / "new" / "deep.txt"), "write"),
        (str(folder / "old.sh"), "patch"),
    ]
    assert refs[0]["diff"].endswith("@@ -0,0 +1 @@\n+hello\n")
    assert refs[1]["diff"].endswith("@@ -1,2 +1,2 @@\n a\n-b\n+B\n")


def test_nothing_outside_of_the_session_is_read_or_written(
    daemon: Daemon, talk: ScriptedTalk, folder: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (folder / "link.txt").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path)
    (folder / "inside.txt").symlink_to(folder / "real.txt")
    (folder / "real.txt").write_text("mine")
    ways: tuple[str | Path, ...] = (
        secret, folder / "link.txt", folder / "folder" / "secret.txt",
        f"{folder}/../secret.txt", "/etc/passwd", "/proc/self/environ",
        daemon.data_dir / "token",
    )  # fmt: skip
    acts = [read(f"read {n}", way) for n, way in enumerate(ways)]
    acts += [write(f"write {n}", way, "changed") for n, way in enumerate(ways)]
    found = talk.act(*acts, read("inside", folder / "inside.txt"))
    assert found.pop("inside") == {"content": "mine"}
    assert {each["code"] for each in found.values()} == {INVALID}
    assert "outside of what is open here" in found["read 0"]["message"]
    assert secret.read_text() == "secret"
    shown = [parts(each, "status")[0]["label"] for each in items(talk.events(), "status")]
    assert shown.count("refused") == 2 * len(ways)


def test_our_own_data_stays_shut_even_beneath_the_session(daemon: Daemon) -> None:
    around = daemon.data_dir.parent
    talk = ScriptedTalk(daemon, around)
    token_file = daemon.data_dir / "token"
    found = talk.act(read("read", token_file), write("write", token_file, "mine"))
    assert [each["code"] for each in found.values()] == [INVALID, INVALID]
    assert "the daemon's own data" in found["read"]["message"]
    talk.terminate()


def test_what_cannot_be_read_says_why(talk: ScriptedTalk, folder: Path) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(folder / "pipe")
    with (folder / "huge").open("wb") as huge:
        huge.truncate(3 << 30)
    with (folder / "long").open("wb") as long:
        long.writelines(b"%d\n" % number for number in range(1_600_000))
    found = talk.act(
        read("missing", folder / "missing"),
        read("folder", folder),
        read("binary", folder / "binary"),
        read("pipe", folder / "pipe"),
        read("huge", folder / "huge"),
        read("long", folder / "long"),
        read("part", folder / "long", line=1_599_999, limit=1),
        write("over a folder", folder, "x"),
        write("over a pipe", folder / "pipe", "x"),
    )
    assert found["missing"]["code"] == NOT_FOUND
    assert found["part"] == {"content": "1599998\n"}
    others = {name: each for name, each in found.items() if name not in ("missing", "part")}
    assert {each["code"] for each in others.values()} == {INVALID}
    assert "no text" in found["binary"]["message"]
    assert "ask for fewer lines" in found["long"]["message"]


# --- Permissions ---


def test_what_the_agent_did_not_ask_for_is_asked_by_us(daemon: Daemon, folder: Path) -> None:
    talk = ScriptedTalk(daemon, folder, permissionMode="default")
    talk.send(
        prompt(
            write("yes", folder / "a.txt", "one\n"),
            write("no", folder / "b.txt", "two\n"),
            create("t", "touch c.txt"),
            of_terminal("exit", "wait_for_exit", "t"),
            create("again", "touch c.txt"),
            create("refused", "touch d.txt"),
        )
    )
    first = talk.until("permission.requested")
    assert (first["data"]["action"], first["data"]["metadata"]["path"]) == (
        "write_text_file", str(folder / "a.txt"),
    )  # fmt: skip
    talk.reply(first, "once")
    talk.reply(talk.until("permission.requested"), "reject", message="not that one")
    third = talk.until("permission.requested")
    assert third["data"]["metadata"]["command"] == "touch c.txt"
    assert not (folder / "c.txt").exists()
    talk.reply(third, "always")
    # The same command again is allowed by a rule: the next one that waits is another.
    while (asked := talk.until("permission.requested"))["data"]["metadata"]["command"] != (
        "touch d.txt"
    ):
        pass
    talk.reply(asked, "reject")
    talk.until("turn.ended")
    found = replies(talk.conforms())
    assert found["yes"] == {}
    assert (found["no"]["code"], found["refused"]["code"]) == (NOT_ALLOWED, NOT_ALLOWED)
    assert found["no"]["message"].endswith("not that one")
    assert found["exit"] == {"exitCode": 0, "signal": None}
    assert sorted(os.listdir(folder)) == ["a.txt", "c.txt"]
    talk.terminate()


def test_what_a_granted_call_does_is_not_asked_again(daemon: Daemon, folder: Path) -> None:
    talk = ScriptedTalk(daemon, folder, permissionMode="default")
    path = str(folder / "a.txt")
    edit = {"toolCallId": "edit", "title": "Edit", "kind": "edit", "locations": [{"path": path}]}
    run = {"toolCallId": "run", "title": "`echo hi`", "kind": "execute"}
    talk.send(
        prompt(
            ask("edit", "session/request_permission", toolCall=edit, options=OPTIONS),
            write("written", path, "one\n"),
            update("edit", status="completed"),
            ask("run", "session/request_permission", toolCall=run, options=OPTIONS),
            create("t", "bash", "-c", "echo hi"),
            update("run", status="in_progress", content=shows("t")),
            of_terminal("exit", "wait_for_exit", "t"),
            update("run", status="completed"),
        )
    )
    for _ in range(2):
        talk.reply(talk.until("permission.requested"), "once")
    talk.until("turn.ended")
    events = talk.conforms()
    assert len(of_type(events, "permission.requested")) == 2
    edited, ran = items(events, "tool_result")
    (ref,) = parts(edited, "file_ref")
    assert (ref["path"], ref["action"]) == (path, "write")
    assert ref["diff"].endswith("+one\n")
    assert (parts(ran, "tool_result")[0]["output"], ran["exit_code"]) == ("hi\n", 0)
    talk.terminate()


def test_a_grant_covers_neither_another_file_nor_another_command(
    daemon: Daemon, folder: Path
) -> None:
    talk = ScriptedTalk(daemon, folder, permissionMode="default")
    here = [{"path": str(folder / "a.txt")}]
    edit = {"toolCallId": "edit", "title": "Edit", "kind": "edit", "locations": here}
    run = {
        "toolCallId": "run", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"},
    }  # fmt: skip
    talk.send(
        prompt(
            ask("edit", "session/request_permission", toolCall=edit, options=OPTIONS),
            ask("run", "session/request_permission", toolCall=run, options=OPTIONS),
            write("other", folder / "b.txt", "x"),
            create("t", "ls; touch c.txt"),
        )
    )
    for reply in ("once", "once", "reject", "reject"):
        talk.reply(talk.until("permission.requested"), reply)
    talk.until("turn.ended")
    assert os.listdir(folder) == []
    talk.conforms()
    talk.terminate()


def test_accept_edits_accepts_writes_but_no_commands(daemon: Daemon, folder: Path) -> None:
    talk = ScriptedTalk(daemon, folder, permissionMode="acceptEdits")
    talk.send(prompt(write("w", folder / "a.txt", "x"), create("t", "true")))
    asked = [talk.until("permission.requested") for _ in range(2)]
    assert [each["data"]["action"] for each in asked] == ["write_text_file", "terminal"]
    talk.reply(asked[1], "reject")
    talk.until("turn.ended")
    assert (folder / "a.txt").read_text() == "x"
    talk.conforms()
    talk.terminate()


def test_services_that_are_not_offered_are_refused(tmp_path: Path, folder: Path) -> None:
    with scripted(tmp_path, fs=False, terminal=False) as daemon:
        talk = ScriptedTalk(daemon, folder)
        (folder / "a.txt").write_text("x")
        found = talk.act(OFFER, read("r", folder / "a.txt"), create("t", "touch b.txt"))
        assert found["offer"]["fs"] == {"readTextFile": False, "writeTextFile": False}
        assert found["offer"]["terminal"] is False
        assert (found["r"]["code"], found["t"]["code"]) == (-32601, -32601)
        assert os.listdir(folder) == ["a.txt"]


# --- Terminals ---


def test_a_command_has_an_output_an_exit_and_the_session_s_environment(
    daemon: Daemon, folder: Path
) -> None:
    talk = ScriptedTalk(daemon, folder, env={"GIVEN": "by the session"})
    (folder / "sub").mkdir()
    script = 'echo "$GIVEN $OWN $DRAGOMAN_TOKEN"; pwd; cat; echo bad >&2; exit 3'
    own = [{"name": "OWN", "value": "by the agent"}]
    found = talk.act(
        create("t", script, cwd=str(folder / "sub"), env=own),
        of_terminal("exit", "wait_for_exit", "t"),
        of_terminal("output", "output", "t"),
        of_terminal("release", "release", "t"),
        of_terminal("after", "output", "t"),
        of_terminal("late", "wait_for_exit", "t"),
        ask("unknown", "terminal/output", terminalId="term_99"),
        ask("killed", "terminal/kill", terminalId="nobody"),
    )
    # What a session is given is a secret, also where the agent repeats it.
    printed = f"[redacted:GIVEN] by the agent \n{folder}/sub\nbad\n"
    status = {"exitCode": 3, "signal": None}
    assert found["exit"] == status
    assert found["output"] == {"output": printed, "truncated": False, "exitStatus": status}
    assert found["release"] == {}
    unknown = [found[name]["code"] for name in ("after", "late", "unknown", "killed")]
    assert unknown == [NOT_FOUND] * 4
    (result,) = items(talk.events(), "tool_result")
    assert (parts(result, "tool_result")[0]["output"], result["exit_code"]) == (printed, 3)
    (call,) = items(talk.events(), "tool_call")
    assert (call["command"], call["cwd"]) == (script, f"{folder}/sub")
    talk.terminate()


def test_what_a_command_prints_is_shown_as_it_comes(talk: ScriptedTalk, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    talk.send(
        prompt(
            tool("c", title="Run", kind="execute", rawInput={"command": "cat pipe"}),
            create("t", "echo first; cat pipe"),
            update("c", status="in_progress", content=shows("t")),
            of_terminal("exit", "wait_for_exit", "t"),
            update("c", status="completed", content=shows("t")),
            of_terminal("release", "release", "t"),
        )
    )

    def delta() -> Any:
        while (event := talk.until("item.delta"))["data"]["content_type"] != "output":
            pass
        return event["data"]["delta"]

    assert delta() == "first\n"
    with (folder / "pipe").open("w") as pipe:
        pipe.write("sec")
        pipe.flush()
        assert delta() == "sec"
        pipe.write("ond\n")
    talk.until("turn.ended")
    (result,) = items(talk.conforms(), "tool_result")
    assert parts(result, "tool_result")[0]["output"] == "first\nsecond\n"
    assert (result["status"], result["exit_code"]) == ("completed", 0)


def test_two_terminals_run_side_by_side(talk: ScriptedTalk, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    found = talk.act(
        create("a", "cat pipe; exit 1"),
        create("b", "echo hello > pipe"),
        of_terminal("b exit", "wait_for_exit", "b", later=True),
        of_terminal("a exit", "wait_for_exit", "a", later=True),
        wait("a exit"),
        wait("b exit"),
        of_terminal("a output", "output", "a"),
        of_terminal("b output", "output", "b"),
    )
    assert (found["a exit"]["exitCode"], found["b exit"]["exitCode"]) == (1, 0)
    assert (found["a output"]["output"], found["b output"]["output"]) == ("hello\n", "")


def test_bytes_that_are_no_text_cost_nothing_else(talk: ScriptedTalk) -> None:
    script = r"printf 'a\xffb \xe2\x82'; sleep 0.05; printf '\xac \xe2\x82'"
    found = talk.act(
        create("t", script),
        of_terminal("exit", "wait_for_exit", "t"),
        of_terminal("output", "output", "t"),
    )
    assert found["output"]["output"] == "a\N{REPLACEMENT CHARACTER}b € \N{REPLACEMENT CHARACTER}"


def test_an_output_without_end_is_bounded(daemon: Daemon, talk: ScriptedTalk) -> None:
    before = memory_bytes(daemon)
    script = "import sys\nfor n in range(500_000): sys.stdout.write(f'{n:060} ä\\n')"
    found = talk.act(
        create("t", sys.executable, "-c", script, outputByteLimit=1000),
        of_terminal("exit", "wait_for_exit", "t"),
        of_terminal("output", "output", "t"),
        of_terminal("release", "release", "t"),
    )
    assert found["exit"]["exitCode"] == 0
    output = found["output"]["output"]
    assert found["output"]["truncated"]
    assert 990 < len(output.encode()) <= 1000
    assert output.endswith("499999 ä\n")
    assert memory_bytes(daemon) - before < FLAT_BYTES
    (result,) = items(talk.events(), "tool_result")
    shown = parts(result, "tool_result")[0]["output"]
    assert result["truncated"]
    assert len(shown) < 600_000
    assert shown.startswith(f"{0:060} ä\n")
    assert shown.endswith("499999 ä\n")
    assert "bytes are left out here" in shown


def test_what_cannot_be_started_says_why(talk: ScriptedTalk, folder: Path) -> None:
    found = talk.act(
        create("program", "no-such-program", "--x"),
        create("folder", "true", cwd=str(folder / "missing")),
        create("shell", "no-such-program"),
        of_terminal("exit", "wait_for_exit", "shell"),
    )
    assert (found["program"]["code"], found["folder"]["code"]) == (INVALID, INVALID)
    assert "cannot start 'no-such-program'" in found["program"]["message"]
    assert found["exit"]["exitCode"] == 127


def test_terminals_are_listed_as_processes_of_their_session(
    daemon: Daemon, talk: ScriptedTalk
) -> None:
    word = token()
    talk.act(misdeed("t", "stay", word))
    runs(word)
    listed = commands(daemon, talk.id)
    assert len(listed) == 2
    assert sum("sleep 61" in each for each in listed) == 1
    talk.terminate()
    assert commands(daemon, talk.id) == []


# --- Nothing is left ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["kill", "release"])
def test_who_is_killed_or_released_leaves_nothing(
    talk: ScriptedTalk, kind: str, verb: str, folder: Path
) -> None:
    word = token()
    talk.act(misdeed("t", kind, word))
    runs(word)
    found = talk.act(of_terminal("over", verb, "t"))
    assert found == {"over": {}}
    assert with_token(word) == set()


@pytest.mark.parametrize("kind", KINDS)
def test_terminals_end_with_their_session(daemon: Daemon, folder: Path, kind: str) -> None:
    word, other_word = token(), token()
    other = ScriptedTalk(daemon, folder)
    other.act(misdeed("t", "stay", other_word))
    runs(other_word)
    talk = ScriptedTalk(daemon, folder)
    talk.act(misdeed("t", kind, word))
    runs(word)
    talk.terminate()
    assert with_token(word) == set()
    assert with_token(other_word)
    other.terminate()
    assert with_token(other_word) == set()
    assert talk.conforms()[-1]["type"] == "session.ended"


def test_terminals_end_with_an_agent_that_dies(talk: ScriptedTalk, daemon: Daemon) -> None:
    words = [token() for _ in range(3)]
    talk.act(
        misdeed("a", "stubborn", words[0]),
        misdeed("b", "daemon", words[1]),
        misdeed("c", "stay", words[2]),
    )
    for word in words:
        runs(word)
    talk.send(
        prompt(
            create("d", "echo hi; sleep 61"),
            of_terminal("exit", "wait_for_exit", "a", later=True),
            {"exit": 7},
        )
    )
    assert talk.until("turn.ended")["data"]["outcome"] == "failed"
    assert [with_token(word) for word in words] == [set()] * 3
    assert commands(daemon, talk.id) == []
    *_, last = items(talk.conforms(), "tool_result")
    assert last["status"] == "failed"
    assert talk.act(create("t", "echo on"), of_terminal("x", "wait_for_exit", "t"))["x"] == {
        "exitCode": 0, "signal": None,
    }  # fmt: skip


def test_an_interrupt_ends_what_the_turn_has_begun(talk: ScriptedTalk) -> None:
    old, new = token(), token()
    talk.act(misdeed("server", "stay", old))
    talk.send(
        prompt(
            misdeed("t", "stay", new),
            of_terminal("exit", "wait_for_exit", "t", later=True),
            STAY,
        )
    )
    runs(new)
    talk.interrupt()
    assert talk.until("turn.ended")["data"]["outcome"] == "interrupted"
    eventually(lambda: not with_token(new), "what the turn had begun is gone")
    assert with_token(old), "what an earlier turn has left in the background goes on"
    talk.conforms()


def test_an_interrupt_takes_back_what_is_asked(daemon: Daemon, folder: Path) -> None:
    talk = ScriptedTalk(daemon, folder, permissionMode="default")
    talk.send(prompt(create("t", "touch a.txt")))
    talk.until("permission.requested")
    talk.interrupt()
    assert talk.until("turn.ended")["data"]["outcome"] == "interrupted"
    assert os.listdir(folder) == []
    assert len(of_type(talk.conforms(), "permission.resolved")) == 1
    talk.terminate()


def test_a_daemon_that_is_killed_leaves_nothing_to_the_next(tmp_path: Path, folder: Path) -> None:
    with scripted(tmp_path) as daemon:
        words = {kind: token() for kind in ("stay", "stubborn", "setsid", "daemon", "scrubbed")}
        talk = ScriptedTalk(daemon, folder)
        acts = [misdeed(kind, kind, word) for kind, word in words.items()]
        talk.send(prompt(*acts, STAY))
        for word in words.values():
            runs(word)
        # The agent, five commands, and the one that cannot be found by its environment.
        eventually(lambda: written_down(daemon.data_dir) == 7, "all are written down")
        daemon.kill()
        daemon.start()
        for word in words.values():
            assert_nothing_left(daemon, word)
        assert outcome(talk.conforms()) == "interrupted"
        assert talk.act(create("t", "true"), of_terminal("x", "wait_for_exit", "t"))["x"] == {
            "exitCode": 0, "signal": None,
        }  # fmt: skip


def test_a_daemon_that_stops_ends_all_terminals(tmp_path: Path, folder: Path) -> None:
    word = token()
    with scripted(tmp_path) as daemon:
        talk = ScriptedTalk(daemon, folder)
        talk.act(misdeed("t", "stubborn", word))
        runs(word)
        daemon.stop()
        assert with_token(word) == set()


def test_a_command_that_is_killed_tells_by_what(talk: ScriptedTalk) -> None:
    words = (sys.executable, str(MISDEEDS), "stubborn", token())
    talk.act(create("stubborn", *words), create("meek", "sleep", "61"))
    output = of_terminal("output", "output", "stubborn")
    eventually(lambda: talk.act(output)["output"]["output"] == "ready\n", "it ignores signals")
    found = talk.act(
        of_terminal("exit", "wait_for_exit", "stubborn", later=True),
        of_terminal("kill", "kill", "stubborn"),
        wait("exit"),
        output,
        of_terminal("kill meek", "kill", "meek"),
        of_terminal("meek exit", "wait_for_exit", "meek"),
    )
    assert found["exit"] == {"exitCode": None, "signal": "SIGKILL"}
    assert found["output"]["exitStatus"] == found["exit"]
    assert found["meek exit"] == {"exitCode": None, "signal": "SIGTERM"}
