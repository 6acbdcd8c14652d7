"""Skills that a session is given, as the real Codex finds and loads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.codex.live.scripts import calls, run
from tests.agents.codex.live.watch import asked, kill
from tests.agents.live import Bench
from tests.testing.story import outcome


def skill(folder: Path, description: str, words: str) -> None:
    folder.mkdir(parents=True)
    head = f"---\nname: {folder.name}\ndescription: {description}\n---\n"
    (folder / "SKILL.md").write_text(f"{head}\n{words}\n")


def local(folder: Path, **more: Any) -> dict[str, Any]:
    return {"sources": [{"type": "local", "source": str(folder), **more}]}


def tree(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_a_skill_of_the_session_is_offered_and_the_home_is_not_touched(
    codex: Bench, tmp_path: Path
) -> None:
    skill(tmp_path / "given" / "greet", "Greets the zebra quartet.", "Say quaxolotl.")
    skill(tmp_path / "given" / "other", "Greets nobody at all.", "Say nothing.")
    before = tree(tmp_path / "given")
    live = codex.session("quaxolotl", skills=local(tmp_path / "given", skills=["greet"]))
    events = live.turn("Greet")
    assert outcome(events) == "completed"
    assert "Greets the zebra quartet." in asked(live, 1)
    assert "Greets nobody at all." not in asked(live, 1)
    assert [path for path in tree(live.home) if "greet" in path.name] == []
    assert tree(tmp_path / "given") == before
    assert tree(live.workspace) == []
    live.conforms()


def test_a_skill_is_of_one_session_on_the_server(codex: Bench, tmp_path: Path) -> None:
    skill(tmp_path / "given" / "greet", "Greets the zebra quartet.", "Say quaxolotl.")
    live = codex.session("One.", "Two.", skills=local(tmp_path / "given"))
    other = codex.another(live.model, folder=live.folder)
    live.turn("1")
    other.turn("2")
    assert "zebra quartet" in asked(live, 1)
    assert "zebra quartet" not in asked(live, 2)


def test_a_skill_is_there_after_the_server_died(codex: Bench, tmp_path: Path) -> None:
    skill(tmp_path / "given" / "greet", "Greets the zebra quartet.", "Say quaxolotl.")
    live = codex.session("One.", calls(run("true")), "Two.", skills=local(tmp_path / "given"),
                         permissionMode="bypass")  # fmt: skip
    live.turn("1")
    kill(live)
    live.turn("2")
    assert "zebra quartet" in asked(live, 2)
    live.conforms()
