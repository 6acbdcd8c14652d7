"""The models that the real Claude Code says it has."""

from __future__ import annotations

from pathlib import Path

from dragoman.agents.claude import ADAPTER
from tests.agents.claude.live.agent import CLAUDE
from tests.agents.live import chosen, command
from tests.daemon import running


def test_claude_is_asked_for_its_models_and_runs_no_hook(tmp_path: Path) -> None:
    command(ADAPTER)
    home = tmp_path / "home"
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    hook = {"type": "command", "command": f"touch {tmp_path}/hooked"}
    settings.write_text(
        '{"availableModels": ["opus", "haiku"], "hooks": {"SessionStart": [{"hooks": ['
        f'{{"type": "{hook["type"]}", "command": "{hook["command"]}"}}]}}]}}}}'
    )
    env = CLAUDE.environ("http://127.0.0.1:9", home)
    with running(tmp_path / "data", env={**env, **chosen(ADAPTER)}) as daemon:
        found = daemon.get("/agents/claude/models")
        assert found["defaultModel"] == "default"
        models = {model["id"]: model for model in found["models"]}
        assert {"default", "opus", "haiku"} <= set(models)
    assert not (tmp_path / "hooked").exists()
    assert not (home / ".claude" / "projects").exists()
