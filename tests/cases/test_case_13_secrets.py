"""Case 13: what was given as a secret is in no event, native message, log or file of ours."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import Daemon, running
from tests.shared_agent import SharedAgentDaemon
from tests.testing.story import Event, Talk, items, of_type, outcome, said, text

from .common import eventually
from .puppet import (
    BEGIN,
    COMMAND,
    DONE,
    END,
    ENV,
    MESSAGE,
    PAUSE,
    Act,
    call,
    complete,
    delta,
    line,
    prompt,
    saying,
    start,
    write,
)

VALUE = 's3cr3t "of\\ the/séssion'
WORD = "s3cr3t-of-the-session"
API_KEY = "vendor-key-0123456789abcdef"
VENDOR = "correct horse battery"
SHAPES = ("sk-live-0123456789abcdef", "ghp_" + "a1B2" * 9, "AKIAIOSFODNN7EXAMPLE")
OWN = {"MY_SECRET": VALUE, "DEBUG": "1", "PIN": "1234567"}
THOUGHT = {"type": "reasoning", "text": ""}
RESULT = {"type": "tool_result", "call_id": "t1", "output": ""}
DAEMON = {**ENV, "ANTHROPIC_API_KEY": API_KEY, "VENDOR_PASSPHRASE": VENDOR}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("daemon") / "data"
    with running(folder, "--log-level", "debug", env=DAEMON) as started:
        yield started


def spellings(value: str) -> set[bytes]:
    """A value as it is, and as JSON, and JSON within JSON, writes it."""
    once = {json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (False, True)}
    twice = {json.dumps(each, ensure_ascii=ascii)[1:-1] for each in once for ascii in (False, True)}
    return {each.encode() for each in {value, *once, *twice}}


def assert_untold(talk: Talk, *values: str) -> None:
    """Nobody who reads, in whatever way, is told any of these."""
    daemon = talk.daemon
    last = talk.events()[-1]["sequence"]
    told = b""
    for raw in ("0", "1"):
        path = f"{talk.path}/events"
        told += daemon.request("GET", f"{path}?limit=10000&include_raw={raw}").body
        with daemon.stream(f"{path}/sse?include_raw={raw}") as stream:
            for id, data in stream.frames():
                told += data
                if id == str(last):
                    break
    for path in ("", "/pending"):
        told += daemon.request("GET", f"{talk.path}{path}").body
    for folder in ("stderr", "logs"):
        for file in (daemon.data_dir / folder).glob("*"):
            told += file.read_bytes()
    for value in values:
        assert not [each for each in spellings(value) if each in told]


def streamed(events: list[Event], type: str = "text") -> str:
    return "".join(
        data["delta"]
        for event in events
        if event["source"] == "agent"
        for data in of_type([event], "item.delta")
        if data["content_type"] == type
    )


def stderr_file(talk: Talk) -> str:
    return (talk.daemon.data_dir / "stderr" / f"{talk.id}.log").read_text()


def test_case_13_a_crashing_agent_that_prints_secrets_tells_nobody(daemon: Daemon) -> None:
    """Before, what a crashing agent printed was stored and shown in `error.details.stderr`, with
    the values of the session's env and the daemon's API keys."""
    talk = Talk(daemon, env=OWN)
    words = f"fatal: {VALUE} and {API_KEY}\nDEBUG=1 PIN=1234567\n{' '.join(SHAPES)} end"
    turn = talk.turn(prompt(*write(BEGIN), ["stderr", words], ["exit", 1]))
    (error,) = of_type(turn, "error")
    shown = (
        "fatal: [redacted:MY_SECRET] and [redacted:ANTHROPIC_API_KEY]\n"
        "DEBUG=1 PIN=1234567\n[redacted] [redacted] [redacted] end"
    )
    assert error["details"]["stderr"]["head"] == shown
    assert stderr_file(talk) == shown
    assert_untold(talk, VALUE, API_KEY)
    talk.conforms()


def test_case_13_an_agent_that_never_comes_up_tells_nobody(daemon: Daemon) -> None:
    """Before, `session.ended.stderr` told what the agent had printed, secrets too."""
    words = "bad MY_SECRET: "
    talk = Talk(daemon, env={"PUPPET_DIES_OF": "MY_SECRET", **OWN})
    talk.send("hello")
    ended = talk.until("session.ended")["data"]
    assert ended["stderr"]["head"] == f"{words}[redacted:MY_SECRET]"
    assert_untold(talk, VALUE)


def test_case_13_a_private_key_on_stderr_is_masked_as_a_whole(daemon: Daemon) -> None:
    """Before, a key that an agent printed was kept, line by line."""
    talk = Talk(daemon)
    begins, ends = "-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----"
    lines = [f"MHcCAQEEI{number:04}" for number in range(100)]
    acts: list[Act] = [["stderr", f"{each}\n"] for each in ("loaded", begins, *lines)]
    talk.turn(prompt(*write(BEGIN), *acts, PAUSE, ["stderr", f"{ends}\nbye\n"], ["exit", 1]))
    assert stderr_file(talk) == "loaded\n[redacted]\nbye\n"


def test_case_13_a_value_that_is_said_is_replaced_everywhere(daemon: Daemon) -> None:
    """Before, an agent that printed its environment told everybody who reads the session."""
    talk = Talk(daemon, env=OWN)
    tool = call("t1", title=VALUE, command=f"echo {VALUE}")
    tool += delta(json.dumps({"a": VALUE}), "t1", "arguments") + complete("t1")
    about = {"input": {"a": [VALUE]}}
    ask = line("ask_permission", key="p1", item="t1", action="bash", metadata=about)
    output = {**RESULT, "output": f"{API_KEY}\n{VALUE}"}
    talk.send(
        prompt(
            *write(
                BEGIN + start("r1", "message", THOUGHT) + delta(VALUE, "r1", "reasoning"),
                complete("r1") + MESSAGE + delta(f"It is {VALUE}, PIN 1234567."),
                tool + ask,
                start("t1:result", "tool_result", RESULT) + delta(VALUE, "t1:result", "output"),
                complete("t1:result", content=[output]),
                b"no JSON: " + VALUE.encode() + b"\n" + b'{"type":"odd","is":"%b"}\n' % b"x",
                line("report", message=f"cannot {VALUE}", code="x") + DONE + END,
            )
        )
    )
    asked = talk.until("permission.requested")
    assert asked["data"]["metadata"]["input"] == {"a": ["[redacted:MY_SECRET]"]}
    assert_untold(talk, VALUE, API_KEY)
    talk.until("turn.ended")
    events = talk.conforms()
    assert "It is [redacted:MY_SECRET], PIN 1234567." in said(events)
    (result,) = items(events, "tool_result")
    output = result["content"][0]["output"]
    assert output == "[redacted:ANTHROPIC_API_KEY]\n[redacted:MY_SECRET]"
    assert_untold(talk, VALUE, API_KEY)


@pytest.mark.parametrize("size", [1, 3, 7, len(VALUE) - 1])
@pytest.mark.parametrize("together", [True, False])
def test_case_13_a_value_in_pieces_is_replaced_and_deltas_add_up(
    daemon: Daemon, size: int, together: bool
) -> None:
    """Before, a value that was streamed in pieces would have passed any look at one event."""
    talk = Talk(daemon, env=OWN)
    told = f"so {VALUE}, or {VALUE[:5]}; {API_KEY}!"
    pieces = [delta(told[at : at + size]) for at in range(0, len(told), size)]
    written = [b"".join(pieces)] if together else pieces
    turn = talk.turn(prompt(*write(BEGIN + MESSAGE, *written, DONE + END)))
    shown = f"so [redacted:MY_SECRET], or {VALUE[:5]}; [redacted:ANTHROPIC_API_KEY]!"
    assert streamed(turn) == shown
    assert said(turn) == [shown]
    events = talk.events(raw=True)
    raws = [e["raw"] for e in events if e["type"] == "item.delta" and e["source"] == "agent"]
    assert "".join(raw["text"] for raw in raws) == shown
    assert len(raws) == len(pieces)
    assert_untold(talk, VALUE, API_KEY)
    talk.conforms()


@pytest.mark.parametrize(
    ("kind", "begin"), [("reasoning", start("x", "message", THOUGHT)), ("arguments", call("x"))]
)
def test_case_13_thoughts_and_arguments_in_pieces_add_up_too(
    daemon: Daemon, kind: str, begin: bytes
) -> None:
    """Before, only what stood in one event could have been found."""
    talk = Talk(daemon, env=OWN)
    told = json.dumps({"a": VALUE})
    pieces = [delta(told[at : at + 4], "x", kind) for at in range(0, len(told), 4)]
    turn = talk.turn(prompt(*write(BEGIN + MESSAGE + begin, *pieces, complete("x") + DONE + END)))
    assert streamed(turn, kind) == '{"a": "[redacted:MY_SECRET]"}'
    assert_untold(talk, VALUE)
    talk.conforms()


def test_case_13_an_agent_that_falls_silent_holds_nothing_up(daemon: Daemon) -> None:
    """What may begin a value waits for the next piece, but not for ever: the beginning is shown,
    and only the rest is redacted."""
    talk = Talk(daemon, env=OWN)
    first, rest = VALUE[:5], VALUE[5:]
    talk.send(
        prompt(
            *write(BEGIN + MESSAGE + delta(f"so {first}")),
            *[PAUSE] * 50,
            *write(delta(f"{rest}."), DONE + END),
        )
    )
    talk.until("item.delta")  # the prompt's own
    assert talk.until("item.delta")["data"]["delta"] == f"so {first}"
    talk.until("turn.ended")
    events = talk.conforms()
    assert streamed(events) == f"so {first}[redacted:MY_SECRET]."
    assert said(events) == [f"so {first}[redacted:MY_SECRET]."]
    assert_untold(talk, VALUE)


def test_case_13_a_persons_own_words_are_redacted_and_reach_the_agent(daemon: Daemon) -> None:
    """The agent is told what was said; who reads on is not."""
    talk = Talk(daemon, env=OWN)
    message = json.dumps([*write(BEGIN), ["stderr", f"{len(VALUE)} {VALUE}\n"], *write(END)])
    talk.turn(message)
    (mine,) = items(talk.events(), "message", "user")
    assert text(mine) == message.replace(json.dumps(VALUE)[1:-1], "[redacted:MY_SECRET]")
    eventually(lambda: stderr_file(talk) == f"{len(VALUE)} [redacted:MY_SECRET]\n", "it was heard")
    talk.conforms()


def test_case_13_a_message_that_waits_is_shown_without_secrets(daemon: Daemon) -> None:
    """Before, `queue.updated` repeated what waits."""
    talk = Talk(daemon, env=OWN, title=f"with {VALUE}")
    assert talk.info["title"] == "with [redacted:MY_SECRET]"
    talk.send(prompt(*write(BEGIN), ["stay"]))
    talk.until("turn.started")
    waiting = talk.send(f"say {VALUE}")
    queued = talk.until("queue.updated")["data"]["messages"]
    assert [each["message"] for each in queued] == ["say [redacted:MY_SECRET]"]
    reply = daemon.request("DELETE", f"{talk.path}/pending/{waiting}")
    assert reply.status == 204
    talk.patch(title=f"about {VALUE}")
    assert talk.info["title"] == "about [redacted:MY_SECRET]"
    assert_untold(talk, VALUE)
    talk.terminate()


def test_case_13_our_tokens_are_in_no_event(daemon: Daemon) -> None:
    """Before, an agent that read the token's file told the token to all who may only read."""
    made = daemon.request("POST", "/tokens", {"name": "one", "scopes": ["write"]}).json["token"]
    talk = Talk(daemon)
    pieces = [delta(f"{daemon.token} {made[:20]}"), delta(f"{made[20:]}.")]
    turn = talk.turn(prompt(*write(BEGIN + MESSAGE, *pieces, DONE + END)))
    assert said(turn) == ["[redacted:DRAGOMAN_TOKEN] [redacted:DRAGOMAN_TOKEN]."]
    assert_untold(talk, daemon.token, made)


