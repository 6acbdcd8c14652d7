"""`dragoman testing model`, as a person runs it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Terminal
from tests.generated import ROOT
from tests.testing.model_client import PATHS, body


@pytest.fixture
def alone(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, None)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_model_runs_until_it_is_stopped(alone: Terminal, stop: signal.Signals) -> None:
    log = alone.home / "requests.jsonl"
    argv = alone.argv(
        "testing", "model", str(ROOT / "examples" / "model" / "hello.yaml"), "--log", str(log)
    )
    with subprocess.Popen(
        argv, env=alone.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        handshake = [process.stdout.readline() for _ in range(3)]
        found = re.search(r"ANTHROPIC_BASE_URL=(http://127\.0\.0\.1:\d+) ", handshake[1])
        assert found
        assert f"OPENAI_BASE_URL={found[1]}/v1 " in handshake[2]
        asked = body("messages", "hi there", stream=False)
        headers = {"x-api-key": "s3cret"}
        answered = httpx2.post(found[1] + PATHS["messages"], json=asked, headers=headers)
        assert "I follow a script" in answered.json()["content"][0]["text"]
        assert process.stdout.readline() == "POST /v1/messages step 1 'hi there'\n"
        process.send_signal(stop)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    (record,) = map(json.loads, log.read_text().splitlines())
    assert (record["body"], record["step"]) == (asked, 1)
    assert "s3cret" not in log.read_text()


def test_a_wrong_script_is_told_with_its_step(alone: Terminal) -> None:
    (alone.home / "wrong.yaml").write_text("- text: x\n- txt: y\n")
    told = alone.run("testing", "model", "wrong.yaml", code=1).stderr
    assert told.startswith("dragoman: wrong.yaml: step 2: unknown key 'txt'")


def test_a_log_that_cannot_be_written_is_wrong_usage(alone: Terminal) -> None:
    (alone.home / "ok.yaml").write_text("- text: x\n")
    told = alone.run("testing", "model", "ok.yaml", "--log", "no/such/folder/log", code=2).stderr
    assert "cannot write to" in told
