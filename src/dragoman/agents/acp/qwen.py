"""What Qwen Code adds to ACP: questions in the place of permissions; and how probes make it act."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from dragoman.dialects.acp.native import Envelope, PermissionParams
from dragoman.dialects.acp.profile import NoExtension, SessionAccess
from dragoman.facts import Block, IgnoredMessage, ProbeRecipes
from dragoman.schema.events import Question, QuestionOption
from dragoman.schema.http import ModeInfo
from dragoman.steps import Respond, Step
from dragoman.wire.jsonrpc import METHOD_NOT_FOUND, RpcError

MODES = (
    ModeInfo(id="default", name="Default", description="Asks before edits and shell commands."),
    ModeInfo(id="plan", name="Plan", description="Changes nothing, and hands in a plan."),
    ModeInfo(id="auto-edit", name="Auto Edit", description="Edits files without asking."),
    ModeInfo(id="auto", name="Auto", description="A model decides what needs no asking."),
    ModeInfo(id="yolo", name="YOLO", description="Asks for nothing."),
)
"""Left alone it begins with `auto` (0.24.4), in which it asks its model, and not people."""
_DRAIN = "craft/drainMidTurnQueue"
_REPEATS = ("qwen/notify/session/mode-update", "qwen/notify/session/model-update")


class _Option(Struct, frozen=True):
    label: str
    description: str | None = None


class _Question(Struct, frozen=True, rename="camel"):
    question: str
    header: str | None = None
    options: tuple[_Option, ...] = ()
    multi_select: bool = False


class QwenExtension(NoExtension):
    """Qwen Code's own words (0.24.4)."""

    def receive(self, message: Envelope, session: SessionAccess) -> Iterator[Step] | None:
        """It asks for messages that came meanwhile; told once that nobody knows of any, it asks no
        more. Those wait in our queue, where they can be taken back."""
        if message.method in _REPEATS:
            return iter(())
        if message.method != _DRAIN or message.key is None:
            return None
        error = RpcError(code=METHOD_NOT_FOUND, message=f"{_DRAIN} is not offered here")
        return iter((Respond(key=message.key, error=error),))

    def questions(self, params: PermissionParams) -> tuple[Question, ...]:
        """The questions in a request for permission."""
        meta = params.tool_call.meta
        asked = meta.get("qwenQuestions") if isinstance(meta, dict) else None
        if not asked:
            return ()
        return tuple(map(_question, msgspec.convert(asked, tuple[_Question, ...])))

    def answers(self, answers: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
        """By the number of the question."""
        told = {str(number): ", ".join(each) for number, each in enumerate(answers) if each}
        return {"answers": told}


def _question(asked: _Question) -> Question:
    return Question(
        prompt=asked.question,
        header=asked.header or UNSET,
        options=tuple(
            QuestionOption(label=each.label, description=each.description) for each in asked.options
        ),
        multi_select=asked.multi_select,
    )


IGNORED = (
    IgnoredMessage(where={"method": _DRAIN}, why="asks for messages that wait in our queue"),
    *(IgnoredMessage(where={"method": each}, why="repeats a setting") for each in _REPEATS),
)
"""Messages that leave no event, beside those of the protocol."""


# --- Probes ---

MODELS = ("scripted-1(openai)", "scripted-2(openai)")


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a model on loopback, with an empty home."""
    return {"HOME": home, "OPENAI_API_KEY": "none", "QWEN_CODE_NO_RELAUNCH": "1"}


def files(url: str) -> dict[str, str]:
    """Its settings: two models at this URL, few retries, and no requests beside a conversation."""
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"name": "scripted-1"},
        "modelProviders": {"openai": [_model(url, "One", 1), _model(url, "Two", 2)]},
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        "tools": {"todoWrite": {"enabled": True}},
        "ui": {"enableFollowupSuggestions": False},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    return {".qwen/settings.json": msgspec.json.encode(settings).decode()}


def _model(url: str, name: str, number: int) -> dict[str, Any]:
    return {
        "id": f"scripted-{number}",
        "name": name,
        "envKey": "OPENAI_API_KEY",
        "baseUrl": f"{url}/v1",
        "generationConfig": {
            "contextWindowSize": 200_000,
            "maxRetries": 1,
            "retryInitialDelayMs": 10,
            "modalities": {"image": True},
        },
    }


def _call(tool: str, **arguments: Any) -> Block:
    return {"tool": tool, "input": arguments}


def run(command: str) -> Block:
    """A shell command."""
    return _call("run_shell_command", command=command, is_background=False)


def write(path: str, text: str) -> Block:
    """A file, all of it."""
    return _call("write_file", file_path=path, content=text)


def ask(question: str, options: tuple[str, ...]) -> Block:
    """A question to the person."""
    choices = [{"label": label, "description": f"It is {label}."} for label in options]
    asked = {"question": question, "header": "Choice", "options": choices, "multiSelect": False}
    return _call("ask_user_question", questions=[asked])


PROBE_RECIPES = ProbeRecipes(
    environ=environ,
    files=files,
    run=run,
    write=write,
    look=lambda path: _call("read_file", file_path=path),
    ask=ask,
    mcp=lambda server, tool, arguments: _call(f"mcp__{server}__{tool}", **arguments),
    # A classifier of commands, and what it writes of itself.
    side=("respond_in_schema", "[SUGGESTION MODE:"),
    variant="reasoning.effort",
    variants=("low", "high"),
)
"""What `dragoman conform` does with Qwen Code."""