def test_case_13_secrets_of_mcp_servers_are_secrets_of_the_session(daemon: Daemon) -> None:
    """Before, only the answers of the API masked them."""
    near = {"type": "local", "command": "x", "env": {"NEAR_KEY": "near-value-1"}}
    far = {
        "type": "remote",
        "url": "https://me:far-password@example.com/mcp",
        "headers": {"Authorization": "Bearer far-value-22"},
        "oauth": {"clientSecret": "far-value-333"},
        "bearerTokenEnvVar": "VENDOR_PASSPHRASE",
    }
    talk = Talk(daemon, mcp={"near": near, "far": far})
    words = f"near-value-1 far-value-22 far-value-333 far-password {VENDOR}"
    assert said(talk.turn(saying(delta(words)))) == [
        "[redacted:NEAR_KEY] [redacted:Authorization] [redacted:clientSecret] [redacted:url] "
        "[redacted:VENDOR_PASSPHRASE]"
    ]
    assert_untold(talk, *words.split()[:4])


def test_case_13_short_values_paths_and_other_sessions_values_stay(
    daemon: Daemon, tmp_path: Path
) -> None:
    """A value such as DEBUG=1 is no secret, nor is a folder that is there."""
    other = Talk(daemon, env={"OTHER_SECRET": "only-of-the-other"})
    talk = Talk(daemon, env={**OWN, "PROJECT": str(tmp_path)}, directory=str(tmp_path))
    words = f"1 1234567 {tmp_path}/file only-of-the-other {SHAPES[0]}"
    assert said(talk.turn(saying(delta(words)))) == [words]
    assert talk.events()[0]["data"]["metadata"]["directory"] == str(tmp_path)
    assert said(other.turn(saying(delta("only-of-the-other")))) == ["[redacted:OTHER_SECRET]"]


