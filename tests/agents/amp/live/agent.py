"""The real Amp, as the scenarios of all agents need it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from dragoman.agents.amp import ADAPTER
from dragoman.agents.amp.probes import environ
from tests.agents.live import Block, Live, LiveAgent


class AmpAgent(LiveAgent):
    """A process for each turn, whose server asks the models and keeps the conversation."""

    adapter = ADAPTER
    models = ("none", "none")
    unknown_session = "T-00000000-0000-4000-8000-00000000ffff"
    error_codes = dict.fromkeys((400, 401, 404, 429, 500), "error_during_execution")
    asks_models = False
    lives_for_a_turn = True

    def environ(self, url: str, home: Path) -> dict[str, str]:
        return environ(url, str(home))

    def shell(self, command: str) -> Block:
        return tool("shell_command", command=command)

    def write(self, path: str, content: str) -> Block:
        return tool("create_file", path=path, content=content)

    def model_of(self, body: Any) -> str:
        raise NotImplementedError

    def effort_of(self, body: Any) -> Any:
        return body["model"]

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        blocks = [each for message in body["messages"] for each in message["content"]]
        sources = [each["source"] for each in blocks if each["type"] == "image"]
        return [(each["mediaType"], base64.b64decode(each["data"])) for each in sources]

    def forget(self, live: Live) -> None:
        live.model.forget_threads()


def tool(name: str, **input: object) -> Block:
    """A call of a tool."""
    return {"tool": name, "input": input}


AMP = AmpAgent()
