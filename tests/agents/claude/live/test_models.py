"""The models that the real Claude Code says it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.agents.claude import ADAPTER
from dragoman.runtime.processes import linux
from tests.agents.claude.live.conftest import environ
from tests.agents.live import chosen, command
from tests.daemon import running
from tests.installable_agent import executable as stand_in


@pytest.fixture(autouse=True)
def installed() -> None:
    command(ADAPTER)


def test_the_agent_tells_its_models(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    hook = {"type": "command", "command": f"touch {tmp_path}/hooked"}
    settings.write_text(
        '{"availableModels": ["opus", "haiku"], "hooks": {"SessionStart": [{"hooks": ['
        f'{{"type": "{hook["type"]}", "command": "{hook["command"]}"}}]}}]}}}}'
    )
    env = environ("http://127.0.0.1:9", home)
    with running(tmp_path / "data", env={**env, **chosen(ADAPTER)}) as daemon:
        found = daemon.get("/agents/claude/models")
        assert found["defaultModel"] == "default"
        models = {model["id"]: model for model in found["models"]}
        assert {"default", "opus", "haiku"} <= set(models)
        assert models["opus"]["name"]
        assert "high" in models["opus"]["variants"]
        assert daemon.get("/agents/claude/models?refresh=true") == found
        assert list(linux.marked(f"{linux.mark_of(tmp_path / 'data')}:")) == []
    assert not (tmp_path / "hooked").exists()
    assert not (home / ".claude" / "projects").exists()


def test_an_agent_that_does_not_answer_leaves_us_with_what_is_known(tmp_path: Path) -> None:
    mute = stand_in(tmp_path / "mute", "#!/bin/sh\nexit 1\n")
    with running(tmp_path / "data", env={"DRAGOMAN_CLAUDE_COMMAND": str(mute)}) as daemon:
        found = daemon.get("/agents/claude/models")
    assert [model["id"] for model in found["models"]] == [model.id for model in ADAPTER.models]
    assert found["defaultModel"] == ADAPTER.default_model