def test_case_13_what_an_agent_writes_into_its_folder_is_not_touched(
    daemon: Daemon, tmp_path: Path
) -> None:
    """Redaction is about what we keep, not about what an agent does."""
    talk = Talk(daemon, env=OWN, directory=str(tmp_path))
    code = (
        "import os, signal; open('kept', 'w').write(os.environ['MY_SECRET']); "
        "print('ready', flush=True); signal.pause()"
    )
    talk.turn(prompt(["start", ["-c", code]], *write(BEGIN + END)))
    assert (tmp_path / "kept").read_text() == VALUE
    talk.terminate()


def test_case_13_a_restart_in_the_middle_of_a_value_tells_nobody(tmp_path: Path) -> None:
    """A daemon that dies between two pieces has kept a beginning at most."""
    with running(tmp_path / "data", env=DAEMON) as daemon:
        talk = Talk(daemon, env=OWN)
        talk.send(prompt(*write(BEGIN + MESSAGE + delta(f"so {VALUE[:6]}")), ["stay"]))
        talk.until("item.delta")
        talk.until("item.delta")
        daemon.kill()
        daemon.start()
        talk.until("turn.ended")
        assert streamed(talk.events()) == f"so {VALUE[:6]}"
        assert_untold(talk, VALUE)
        assert said(talk.turn(saying(delta(VALUE)))) == ["[redacted:MY_SECRET]"]
        talk.conforms()


