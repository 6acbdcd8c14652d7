"""One turn with a permission for each known agent that is too large for CI, where it is installed.

`dragoman agents install <id> --cache .agents` installs one, and `DRAGOMAN_<ID>_COMMAND` names
another program.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.agents.acp_agents import known_adapter
from tests.agents.live import Bench, Block, LiveAgent, calls, command, variable_of
from tests.agents.results import results
from tests.agents.watch import ended, heard
from tests.daemon import running
from tests.testing.story import of_type, outcome, said

Files = Mapping[str, str]


class OtherAgent(LiveAgent):
    """An agent of which only a turn is tried."""

    def __init__(
        self,
        id: str,
        env: Callable[[str, str], dict[str, str]],
        tool: str = "bash",
        files: Callable[[str], Files] = lambda url: {},
        command: str = "command",
        **arguments: Any,
    ) -> None:
        self.adapter = known_adapter(id)
        self._env = env
        self._tool = tool
        self._files = files
        self._command = command
        self._arguments = arguments

    def environ(self, url: str, home: Path) -> dict[str, str]:
        for name, text in self._files(url).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        return {"HOME": str(home), **self._env(url, str(home))}

    def shell(self, command: str) -> Block:
        return {"tool": self._tool, "input": {self._command: command, **self._arguments}}

    def write(self, path: str, content: str) -> Block:
        raise NotImplementedError

    def model_of(self, body: Any) -> str:
        return str(body["model"])


def goose(url: str, home: str) -> dict[str, str]:
    return {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "gpt-4o",
        "OPENAI_HOST": url,
        "OPENAI_API_KEY": "none",
        "GOOSE_DISABLE_KEYRING": "1",
        "XDG_CONFIG_HOME": f"{home}/.config",
    }


def kimi(url: str, home: str) -> dict[str, str]:
    return {
        "KIMI_MODEL_NAME": "scripted",
        "KIMI_MODEL_API_KEY": "none",
        "KIMI_MODEL_PROVIDER_TYPE": "openai",
        "KIMI_MODEL_BASE_URL": f"{url}/v1",
        "KIMI_CODE_NO_AUTO_UPDATE": "1",
    }


def copilot(url: str, home: str) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "scripted",
        "COPILOT_AUTO_UPDATE": "false",
    }


def codex(url: str, home: str) -> dict[str, str]:
    return {"CODEX_HOME": f"{home}/.codex", "OPENAI_API_KEY": "none"}


def codex_files(url: str) -> Files:
    lines = [
        'model = "gpt-5"',
        'model_provider = "scripted"',
        'approval_policy = "on-request"',
        'sandbox_mode = "read-only"',
        'cli_auth_credentials_store = "file"',
        "[model_providers.scripted]",
        'name = "Scripted"',
        f"base_url = {json.dumps(f'{url}/v1')}",
        'wire_api = "responses"',
        'env_key = "OPENAI_API_KEY"',
    ]
    return {".codex/config.toml": "\n".join(lines)}


def claude(url: str, home: str) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


OTHERS = (
    OtherAgent("claude-acp", claude, "Bash", description="Makes a file"),
    OtherAgent(
        "codex-acp",
        codex,
        "exec_command",
        files=codex_files,
        command="cmd",
        sandbox_permissions="require_escalated",
        justification="It writes.",
    ),
    OtherAgent("copilot", copilot, "bash", description="Makes a file"),
    OtherAgent("goose", goose, "shell"),
    OtherAgent("kimi", kimi, "Bash"),
)


@pytest.fixture(params=OTHERS, ids=lambda each: each.adapter.id)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """A bench with one of them."""
    agent: OtherAgent = request.param
    words = " ".join(command(agent.adapter))
    with ExitStack() as stack:
        env = {variable_of(agent.adapter): words}
        daemon = stack.enter_context(running(tmp_path / "data", env=env))
        yield Bench(agent, daemon, tmp_path, stack, shares=False)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_turn_with_a_permission(bench: Bench) -> None:
    make = calls(bench.agent.shell("touch made.txt"), text="I make it.")
    live = bench.session(make, "It is made.")
    live.send("Make a file")
    request = live.until("permission.requested")
    assert "touch made.txt" in str(request["data"]["metadata"])
    assert not (live.workspace / "made.txt").exists()
    live.reply(request, "once")
    heard(live, ended())
    events = live.conforms()
    assert outcome(events) == "completed"
    assert said(events)[-2:] == ["I make it.", "It is made."]
    assert [each["status"] for each in results(events)] == ["completed"]
    assert (live.workspace / "made.txt").exists()
    assert of_type(events, "agent.unparsed") == []
