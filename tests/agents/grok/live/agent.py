"""The real Grok Build, as the scenarios of all agents need it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from dragoman.agents.grok import ADAPTER
from dragoman.agents.grok.probes import MODELS, environ, files
from tests.agents.chat_api import images_of
from tests.agents.grok.live.scripts import tool
from tests.agents.live import Block, Live, LiveAgent


class GrokAgent(LiveAgent):
    """One process for each session, which keeps its conversation in the home."""

    adapter = ADAPTER
    models = MODELS
    unknown_session = "01a1ec3f-0000-7000-8000-000000000000"
    error_codes = {  # noqa: RUF012
        400: "http_400",
        401: "http_401",
        404: "http_404",
        429: "http_429",
        500: "http_500",
    }

    ends_refused_turn = True
    refused_outcome = "interrupted"
    heads_questions = False
    too_long = "max_tokens_truncation"

    @property
    def ends_unanswered_turn(self) -> bool:
        return False

    def sent(self, text: str) -> str:
        return f"<user_query>\n{text}\n</user_query>"

    def environ(self, url: str, home: Path) -> dict[str, str]:
        for name, text in files(url).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        return environ(url, str(home))

    def shell(self, command: str) -> Block:
        # It asks for no `touch` (1.0.41), by whatever path it is the same program.
        asked = command.replace("touch ", "/usr/bin/touch ")
        return tool("run_terminal_command", command=asked, description="Runs it")

    def write(self, path: str, content: str) -> Block:
        return tool("write", file_path=path, content=content)

    def question(self, id: str, text: str, *options: str) -> Block:
        choices = [{"label": each, "description": f"It is {each}."} for each in options]
        return {"question": text, "header": id, "options": choices, "multiSelect": False}

    def ask(self, *questions: Block) -> Block:
        return tool("ask_user_question", questions=list(questions))

    def model_of(self, body: Any) -> str:
        return str(body["model"])

    def effort_of(self, body: Any) -> Any:
        return body.get("reasoning_effort")

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        return images_of(body)

    def forget(self, live: Live) -> None:
        shutil.rmtree(live.home / ".grok" / "sessions")


GROK = GrokAgent()
