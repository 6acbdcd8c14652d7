"""The doctor finds what is broken, and says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Terminal
from tests.client.canned import Answer, Canned, agent_info


@pytest.fixture
def folder(terminal: Terminal, tmp_path: Path) -> Path:
    """A data folder as the daemon makes it."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    terminal.environ["DRAGOMAN_DATA_DIR"] = str(folder)
    return folder


@pytest.fixture
def healthy(daemon: Canned) -> Canned:
    """A daemon that is well."""
    daemon.on("GET", "/v1/health", Answer(body={"status": "ok"}))
    daemon.on("GET", "/v1/openapi.json", Answer(body={"info": {"version": "9.9"}}))
    return daemon


def checks(terminal: Terminal, code: int = 0) -> dict[str, Any]:
    """What the doctor says, by name."""
    told = json.loads(terminal.run("doctor", "--json", code=code).stdout)
    assert told["ok"] is (code == 0)
    return {check["name"]: check for check in told["checks"]}


def test_a_healthy_machine_is_ok(healthy: Canned, terminal: Terminal, folder: Path) -> None:
    found = checks(terminal)
    assert {check["state"] for check in found.values()} <= {"ok", "note"}
    assert "9.9" in found["daemon"]["found"]
    assert found["modes"]["state"] == "ok"


def test_a_missing_daemon_and_missing_agents_are_only_notes(
    terminal: Terminal, folder: Path
) -> None:
    terminal.environ |= {"DRAGOMAN_URL": "http://127.0.0.1:1", "PATH": "/nonexistent"}
    found = checks(terminal)
    assert found["daemon"]["state"] == "note"
    assert found["daemon"]["advice"] == "dragoman serve"
    assert found["node"]["state"] == "note"
    assert "npm" in found["npm"]["advice"]


def test_an_open_token_is_broken_and_the_advice_mends_it(
    healthy: Canned, terminal: Terminal, folder: Path
) -> None:
    token = folder / "token"
    token.write_text("t")
    token.chmod(0o644)
    found = checks(terminal, code=1)
    assert found["modes"]["advice"] == f"chmod 600 {token}"
    token.chmod(0o600)
    checks(terminal)


def test_a_refused_token_is_broken(daemon: Canned, terminal: Terminal, folder: Path) -> None:
    daemon.on("GET", "/v1/health", Answer(body={"status": "ok"}))
    daemon.problem("GET", "/v1/openapi.json", 401, "Token Invalid")
    assert "DRAGOMAN_TOKEN" in checks(terminal, code=1)["daemon"]["advice"]


def test_a_data_folder_that_is_a_file_is_broken(
    healthy: Canned, terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    terminal.environ["DRAGOMAN_DATA_DIR"] = str(tmp_path / "file" / "data")
    assert checks(terminal, code=1)["data folder"]["state"] == "broken"


def test_missing_credentials_are_a_note_with_their_names(
    healthy: Canned, terminal: Terminal, folder: Path
) -> None:
    claude = agent_info("claude", "Claude Code", credentialsAvailable=False, path="/bin/claude")
    healthy.on("GET", "/v1/agents", Answer(body={"agents": [claude]}))
    found = checks(terminal)["agent claude"]
    assert found["state"] == "note"
    assert found["found"] == "version unknown at /bin/claude, no credentials"
    assert "ANTHROPIC_API_KEY" in found["advice"]


def test_people_get_lines(healthy: Canned, terminal: Terminal, folder: Path) -> None:
    shown = terminal.run("doctor").stdout
    assert "✓ python: 3." in shown
    assert "✓ daemon: version 9.9" in shown
