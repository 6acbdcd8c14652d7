"""How `conform` makes OpenCode act, and the events of OpenCode that leave no event of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.facts import Block, IgnoredMessage, ProbeRecipes

MODEL = "scripted/scripted-1"
SMALL = "scripted/scripted-2"
_OFF = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE", "CLAUDE_CODE",
        "EXTERNAL_SKILLS")  # fmt: skip


_MODELS = "models.json"
_VARIANTS = ("low", "medium", "high")


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a model on loopback, with an empty home."""
    return {
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "OPENCODE_CONFIG_CONTENT": config(url),
        # It would first list all the models that it has heard of: 2 s and 200 MB (1.18.33).
        "OPENCODE_MODELS_PATH": f"{home}/{_MODELS}",
        **{f"OPENCODE_DISABLE_{name}": "1" for name in _OFF},
    }


def files(url: str) -> dict[str, str]:
    """What that home holds: no models but those of the configuration."""
    return {_MODELS: "{}"}


def config(url: str, more: Mapping[str, Any] | None = None) -> str:
    """`opencode.json` for the model at this URL: only loopback."""
    model = {
        "reasoning": True,
        "tool_call": True,
        "attachment": True,
        "limit": {"context": 200_000, "output": 8_000},
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "variants": {name: {"reasoningEffort": name} for name in _VARIANTS},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {
            "scripted-1": {"name": "Scripted One", **model},
            "scripted-2": {"name": "Scripted Two", **model},
        },
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": MODEL,
        "small_model": SMALL,
        "enabled_providers": ["scripted"],
        "provider": {"scripted": provider},
        **(more or {}),
    }
    return msgspec.json.encode(settings).decode()


def _call(tool: str, **arguments: Any) -> Block:
    return {"tool": tool, "input": arguments}


def run(command: str) -> Block:
    """A shell command."""
    return _call("bash", command=command, description="Runs a command")


def write(path: str, text: str) -> Block:
    """A file, all of it."""
    return _call("write", filePath=path, content=text)


def ask(question: str, options: tuple[str, ...]) -> Block:
    """A question to the person."""
    choices = [{"label": label, "description": f"It is {label}."} for label in options]
    return _call(
        "question", questions=[{"question": question, "header": "Choice", "options": choices}]
    )


def delegate(task: str) -> Block:
    """A task for a subagent."""
    return _call("task", description="Help", prompt=task, subagent_type="general")


def plan(text: str, request: str) -> tuple[Block, ...]:
    """A list of what is to be done: OpenCode's plan agent only writes its plan as an answer."""
    return (_call("todowrite", todos=[{"content": text, "status": "pending", "priority": "low"}]),)


PROBE_RECIPES = ProbeRecipes(
    environ=environ,
    files=files,
    run=run,
    write=write,
    look=lambda path: _call("read", filePath=path),
    ask=ask,
    delegate=delegate,
    mcp=lambda server, tool, arguments: _call(f"{server}_{tool}", **arguments),
    plan=plan,
    variant="reasoning_effort",
    variants=_VARIANTS,
)
"""What `dragoman conform` does with OpenCode."""


# --- Events that leave no event ---

_TYPE = "payload.type"
_PART = {_TYPE: "message.part.updated"}
_PART_TYPE = "payload.properties.part.type"


def _ignore(type: str, why: str, **where: Any) -> IgnoredMessage:
    return IgnoredMessage(where={_TYPE: type, **where}, why=why)


def _ignore_part(type: str, why: str) -> IgnoredMessage:
    return IgnoredMessage(where={**_PART, _PART_TYPE: type}, why=why)


IGNORED = (
    _ignore("sync", "says again what a durable event has said"),
    _ignore("server.*", "the stream lives"),
    _ignore("session.status", "turns, retries and subagents say it"),
    _ignore("session.idle", "said again of a turn that has ended"),
    _ignore("session.created", "the session that we asked for; its id is in the reply"),
    _ignore("session.updated", "nothing that is shown changed"),
    _ignore("session.next.agent.switched", "1.15.13: each message names its agent"),
    _ignore("session.next.model.switched", "1.15.13: each message names its model"),
    _ignore("session.diff", "the results of tools have the changes"),
    _ignore("session.error", "said again, or that a person stopped the turn"),
    _ignore("message.updated", "a message begins, or nothing that is shown changed"),
    _ignore("message.part.updated", "a text that was streamed, or nothing new"),
    _ignore("message.part.delta", "a piece of a message that is over, or an empty one"),
    _ignore("permission.asked", "held until its tool call is complete, which then shows it"),
    _ignore("permission.replied", "an answer of ours has arrived"),
    _ignore("question.replied", "an answer of ours has arrived"),
    _ignore("question.rejected", "an answer of ours has arrived"),
    _ignore("todo.updated", "the same list as before"),
    _ignore("file.*", "the results of tools name the files"),
    _ignore("lsp.*", "about the project, not about the session"),
    _ignore("vcs.*", "about the project, not about the session"),
    _ignore("project.*", "about the project, not about the session"),
    _ignore("mcp.*", "about the server, not about the session"),
    _ignore("plugin.*", "about the server, not about the session"),
    _ignore("catalog.*", "about the server, not about the session"),
    _ignore("reference.*", "about the server, not about the session"),
    _ignore("integration.*", "about the server, not about the session"),
    _ignore("installation.*", "about the server, not about the session"),
    IgnoredMessage(
        where={"id": "dragoman-*", "status": 200}, why="a call was heard, or says nothing new"
    ),
    IgnoredMessage(where={"id": "dragoman-*", "status": 204}, why="a call was heard"),
    IgnoredMessage(
        where={"id": "dragoman-*", "status": 404},
        why="an answer to a request that nobody waits for any more",
    ),
)
"""Events of OpenCode that leave no event, and why."""