def test_case_13_a_setting_turns_it_off(tmp_path: Path) -> None:
    with running(tmp_path / "data", env={**DAEMON, "DRAGOMAN_REDACT": "false"}) as daemon:
        talk = Talk(daemon, env=OWN)
        assert said(talk.turn(saying(delta(VALUE)))) == [VALUE]
        turn = talk.turn(prompt(*write(BEGIN), ["stderr", SHAPES[0]], ["exit", 1]))
        assert of_type(turn, "error")[0]["details"]["stderr"]["head"] == SHAPES[0]


def test_case_13_a_setting_adds_names(tmp_path: Path) -> None:
    names = {"DRAGOMAN_REDACT_NAMES": "VENDOR_PASSPHRASE, NOT_SET"}
    with running(tmp_path / "data", env=DAEMON) as daemon:
        assert said(Talk(daemon).turn(saying(delta(VENDOR)))) == [VENDOR]
    with running(tmp_path / "data", env={**DAEMON, **names}) as daemon:
        talk = Talk(daemon)
        assert said(talk.turn(saying(delta(VENDOR)))) == ["[redacted:VENDOR_PASSPHRASE]"]
        assert_untold(talk, VENDOR)


def test_case_13_a_shared_processs_log_and_the_daemons_hold_no_secret(tmp_path: Path) -> None:
    """Before, the log of a shared process held its stderr and what it said to nobody, and the
    daemon's log the last line of it."""
    env = {"SHARED_AGENT_HOME": str(tmp_path), "ANTHROPIC_API_KEY": API_KEY}
    shared = SharedAgentDaemon(tmp_path / "data", env=env)
    shared.start()
    try:
        talk = Talk(shared, agent="shared", env={"MY_SECRET": WORD})
        assert said(talk.turn(f"say {WORD}")) == ["[redacted:MY_SECRET]"]
        talk.turn(f"stranger {API_KEY}")
        (tmp_path / "dies").write_text(f"error: {WORD} {API_KEY} {SHAPES[1]}")
        talk.turn("crash")
        turn = talk.turn("say more")
        assert outcome(turn) == "failed"
        status: Any = next(a for a in shared.get("/agents")["agents"] if a["id"] == "shared")
        told = "error: [redacted:MY_SECRET] [redacted:ANTHROPIC_API_KEY] [redacted]"
        assert told in status["serverStatus"]["lastError"]
        log = (shared.data_dir / "logs" / "daemon.log").read_text()
        assert told in log
        (kept,) = (shared.data_dir / "stderr").glob("server+*")
        eventually(lambda: told in kept.read_text(), "the process's log has its last words")
        assert_untold(talk, WORD, API_KEY)
    finally:
        shared.stop()


