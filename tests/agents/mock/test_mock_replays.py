"""The mock agent's recordings, played to a real daemon by the stand-in: the same events again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents.mock.rerecord import CASES, HERE
from tests.daemon import Daemon, running


def facts(events: list[dict[str, Any]], workspace: str) -> list[tuple[Any, ...]]:
    """What must be the same in every telling; ids are not, nor is how the queue went."""
    return [
        (
            event["type"],
            event["source"],
            event["data"].get("delta", "").replace(workspace, "/workspace"),
            event["data"].get("outcome"),
        )
        for event in events
        if event["type"] != "queue.updated"
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_daemon_makes_of_a_recording_what_the_player_makes_of_it(
    case: Callable[[Daemon], None], tmp_path: Path
) -> None:
    recording = HERE / case.__name__
    command = [sys.executable, "-P", "-m", "dragoman.cli.main", "replay"]
    command += [f"--state={tmp_path / 'starts'}", str(recording / "transcript.jsonl")]
    env = {"DRAGOMAN_MOCK_COMMAND": " ".join(command)}
    with running(tmp_path / "data", env=env) as daemon:
        daemon.create("case", directory=str(tmp_path), fileEvents=False)
        case(daemon)
        events = daemon.events("case")
    golden = (recording / "events.jsonl").read_bytes().splitlines()
    expected = [msgspec.json.decode(line) for line in golden]
    assert facts(events, str(tmp_path)) == facts(expected, "/workspace")
