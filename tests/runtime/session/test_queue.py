"""Messages that wait are delivered one after the other, whatever happens to those before them."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.daemon import Daemon, running


def test_messages_behind_one_that_could_not_be_sent_are_not_forgotten(
    data_dir: Path, tmp_path: Path
) -> None:
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\nexec {sys.executable} -m dragoman.testing.mock.agent "$@"\n')
    agent.chmod(0o755)
    with running(data_dir, env={"DRAGOMAN_MOCK_COMMAND": str(agent)}) as daemon:
        daemon.create("s")
        daemon.send("s", "hang")
        daemon.wait_for("s", "session.updated")
        for number in range(3):
            daemon.send("s", f"echo {number}")
        agent.unlink()
        assert daemon.request("POST", "/sessions/s/interrupt").status == 204
        # The process lives on; only its end makes the missing executable felt.
        daemon.send("s", "crash")
        for number in range(3):
            daemon.send("s", f"echo after {number}")
        outcomes: list[str] = []
        with daemon.stream("/sessions/s/events/sse") as stream:
            for event in stream:
                if event["type"] == "turn.ended":
                    outcomes.append(event["data"]["outcome"])
                if len(outcomes) == 8:
                    break
    assert outcomes == ["interrupted", *["completed"] * 3, *["failed"] * 4]


def test_the_queue_shows_the_beginning_of_a_long_message_and_pending_all_of_it(
    data_dir: Path,
) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.send("s", "hang")
        daemon.wait_for("s", "session.updated")
        texts = ["x" * 200, "é" * 201]
        for text in texts:
            daemon.send("s", text)
        with daemon.stream("/sessions/s/events/sse") as stream:
            shown = next(
                event["data"]["messages"]
                for event in stream
                if event["type"] == "queue.updated" and len(event["data"]["messages"]) == 2
            )
        assert [each["message"] for each in shown] == ["x" * 200, "é" * 200]
        assert [each.get("truncated") for each in shown] == [None, True]
        waiting = daemon.get("/sessions/s/pending")["messages"]
        assert [each["message"] for each in waiting] == texts


def test_a_stop_leaves_the_queue_for_the_next_start(data_dir: Path) -> None:
    daemon = Daemon(data_dir)
    daemon.start()
    daemon.create("s")
    daemon.send("s", "hang")
    daemon.wait_for("s", "session.updated")
    waiting = daemon.send("s", "echo precious")
    daemon.wait_for("s", "queue.updated")
    with daemon.stream("/sessions/s/events/sse") as stream:
        assert daemon.stop() == 0
        shown = list(stream)
    assert (shown[-1]["type"], shown[-1]["data"]["outcome"]) == ("turn.ended", "interrupted")
    daemon.start()
    try:
        ended = daemon.wait_for("s", "turn.ended", after=shown[-1]["sequence"])
        assert ended["data"]["outcome"] == "completed"
        ids = [event["data"].get("item", {}).get("message_id") for event in daemon.events("s")]
        assert ids.count(waiting) == 2  # its item's start and its completion
    finally:
        daemon.stop()
