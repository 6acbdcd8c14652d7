"""The real Pi, as the scenarios of all agents need it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from dragoman.agents.pi import ADAPTER
from dragoman.agents.pi.launch import FIRST_WITH_MCP, FIRST_WITH_SESSION_ID
from dragoman.agents.pi.probes import environ, files
from dragoman.facts import is_since
from tests.agents.live import Block, Live, LiveAgent, version_of
from tests.agents.pi.live.scripts import ASKS, tool


class PiAgent(LiveAgent):
    """One process for each session, which keeps its conversation in the home."""

    adapter = ADAPTER
    models = ("scripted/one", "scripted/two")
    unknown_session = "01a1df85-0000-7000-8000-000000000000"
    error_codes = {  # noqa: RUF012
        400: "invalid_request_error",
        401: "authentication_error",
        404: "not_found_error",
        429: "rate_limit_error",
        500: "server_error",
    }
    stream_error = {"message": "Overloaded"}  # noqa: RUF012
    asks_plainly = True

    @property
    def asks_freely(self) -> bool:
        # Before, extensions do not hear which tools of others only read.
        return is_since(version_of(ADAPTER), FIRST_WITH_MCP)

    @property
    def keeps_unanswered(self) -> bool:
        return is_since(version_of(ADAPTER), FIRST_WITH_SESSION_ID)

    def environ(self, url: str, home: Path) -> dict[str, str]:
        texts = {**files(url), ".pi/agent/extensions/ask.ts": ASKS}
        for name, text in texts.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        return environ(url, str(home))

    def shell(self, command: str) -> Block:
        return tool("bash", command=command)

    def write(self, path: str, content: str) -> Block:
        return tool("write", path=path, content=content)

    def question(self, id: str, text: str, *options: str) -> Block:
        return {"question": text, "options": list(options)}

    def ask(self, *questions: Block) -> Block:
        return tool("ask_person", **questions[0])

    def model_of(self, body: Any) -> str:
        return f"scripted/{body['model']}"

    def effort_of(self, body: Any) -> Any:
        return body["reasoning_effort"]

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        said = [each["content"] for each in body["messages"] if each["role"] == "user"]
        parts = [part for content in said if isinstance(content, list) for part in content]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return [(url[5:].partition(";")[0], base64.b64decode(url.partition(",")[2]))
                for url in urls]  # fmt: skip

    def forget(self, live: Live) -> None:
        for file in live.home.rglob("sessions/*/*.jsonl"):
            file.unlink()


PI = PiAgent()
