"""The real Claude Code, as the scenarios of all agents need it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from dragoman.agents.claude import ADAPTER
from tests.agents.claude.live.scripts import bash, tool
from tests.agents.live import Block, Live, LiveAgent
from tests.cases.common import eventually


class ClaudeAgent(LiveAgent):
    """One process for each session, which keeps its conversation in the home."""

    adapter = ADAPTER
    models = ("opus", "sonnet")
    unknown_session = "11111111-2222-4333-8444-555555555555"
    error_codes = {  # noqa: RUF012
        400: "invalid_request_error",
        401: "authentication_error",
        404: "not_found_error",
        429: "rate_limit_error",
        500: "api_error",
        529: "overloaded_error",
    }

    def environ(self, url: str, home: Path) -> dict[str, str]:
        return {
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-ant-fake",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "LANG": "C.UTF-8",
        }

    def shell(self, command: str) -> Block:
        return bash(command)

    def write(self, path: str, content: str) -> Block:
        return tool("Write", file_path=path, content=content)

    def question(self, id: str, text: str, *options: str) -> Block:
        choices = [{"label": option, "description": f"It is {option}."} for option in options]
        header = id.title()
        return {"question": text, "header": header, "options": choices, "multiSelect": False}

    def ask(self, *questions: Block) -> Block:
        return tool("AskUserQuestion", questions=list(questions))

    def model_of(self, body: Any) -> str:
        return next(name for name in self.models if name in body["model"])

    def effort_of(self, body: Any) -> Any:
        return body["output_config"]["effort"]

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        said = [each["content"] for each in body["messages"] if each["role"] == "user"]
        blocks = [block for content in said if isinstance(content, list) for block in content]
        sources = [block["source"] for block in blocks if block["type"] == "image"]
        return [(each["media_type"], base64.b64decode(each["data"])) for each in sources]

    def wait_until_kept(self, live: Live) -> None:
        eventually(lambda: bool(_conversations(live)), "the conversation is written down")

    def forget(self, live: Live) -> None:
        for file in _conversations(live):
            file.unlink()


def _conversations(live: Live) -> list[Path]:
    return [*live.home.glob(".claude/projects/*/*.jsonl")]


CLAUDE = ClaudeAgent()
