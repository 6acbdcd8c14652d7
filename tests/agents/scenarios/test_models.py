"""The models that real agents say they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.runtime.processes import linux
from tests.agents.live import LiveAgent, chosen, command, variable_of
from tests.daemon import running
from tests.installable_agent import executable as stand_in


@pytest.mark.asks_models
def test_the_agent_tells_its_models(agent: LiveAgent, tmp_path: Path) -> None:
    command(agent.adapter)
    home = tmp_path / "home"
    home.mkdir()
    env = {**agent.environ("http://127.0.0.1:9", home), **chosen(agent.adapter)}
    path = f"/agents/{agent.adapter.id}/models"
    with running(tmp_path / "data", env=env) as daemon:
        found = daemon.get(path)
        models = {model["id"]: model for model in found["models"]}
        assert {agent.models[0], found["defaultModel"]} <= models.keys()
        assert models[agent.models[0]]["name"]
        if "variants" in agent.adapter.capabilities.shown:
            assert "high" in models[agent.models[0]]["variants"]
        assert daemon.get(f"{path}?refresh=true") == found
        assert list(linux.marked(f"{linux.mark_of(tmp_path / 'data')}:")) == []


def test_an_agent_that_does_not_answer_leaves_us_with_what_is_known(
    agent: LiveAgent, tmp_path: Path
) -> None:
    adapter = agent.adapter
    mute = stand_in(tmp_path / "mute", "#!/bin/sh\nexit 1\n")
    with running(tmp_path / "data", env={variable_of(adapter): str(mute)}) as daemon:
        found = daemon.get(f"/agents/{adapter.id}/models")
    assert [model["id"] for model in found["models"]] == [model.id for model in adapter.models]
    assert found.get("defaultModel") == adapter.default_model
