"""How `conform` makes Codex act, and the messages of Codex that leave no event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.facts import Block, IgnoredMessage, ProbeRecipes

KEY = "SCRIPTED_KEY"
MODEL = "gpt-5.5"
"""It calls its tools one by one; later models write a program that does."""


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a model on loopback, with an empty home."""
    return {"HOME": home, "CODEX_HOME": f"{home}/.codex", KEY: "none"}


def config(url: str, more: Mapping[str, Any] | None = None) -> str:
    """`config.toml` for the model at this URL: only loopback, and retries that end."""
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
        # Codex retries a request silently, and a stream with an `error` notification.
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
    # JSON values are TOML, too, but for objects and null.
    lines = (f"{name} = {msgspec.json.encode(value).decode()}" for name, value in settings.items())
    return "\n".join(lines) + "\n"


def _call(tool: str, namespace: str | None = None, **arguments: Any) -> Block:
    scope = {} if namespace is None else {"namespace": namespace}
    return {"tool": tool, "input": arguments, **scope}


def _write(path: str, text: str) -> Block:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
    return {"custom_tool": "apply_patch", "input": patch}


def _ask(question: str, options: tuple[str, ...]) -> Block:
    choices = [{"label": label, "description": f"It is {label}."} for label in options]
    choice = {"id": "choice", "header": "Choice", "question": question, "options": choices}
    return _call("request_user_input", questions=[choice])


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


# --- Messages that leave no event ---


def _ignore(method: str, why: str) -> IgnoredMessage:
    return IgnoredMessage(where={"method": method}, why=why)


_USER_MESSAGE = {"params.item.type": "userMessage"}

IGNORED = (
    _ignore("turn/started", "the turn begins with the person's message, which follows at once"),
    IgnoredMessage(
        where={"method": "item/completed", **_USER_MESSAGE},
        why="repeats a message that `item/started` has shown",
    ),
    IgnoredMessage(
        where={"method": "item/started", **_USER_MESSAGE},
        why="a message that had to be shown before it was repeated",
    ),
    _ignore("thread/started", "says what the reply to `thread/start` says"),
    _ignore("thread/status/changed", "turns and requests say it"),
    _ignore("thread/readState/changed", "whether a person has read it, which Codex cannot know"),
    _ignore("thread/goal/cleared", "comes with every resume, also where there was no goal"),
    _ignore("thread/goal/updated", "the same goal as before, with what was spent on it"),
    _ignore("thread/archived", "we asked for it"),
    _ignore("thread/closed", "nobody uses the thread at this server any more"),
    _ignore("thread/compacted", "says again what the item `contextCompaction` says"),
    _ignore("thread/tokenUsage/updated", "the same counts as before; the turn's end has them"),
    _ignore("thread/settings/updated", "nothing that is shown changed"),
    _ignore("thread/name/updated", "the same name as before, or none"),
    _ignore("account/rateLimits/updated", "the same limits as before"),
    _ignore("turn/diff/updated", "the same diff as before"),
    _ignore("serverRequest/resolved", "an answer of ours has arrived"),
    _ignore("item/reasoning/summaryPartAdded", "the next delta says it"),
    _ignore("item/fileChange/outputDelta", "what the patch tool prints; the item has the changes"),
    _ignore(
        "item/fileChange/patchUpdated", "a patch that is being written; the item has all of it"
    ),
    _ignore("item/started", "told again for a request that came before it"),
    IgnoredMessage(where={"method": "item/*", "params.delta": ""}, why="an empty piece"),
    IgnoredMessage(
        where={"method": "codex/event/*"}, why="versions up to 0.101 say everything twice"
    ),
    IgnoredMessage(
        where={"result.thread.id": "*"}, why="how the thread works, where it is not new"
    ),
    IgnoredMessage(
        where={"result.data.0.turnId": "*"},
        why="what a thread has, when a message is looked for that may be there",
    ),
    IgnoredMessage(
        where={"result.data": []}, why="a thread that has nothing, when one is looked for there"
    ),
    IgnoredMessage(where={"result.turn.id": "*"}, why="a message was heard; its echo shows it"),
    IgnoredMessage(where={"result.turnId": "*"}, why="a message joins the turn; its echo shows it"),
    IgnoredMessage(
        where={"error.message": "expected active turn id*"},
        why="an interrupt of a turn that goes on under another id; it is sent again for that",
    ),
    IgnoredMessage(where={"error.message": "no active turn*"}, why="the turn was over by then"),
    IgnoredMessage(
        where={"error.message": "no rollout found*"},
        why="a thread that no message has reached; the message goes to a new one",
    ),
    IgnoredMessage(where={"result.terminated": True}, why="a command was ended; its item says so"),
    IgnoredMessage(where={"result.terminated": False}, why="a command was over by then"),
    IgnoredMessage(where={"result": {}}, why="a request was heard"),
)
"""Messages of Codex that leave no event, and why."""
