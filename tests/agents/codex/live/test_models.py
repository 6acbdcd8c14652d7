"""The models that the real Codex says it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.agents.codex import ADAPTER
from dragoman.runtime.processes import linux
from tests.agents.codex.live.scripts import configured
from tests.agents.live import chosen, command
from tests.daemon import running
from tests.installable_agent import executable as stand_in


@pytest.fixture(autouse=True)
def installed() -> None:
    command(ADAPTER)


def test_the_agent_tells_its_models(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    env = configured()("http://127.0.0.1:9", home)
    with running(tmp_path / "data", env={**env, **chosen(ADAPTER)}) as daemon:
        found = daemon.get("/agents/codex/models")
        models = {model["id"]: model for model in found["models"]}
        assert "gpt-5.5" in models
        assert found["defaultModel"] in models
        assert models["gpt-5.5"]["name"]
        assert "high" in models["gpt-5.5"]["variants"]
        assert daemon.get("/agents/codex/models?refresh=true") == found
        assert list(linux.marked(f"{linux.mark_of(tmp_path / 'data')}:")) == []


def test_an_agent_that_does_not_answer_leaves_us_with_what_is_known(tmp_path: Path) -> None:
    mute = stand_in(tmp_path / "mute", "#!/bin/sh\nexit 1\n")
    with running(tmp_path / "data", env={"DRAGOMAN_CODEX_COMMAND": str(mute)}) as daemon:
        found = daemon.get("/agents/codex/models")
    assert [model["id"] for model in found["models"]] == [model.id for model in ADAPTER.models]
    assert found["defaultModel"] == ADAPTER.default_model
