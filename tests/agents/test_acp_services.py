"""Real agents that are offered `fs/*` and `terminal/*`: what they make of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.testing.model import StepLike
from tests.agents.live import Live, LiveAgent, calls, chosen, command, scripted
from tests.agents.opencode_acp.live.agent import OPENCODE_ACP
from tests.agents.qwen.live.agent import QWEN
from tests.agents.results import results
from tests.agents.watch import statuses
from tests.daemon import running
from tests.testing.story import of_type, parts

AGENTS = pytest.mark.parametrize("agent", [OPENCODE_ACP, QWEN], ids=["opencode-acp", "qwen"])


@contextmanager
def offered(agent: LiveAgent, folder: Path, *steps: StepLike) -> Iterator[Live]:
    """A session on a daemon that offers both."""
    command(agent.adapter)
    config = folder / "config.toml"
    config.write_text(f"[agents.{agent.adapter.id}]\nfs = true\nterminal = true\n")
    daemon = running(folder / "data", "--config", str(config), env=chosen(agent.adapter))
    with daemon as started, scripted(agent, steps) as model:
        yield Live(started, model, folder, agent)


@AGENTS
def test_a_file_that_a_person_allows_is_written_once_and_shown_with_its_diff(
    agent: LiveAgent, tmp_path: Path
) -> None:
    with offered(agent, tmp_path, "Hello.") as live:
        path = live.workspace / "a.txt"
        live.model.add(calls(agent.write(str(path), "a\n")), "Written.")
        live.turn("Hi")
        live.send("Write it")
        live.reply(live.until("permission.requested"), "once")
        assert live.until("turn.ended")["data"]["outcome"] == "completed"
        events = live.conforms()
        assert len(of_type(events, "permission.requested")) == 1
        assert statuses(events, "refused") == []
        (result,) = results(events)
        (file,) = parts(result, "file_ref")
        assert (file["path"], file["action"]) == (str(path), "write")
        assert file["diff"].endswith("@@ -0,0 +1 @@\n+a\n")
        assert path.read_text() == "a\n"
        live.terminate()


@AGENTS
def test_a_command_runs_and_is_shown(agent: LiveAgent, tmp_path: Path) -> None:
    run = calls(agent.shell("echo one > b.txt; cat b.txt"))
    with offered(agent, tmp_path, run, "Done.") as live:
        live.send("Run it")
        live.reply(live.until("permission.requested"), "once")
        assert live.until("turn.ended")["data"]["outcome"] == "completed"
        events = live.conforms()
        assert len(of_type(events, "permission.requested")) == 1
        (result,) = results(events)
        assert "one" in parts(result, "tool_result")[0]["output"]
        live.terminate()


def test_qwen_reads_lines_and_edits_them(tmp_path: Path) -> None:
    with offered(QWEN, tmp_path, "Hello.") as live:
        path = live.workspace / "c.txt"
        path.write_text("one\ntwo\nthree\n")
        named = {"file_path": str(path)}
        read = {"tool": "read_file", "input": {**named, "offset": 1, "limit": 1}}
        edit = {"tool": "edit", "input": {**named, "old_string": "two", "new_string": "TWO"}}
        live.model.add(calls(read), calls(edit), "Done.")
        live.turn("Hi")
        live.send("Change it")
        live.reply(live.until("permission.requested"), "once")
        assert live.until("turn.ended")["data"]["outcome"] == "completed"
        shown, edited = results(live.conforms())
        output = parts(shown, "tool_result")[0]["output"]
        assert "two" in output
        assert "three" not in output
        (file,) = parts(edited, "file_ref")
        assert (file["action"], file["diff"].endswith(" one\n-two\n+TWO\n three\n")) == (
            "patch", True,
        )  # fmt: skip
        assert path.read_text() == "one\nTWO\nthree\n"
        live.terminate()
