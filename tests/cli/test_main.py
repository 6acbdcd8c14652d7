"""The entrance: help, version, weight, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import __version__
from tests.cli.conftest import Terminal
from tests.client.canned import Answer, Canned, delta, frame, stream


def test_plain_dragoman_helps_a_newcomer(terminal: Terminal) -> None:
    shown = terminal.run().stdout
    assert "Usage: dragoman" in shown
    assert shown.count("New here?") == 1
    assert "dragoman serve" in shown
    assert terminal.run("--help").stdout == shown


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_help_is_plain_and_fits(terminal: Terminal, columns: str) -> None:
    terminal.environ["COLUMNS"] = columns
    shown = terminal.run("send", "--help").stdout
    assert all(len(row) <= max(int(columns), 46) for row in shown.splitlines())
    assert "<bool>" not in shown
    assert "{MESSAGE...}" in " ".join(shown.split())
    assert "\x1b" not in shown


def test_version(terminal: Terminal) -> None:
    assert terminal.run("--version").stdout == f"dragoman {__version__}\n"


@pytest.mark.parametrize("module", ["httpx2", "rich", "msgspec", "starlette", "asyncio"])
def test_the_entrance_is_light(terminal: Terminal, module: str) -> None:
    code = f"import sys, dragoman.cli.main; sys.exit({module!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", code], env=terminal.environ, check=True)


def test_a_refused_start_says_why_and_loads_neither_client_nor_rich(terminal: Terminal) -> None:
    code = (
        "import sys\n"
        "from dragoman.cli.main import create_app\n"
        "try:\n"
        "    create_app('serve')(['serve', '--no-token', '--host', '0.0.0.0'])\n"
        "except SystemExit as exit:\n"
        "    heavy = {'httpx2', 'rich'} & set(sys.modules)\n"
        "    sys.exit(99 if heavy else exit.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=terminal.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert "--no-token is refused on 0.0.0.0" in done.stderr


@pytest.mark.parametrize("name", ["serve", "server"])
def test_serve_refuses_a_wrong_setting(terminal: Terminal, name: str) -> None:
    done = terminal.run(name, "--log-level", "loud", code=2)
    assert done.stderr == (
        "dragoman: --log-level cannot be 'loud'; right is debug, info, warning or error\n"
    )


@pytest.mark.parametrize("token", [("--token", "sekret"), ("--token-file", "kept")])
def test_serve_takes_no_token_beside_none(terminal: Terminal, token: tuple[str, str]) -> None:
    del terminal.environ["DRAGOMAN_TOKEN"]
    told = terminal.run("serve", "--port", "0", "--no-token", *token, code=2).stderr
    assert "drop --no-token, or --token and --token-file" in told


def test_wrong_usage_is_2(terminal: Terminal) -> None:
    terminal.run("nonsense", code=2)
    terminal.run("ls", "--status", "asleep", code=2)
    terminal.run("reply", "s1", "p1", code=2)
    for wrong in ("notaurl", "ftp://127.0.0.1", "http://"):
        assert "no address" in terminal.run("ls", "--url", wrong, code=2).stderr
        terminal.environ["DRAGOMAN_URL"] = wrong
        assert "no address" in terminal.run("ls", code=2).stderr
    told = terminal.run("record", "--http", "http://x", "--listen", "65536", code=2).stderr
    assert "--listen" in told


def test_no_daemon_is_3(tmp_path: Path) -> None:
    alone = Terminal(tmp_path, "http://127.0.0.1:1")
    done = alone.run("ls", code=3)
    assert "dragoman serve" in done.stderr
    assert done.stdout == ""


def test_refused_by_the_daemon_is_4(daemon: Canned, terminal: Terminal) -> None:
    daemon.problem("GET", "/v1/sessions/s1", 404, "Session Not Found", detail="no s1")
    assert "no s1" in terminal.run("interrupt", "s1", code=4).stderr


@pytest.mark.parametrize(("token", "why"), [("", "wants a token"), ("x", "does not take this")])
def test_a_daemon_without_the_right_token_names_the_variables(
    daemon: Canned, terminal: Terminal, token: str, why: str
) -> None:
    terminal.environ["DRAGOMAN_TOKEN"] = token
    detail = "a valid token is needed: send Authorization: Bearer TOKEN"
    daemon.problem("GET", "/v1/sessions", 401, "Token Invalid", detail=detail)
    told = terminal.run("ls", code=4).stderr
    assert f"the daemon at {daemon.url} {why}" in told
    assert "DRAGOMAN_TOKEN_FILE" in told
    assert "Authorization" not in told


def test_a_refusal_names_the_field_that_is_wrong(daemon: Canned, terminal: Terminal) -> None:
    wrong: dict[str, Any] = {"detail": "it must not begin with -", "details": {"field": "model"}}
    daemon.problem("GET", "/v1/sessions", 400, "Invalid Request", **wrong)
    told = terminal.run("ls", code=4).stderr
    assert told == "dragoman: model: it must not begin with -\n"
    right = {"detail": "directory must be an absolute path", "details": {"field": "directory"}}
    daemon.problem("GET", "/v1/sessions", 400, "Invalid Request", **right)
    assert terminal.run("ls", code=4).stderr == "dragoman: directory must be an absolute path\n"


def test_failed_in_the_daemon_is_5(daemon: Canned, terminal: Terminal) -> None:
    daemon.problem("GET", "/v1/sessions", 507, "Storage Full", detail="full")
    assert "full" in terminal.run("ls", code=5).stderr


def test_an_error_for_programs_is_json_on_stderr(daemon: Canned, terminal: Terminal) -> None:
    daemon.problem("GET", "/v1/sessions", 507, "Storage Full", detail="full")
    done = terminal.run("ls", "--json", code=5)
    assert done.stdout == ""
    assert json.loads(done.stderr)["error"]["title"] == "Storage Full"


def test_interrupted_is_130(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("GET", "/v1/sessions/s1/events/sse", stream(frame(delta(1, "a")), then="hold"))
    with subprocess.Popen(
        terminal.argv("events", "s1", "--follow", "--json"),
        env=terminal.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["sequence"] == 1
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130


def test_the_data_folder_names_daemon_and_token(daemon: Canned, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "daemon.json").write_text(json.dumps({"url": daemon.url, "pid": 1}))
    (folder / "token").write_text("kept\n")
    daemon.on("GET", "/v1/sessions", Answer(body={"sessions": []}))
    found = Terminal(tmp_path, None)
    del found.environ["DRAGOMAN_TOKEN"]
    assert found.run("ls", "--data-dir", str(folder)).stdout == "no sessions\n"
    assert daemon.seen[0].headers["authorization"] == "Bearer kept"
