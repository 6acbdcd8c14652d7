"""Case 12: nothing that a caller names becomes an option of an agent's command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.adapter import Spec
from dragoman.agents import adapters
from tests.daemon import Daemon

from .wire import state

OPTIONS = ("-p", "--dangerously-skip-permissions", "--model=x", "-", "--")
BROKEN = ("a\nb", "a\n", "\r", "a\x00b", "\x1b[0m", "a\x7f")
FIELDS = ("model", "variant", "agentVersion")


def wanted(field: str, value: str) -> dict[str, Any]:
    return {"agent": "mock", field: value}


@pytest.mark.parametrize("value", [*OPTIONS, *BROKEN], ids=ascii)
def test_case_12_a_value_that_could_be_an_option_is_400(daemon: Daemon, value: str) -> None:
    before = state(daemon)
    requests = [wanted(field, value) for field in FIELDS]
    requests.append({"agent": "mock", "resume": {"nativeSessionId": value}})
    for body in requests:
        reply = daemon.request("POST", "/sessions", body)
        assert reply.status == 400, body
        assert reply.json["details"]["field"] in {*FIELDS, "resume.nativeSessionId"}
    assert state(daemon) == before


@pytest.mark.parametrize("value", OPTIONS)
def test_case_12_a_change_to_such_a_value_is_400(daemon: Daemon, value: str) -> None:
    session = f"changed-{OPTIONS.index(value)}"
    daemon.create(session)
    for field in ("model", "variant"):
        reply = daemon.request("PATCH", f"/sessions/{session}", {field: value})
        assert (reply.status, reply.json["details"]["field"]) == (400, field)


@pytest.mark.parametrize("value", ["a, b", "a --model c", "a;b|c&d", "$(id)", "`id`", "'\""])
def test_case_12_a_value_with_spaces_and_signs_stays_one_word(daemon: Daemon, value: str) -> None:
    session = f"word-{len(value)}-{ord(value[1])}"
    daemon.create(session, model=value)
    daemon.send(session, "permission")
    daemon.wait_for(session, "permission.requested")
    (process,) = (
        each for each in daemon.get("/processes")["processes"] if session in each["sessionIds"]
    )
    words = Path(f"/proc/{process['pid']}/cmdline").read_bytes().split(b"\0")
    assert [word for word in words if value.encode() in word] == [b"--model=" + value.encode()]
    assert daemon.request("POST", f"/sessions/{session}/terminate").status == 204


@pytest.mark.parametrize("session", ["--help", "-x", "--", "-"])
def test_case_12_an_id_that_looks_like_an_option_is_only_an_id(
    daemon: Daemon, session: str, tmp_path: Path
) -> None:
    folder = tmp_path / "-rf"
    folder.mkdir()
    daemon.create(session, directory=str(folder))
    turn = daemon.turn(session, "--dangerously-skip-permissions")
    assert turn[-1]["data"]["outcome"] == "completed"


@pytest.mark.parametrize("agent", adapters())
def test_case_12_no_command_line_is_one_string(agent: str) -> None:
    model = "a b; touch /tmp/c"
    spec = Spec(agent=agent, agent_mode="", session_id="s", directory="/", model=model)
    first, *words = adapters()[agent].launch(spec, ("program",)).argv
    assert first == "program"
    assert [word for word in words if "touch" in word] in ([], [model], [f"--model={model}"])
