"""The real Codex, as the scenarios of all agents need it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from dragoman.agents.codex import ADAPTER
from tests.agents.codex.live.scripts import added, ask, configured, patch, question, run
from tests.agents.codex.live.watch import servers
from tests.agents.live import Block, Live, LiveAgent


class CodexAgent(LiveAgent):
    """One app server for each environment, which keeps its threads in the home."""

    adapter = ADAPTER
    models = ("gpt-5.5", "gpt-5.4")
    unknown_session = "01a1df85-0000-7000-8000-000000000000"
    error_codes = {  # noqa: RUF012
        400: "invalid_request_error",
        401: "unauthorized",
        404: "http_connection_failed",
        429: "response_too_many_failed_attempts",
        500: "internal_server_error",
    }

    def environ(self, url: str, home: Path) -> dict[str, str]:
        return configured()(url, home)

    def shell(self, command: str) -> Block:
        return run(command)

    def write(self, path: str, content: str) -> Block:
        return patch(added(path, *content.splitlines()))

    def question(self, id: str, text: str, *options: str) -> Block:
        return question(id, text, *options)

    def ask(self, *questions: Block) -> Block:
        return ask(*questions)

    def model_of(self, body: Any) -> str:
        return str(body["model"])

    def effort_of(self, body: Any) -> Any:
        return body["reasoning"]["effort"]

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        said = [each["content"] for each in body["input"] if each.get("role") == "user"]
        urls = [part["image_url"] for content in said for part in content
                if part["type"] == "input_image"]  # fmt: skip
        return [(url[5:].partition(";")[0], base64.b64decode(url.partition(",")[2]))
                for url in urls]  # fmt: skip

    def unreachable(self, url: str) -> dict[str, Any]:
        return {"environ": configured({"model_providers.scripted.base_url": f"{url}/v1"})}

    def processes(self, live: Live) -> list[int]:
        return servers(live)

    def forget(self, live: Live) -> None:
        for file in live.home.rglob("rollout-*"):
            file.unlink()


CODEX = CodexAgent()
