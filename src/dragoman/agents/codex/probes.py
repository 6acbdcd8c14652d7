"""How probes make Codex act: the tools that its model calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.facts import Block, ProbeRecipes

KEY = "SCRIPTED_KEY"
MODEL = "gpt-5.5"
"""It calls its tools one by one; later ones write a program that does."""


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a model on loopback, with a home that knows nobody."""
    return {"HOME": home, "CODEX_HOME": f"{home}/.codex", KEY: "none"}


def config(url: str, more: Mapping[str, Any] | None = None) -> str:
    """`config.toml` for the model at this URL: nothing but loopback, and failures that end."""
    provider = "model_providers.scripted"
    settings = {
        "model": MODEL,
        "model_provider": "scripted",
        f"{provider}.name": "Scripted",
        f"{provider}.base_url": f"{url}/v1",
        f"{provider}.wire_api": "responses",
        f"{provider}.env_key": KEY,
        f"{provider}.requires_openai_auth": False,
        f"{provider}.supports_websockets": False,
        # A request is repeated without a word, a stream with one.
        f"{provider}.request_max_retries": 0,
        f"{provider}.stream_max_retries": 1,
        "check_for_update_on_startup": False,
        "analytics.enabled": False,
        "features.plugins": False,
        "features.unbounded_connection_retries": False,
        "features.default_mode_request_user_input": True,
        "features.multi_agent_v2": True,
        "tools.update_plan.enabled": True,
        **(more or {}),
    }
    # What is JSON, is TOML too, but for objects and null.
    lines = (f"{name} = {msgspec.json.encode(value).decode()}" for name, value in settings.items())
    return "\n".join(lines) + "\n"


def _call(tool: str, namespace: str | None = None, **given: Any) -> Block:
    named = {} if namespace is None else {"namespace": namespace}
    return {"tool": tool, "input": given, **named}


def _write(path: str, text: str) -> Block:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
    return {"custom_tool": "apply_patch", "input": patch}


def _ask(question: str, options: tuple[str, ...]) -> Block:
    choices = [{"label": label, "description": f"It is {label}."} for label in options]
    asked = {"id": "choice", "header": "Choice", "question": question, "options": choices}
    return _call("request_user_input", questions=[asked])


def _delegate(task: str) -> tuple[Block, ...]:
    agents = "collaboration"
    return (
        _call("spawn_agent", agents, task_name="help", message=task),
        _call("wait_agent", agents),
    )


PROBE_RECIPES = ProbeRecipes(
    environ=environ,
    files=lambda url: {".codex/config.toml": config(url)},
    run=lambda command: _call("exec_command", cmd=command),
    write=_write,
    look=lambda path: _call("view_image", path=path),
    ask=_ask,
    delegate=_delegate,
    mcp=lambda server, tool, arguments: _call(tool, f"mcp__{server}", **arguments),
    plan=lambda plan, request: ({"text": f"<proposed_plan>\n{plan}\n</proposed_plan>\n"},),
    variant="reasoning.effort",
)
"""What `dragoman conform` does with Codex."""