@pytest.mark.parametrize("killed", [False, True])
def test_case_13_a_recording_of_a_session_holds_no_secret(tmp_path: Path, killed: bool) -> None:
    """Before, a recording held a value until it was scrubbed at the end, and then too where the
    value came in pieces, or its variable was not called a key."""
    out = tmp_path / "made.jsonl"
    recorder = f"{sys.executable} -m dragoman.cli.main record --out {out} -- {COMMAND}"
    env = {**DAEMON, "DRAGOMAN_MOCK_COMMAND": recorder}
    with running(tmp_path / "data", env=env) as daemon:
        talk = Talk(daemon, env={**OWN, "GREETING": WORD})
        pieces = [] if killed else [delta(VALUE[:7]), delta(f"{VALUE[7:]}.")]
        lines = (MESSAGE, delta(f"{VALUE} {API_KEY}. {WORD}"), *pieces, DONE + END)
        turn = talk.turn(prompt(*write(BEGIN, *lines)))
        assert said(turn)[0].startswith("[redacted:MY_SECRET] [redacted:ANTHROPIC_API_KEY].")
        if killed:
            shutil.copy(out, tmp_path / "running.jsonl")
            out = tmp_path / "running.jsonl"
        else:
            talk.terminate()
    recorded = out.read_bytes()
    assert b"[redacted:MY_SECRET] [redacted:ANTHROPIC_API_KEY]." in recorded
    for value in (VALUE, API_KEY, WORD):
        assert not [each for each in spellings(value) if each in recorded]
    texts = [json.loads(each["line"]) for each in map(json.loads, recorded.splitlines())
             if each["dir"] == "out" and "line" in each]  # fmt: skip
    assert VALUE not in "".join(each.get("text", "") for each in texts)
