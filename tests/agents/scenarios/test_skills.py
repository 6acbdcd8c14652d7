"""Skills that a session is given, as a real agent finds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.live import Bench
from tests.agents.skills import local, skill, tree
from tests.agents.watch import asked, kill
from tests.testing.story import outcome


@pytest.fixture(autouse=True)
def takes_skills(bench: Bench) -> None:
    """Only for those that take some: it is no capability of the contract's."""
    if not bench.agent.adapter.takes_skills:
        pytest.skip(f"{bench.agent.adapter.name} takes no skills")


def test_a_skill_of_the_session_is_offered_and_the_home_is_not_touched(
    bench: Bench, tmp_path: Path
) -> None:
    skill(tmp_path / "given" / "greet", "Greets the zebra quartet.", "Say quaxolotl.")
    skill(tmp_path / "given" / "other", "Greets nobody at all.", "Say nothing.")
    before = tree(tmp_path / "given")
    live = bench.session("quaxolotl", skills=local(tmp_path / "given", skills=["greet"]))
    assert outcome(live.turn("Greet")) == "completed"
    assert "Greets the zebra quartet." in asked(live, 1)
    assert "Greets nobody at all." not in asked(live, 1)
    assert "Say quaxolotl." not in asked(live, 1)
    assert [path for path in tree(live.home) if "greet" in path.name] == []
    assert tree(tmp_path / "given") == before
    assert tree(live.workspace) == []
    live.conforms()


def test_a_skill_is_there_after_the_process_died(bench: Bench, tmp_path: Path) -> None:
    skill(tmp_path / "given" / "greet", "Greets the zebra quartet.", "Say quaxolotl.")
    live = bench.session("One.", "Two.", skills=local(tmp_path / "given"))
    live.turn("1")
    kill(live)
    live.turn("2")
    assert "zebra quartet" in asked(live, 2)
    live.conforms()


def test_skills_that_went_missing_are_laid_out_again(bench: Bench, tmp_path: Path) -> None:
    skill(tmp_path / "given" / "greet", "Greets the zebra quartet.", "Say hi.")
    live = bench.session("ok", skills=local(tmp_path / "given"))
    (bench.daemon.data_dir / "skills" / live.id).rename(tmp_path / "missing")
    live.turn("Hi")
    assert "zebra quartet" in asked(live, 1)


def test_skills_are_removed_with_their_session(bench: Bench, tmp_path: Path) -> None:
    skill(tmp_path / "given" / "greet", "Greets.", "Say hi.")
    live = bench.session(skills=local(tmp_path / "given"))
    folder = bench.daemon.data_dir / "skills" / live.id
    assert [path for path in tree(folder) if path.name == "SKILL.md"]
    assert bench.daemon.request("DELETE", live.path).status == 204
    assert not folder.exists()
