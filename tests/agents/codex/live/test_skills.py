"""Skills that a session is given, as the real Codex finds and loads them."""

from __future__ import annotations

from pathlib import Path

from tests.agents.live import Bench
from tests.agents.skills import local, skill
from tests.agents.watch import asked


def test_a_skill_is_of_one_session_on_the_server(codex: Bench, tmp_path: Path) -> None:
    skill(tmp_path / "given" / "greet", "Greets the zebra quartet.", "Say quaxolotl.")
    live = codex.session("One.", "Two.", skills=local(tmp_path / "given"))
    other = codex.another(live.model, folder=live.folder)
    live.turn("1")
    other.turn("2")
    assert "zebra quartet" in asked(live, 1)
    assert "zebra quartet" not in asked(live, 2)
