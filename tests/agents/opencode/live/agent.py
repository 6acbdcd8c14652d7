"""The real OpenCode, as the scenarios of all agents need it."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any

from dragoman.agents.opencode import ADAPTER, probes
from tests.agents.live import Block, Live, LiveAgent
from tests.testing.story import lives


def servers(live: Live) -> list[int]:
    """The servers of the session's environment, which others may use as well."""
    mark = f"XDG_DATA_HOME={live.home}/.local/share".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        agent = b"serve" in words and b"record" not in words
        if mark in environ and agent and lives(int(entry.name)):
            found.append(int(entry.name))
    return found


def question(id: str, text: str, *options: str) -> Block:
    """A question, for `ask`."""
    choices = [{"label": label, "description": f"It is {label}."} for label in options]
    return {"question": text, "header": id.capitalize(), "options": choices}


class OpenCodeAgent(LiveAgent):
    """One server for each environment, which keeps its sessions in the home.

    A start takes seconds, so scenarios share one: each has its model's URL in its own folder.
    """

    adapter = ADAPTER
    shares_process = True
    models = (probes.MODEL, probes.SMALL)
    unknown_session = "ses_000000000000ffeUnknownXXXX"
    error_codes = {  # noqa: RUF012
        400: "invalid_request",
        401: "unauthorized",
        404: "not_found",
        429: "retries_exhausted",
        500: "retries_exhausted",
    }

    def environ(self, url: str, home: Path) -> dict[str, str]:
        for path, content in probes.files(url).items():
            (home / path).write_text(content)
        return probes.environ(url, str(home))

    def shared_environ(self, folder: Path, url: str, home: Path) -> dict[str, str]:
        (folder / "opencode.json").write_text(probes.config(url))
        env = self.environ(url, home)
        del env["OPENCODE_CONFIG_CONTENT"]
        return env

    def shell(self, command: str) -> Block:
        return dict(probes.run(command))

    def write(self, path: str, content: str) -> Block:
        return dict(probes.write(path, content))

    def question(self, id: str, text: str, *options: str) -> Block:
        return question(id, text, *options)

    def ask(self, *questions: Block) -> Block:
        return {"tool": "question", "input": {"questions": list(questions)}}

    def model_of(self, body: Any) -> str:
        return f"scripted/{body['model']}"

    def effort_of(self, body: Any) -> Any:
        return body["reasoning_effort"]

    def images_of(self, body: Any) -> list[tuple[str, bytes]]:
        said = [each["content"] for each in body["messages"] if each["role"] == "user"]
        urls = [part["image_url"]["url"] for content in said if isinstance(content, list)
                for part in content if part["type"] == "image_url"]  # fmt: skip
        return [(url[5:].partition(";")[0], base64.b64decode(url.partition(",")[2]))
                for url in urls]  # fmt: skip

    def processes(self, live: Live) -> list[int]:
        return servers(live)

    def forget(self, live: Live) -> None:
        shutil.rmtree(live.home / ".local" / "share" / "opencode")


OPENCODE = OpenCodeAgent()
