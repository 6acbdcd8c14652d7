"""A file that goes with a message, as Claude Code hands it on."""

from __future__ import annotations

from pathlib import Path

from tests.agents.live import Bench


def test_a_file_is_mentioned_and_claude_reads_it(claude: Bench, tmp_path: Path) -> None:
    note = tmp_path / "a note.txt"
    note.write_text("The word is xylograph.\n")
    live = claude.session("Xylograph.")
    body = {"message": "Look", "attachments": [{"path": str(note)}]}
    assert live.post("/messages", body).status == 204
    live.until("turn.ended")
    contents = [each["content"] for each in live.model.mains[0].body["messages"]]
    blocks = [block for each in contents if isinstance(each, list) for block in each]
    words = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    assert f'Look\n\n@"{note}"' in words
    assert "The word is xylograph." in words
    live.conforms()
