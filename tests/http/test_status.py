"""How the daemon does, as it tells it itself."""

from __future__ import annotations

import time
from pathlib import Path

import dragoman
from tests.daemon import Daemon, running
from tests.store.shelf import refusing


def test_status_tells_version_store_sessions_agents_and_limits(data_dir: Path) -> None:
    env = {"DRAGOMAN_MAX_SESSIONS": "7", "DRAGOMAN_MAX_TURNS": "3"}
    with running(data_dir, env=env) as daemon:
        daemon.create("idle")
        daemon.turn("idle", "hello")
        daemon.create("ended")
        daemon.request("POST", "/sessions/ended/terminate")
        daemon.create("waiting")
        daemon.send("waiting", "permission")
        daemon.wait_for("waiting", "permission.requested")
        daemon.send("waiting", "later")
        with daemon.stream("/events/sse"):
            status = daemon.get("/status")
        events = sum(len(daemon.events(name)) for name in ("idle", "ended", "waiting"))
        assert daemon.process is not None
        assert status["version"] == dragoman.__version__
        assert status["pid"] == daemon.process.pid
        assert 0 <= status["uptimeMs"] < 60_000
        assert abs(status["startedAt"] / 1000 - time.time()) < 60
        assert status["sessions"] == {
            "idle": 1, "starting": 0, "running": 0, "waiting": 1, "ended": 1
        }  # fmt: skip
        assert (status["queued"], status["readers"]) == (1, 1)
        store = status["store"]
        assert (store["path"], store["degraded"]) == (str(data_dir), False)
        assert store["events"] <= events
        assert store["sizeBytes"] > 0
        agents = {agent["id"]: agent for agent in status["agents"]}
        assert agents["mock"] == {
            "id": "mock", "installed": True, "version": dragoman.__version__,
        }  # fmt: skip
        assert agents["codex"]["serverStatus"]["status"] == "stopped"
        limits = status["limits"]
        assert limits["maxSessions"] == {"used": 2, "most": 7}
        assert limits["maxTurns"] == {"used": 1, "most": 3}
        assert limits["maxProcesses"]["used"] == 2
        assert limits["maxStreams"]["used"] == 1


def test_status_needs_a_token(daemon: Daemon) -> None:
    connection = daemon.connect()
    connection.request("GET", "/v1/status")
    assert connection.getresponse().status == 401
    connection.close()


def test_a_store_that_cannot_write_is_told(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        with refusing(data_dir):
            assert daemon.request("POST", "/sessions/s", {"agent": "mock"}).status == 507
            assert daemon.get("/status")["store"]["degraded"]
        daemon.create("s")
        assert not daemon.get("/status")["store"]["degraded"]
