"""How `dragoman conform` makes Grok act, and which of its messages leave no event."""

from __future__ import annotations

import re
import shlex
from typing import Any

from dragoman.dialects.acp.ignored import IGNORED as ACP_IGNORED
from dragoman.facts import Block, IgnoredMessage, ProbeRecipes

MODELS = ("scripted", "other")


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a model on loopback, with an empty home."""
    return {
        "HOME": home,
        "GROK_HOME": f"{home}/.grok",
        "XAI_API_KEY": "scripted-key",
        "GROK_XAI_API_BASE_URL": f"{url}/v1",
        "GROK_CLI_CHAT_PROXY_BASE_URL": f"{url}/v1",
        "GROK_TELEMETRY_ENABLED": "0",
        # Once more after an error, and not fifteen times.
        "GROK_MAX_RETRIES": "2",
        "GROK_TURN_TRANSIENT_RETRY": "0",
    }


def files(url: str) -> dict[str, str]:
    """Grok's configuration: two models at this URL."""
    tables = (
        f'[model.{name}]\nmodel = "{name}"\nbase_url = "{url}/v1"\nenv_key = "XAI_API_KEY"\n'
        "context_window = 200000\nsupports_reasoning_effort = true\n"
        for name in MODELS
    )
    return {".grok/config.toml": "\n".join((f'[models]\ndefault = "{MODELS[0]}"\n', *tables))}


def _call(tool: str, **arguments: Any) -> Block:
    return {"tool": tool, "input": arguments}


def _ask(question: str, options: tuple[str, ...]) -> Block:
    choices = [{"label": label, "description": f"It is {label}."} for label in options]
    asked = {"question": question, "options": choices, "multiSelect": False}
    return _call("ask_user_question", questions=[asked])


def _plan(text: str, request: str) -> tuple[Block, ...]:
    """The plan is a file, which Grok names to the model in plan mode."""
    path = re.search(r"(/[^\s\"\\]+/plan\.md)", request)
    write = _call("write", file_path=path[1] if path else "plan.md", content=text)
    return write, _call("exit_plan_mode")


PROBE_RECIPES = ProbeRecipes(
    environ=environ,
    files=files,
    # It holds some commands to be harmless, `touch` among them, and asks for none of these.
    run=lambda command: _call(
        "run_terminal_command", command=f"sh -c {shlex.quote(command)}", description="Runs it"
    ),
    write=lambda path, text: _call("write", file_path=path, content=text),
    look=lambda path: _call("read_file", target_file=path),
    ask=_ask,
    delegate=lambda task: _call(
        "spawn_subagent", prompt=task, description="Help", run_in_background=False
    ),
    mcp=lambda server, tool, arguments: _call(
        "use_tool", tool_name=f"{server}__{tool}", tool_input=arguments
    ),
    plan=_plan,
    # Titles, also those of subagents, and the line for its dashboard after a turn.
    side=("session_title", "<system-reminder>Write an ultra-short dashboard line"),
    variant="reasoning_effort",
    variants=("low", "high"),
)
"""What `dragoman conform` does with Grok."""


# --- Messages that leave no event ---


def _method(method: str, why: str) -> IgnoredMessage:
    return IgnoredMessage(where={"method": method}, why=why)


def _update(kind: str, why: str) -> IgnoredMessage:
    where = {"method": "_x.ai/session_notification", "params.update.sessionUpdate": kind}
    return IgnoredMessage(where=where, why=why)


IGNORED = (
    *ACP_IGNORED,
    _update("background_tasks", "Lists commands in the background; the end of each is shown."),
    _update("interaction_resolved", "The answer to a request was heard."),
    _update("model_changed", "The session's options say it too."),
    _update("pending_interaction", "The request that follows shows it, if a person is asked."),
    _update("response_completed", "The turn's end tells all tokens."),
    _update("response_started", "The model is asked: its answer shows it."),
    _update("retry_state", "The last retry failed, which the turn's end tells."),
    _update("session_summary_generated", "The session's title, which is told beside it."),
    _update("subagent_*", "Numbers, or said again of a subagent that has ended."),
    _update("tool_call_delta_chunk", "An empty piece, or of a call that is complete."),
    _update("turn_completed", "The reply to the message ends its turn; a subagent's end is told."),
    _method("_x.ai/task_backgrounded", "The call's result says it."),
    _method("_x.ai/session/setup", "A step on the way to a session."),
    _method("_x.ai/session/update", "A repetition when a session is loaded."),
    _method("_x.ai/session/prompt_complete", "The reply to the message says it."),
    _method("_x.ai/sessions/*", "The list of its sessions, for its own dashboard."),
    _method("_x.ai/queue/*", "Its queue: it has the message that was sent."),
    _method("_x.ai/mcp/*", "An MCP server is there, or on its way; one that is not is shown."),
    _method("_x.ai/mcp_initialized", "All MCP servers are there."),
    _method("_x.ai/models/*", "About the process, not about the session."),
    _method("_x.ai/settings/*", "About the process, not about the session."),
    _method("_x.ai/announcements/*", "About the process, not about the session."),
    _method("_x.ai/fs*", "The results of tools name the files."),
    _method("_x.ai/git*", "About the project, not about the session."),
)
"""What leaves no event, and why. Reviewed, and short."""
