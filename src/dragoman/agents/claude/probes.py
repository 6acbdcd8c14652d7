"""How `dragoman conform` makes Claude Code act, and which of its messages leave no event."""

from __future__ import annotations

import re

from dragoman.facts import Block, IgnoredMessage, ProbeRecipes

# --- Probes: the tools that a scripted model calls ---

_PLAN_FILE = re.compile(r"[^\s\"'`\\]+/plans/[^\s\"'`\\]+\.md")


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a model on loopback, with an empty home."""
    return {
        "HOME": home,
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def _call(tool: str, **arguments: object) -> Block:
    return {"tool": tool, "input": arguments}


def _ask(question: str, options: tuple[str, ...]) -> Block:
    choices = [{"label": label, "description": f"It is {label}."} for label in options]
    fields = {"question": question, "header": "Choice", "options": choices, "multiSelect": False}
    return _call("AskUserQuestion", questions=[fields])


def _plan(plan: str, request: str) -> tuple[Block, ...]:
    """Write the plan's file, which the request names, and ask to carry it out."""
    file = _PLAN_FILE.search(request)
    exit = _call("ExitPlanMode")
    return (exit,) if file is None else (_write(file[0], plan), exit)


def _write(path: str, text: str) -> Block:
    return _call("Write", file_path=path, content=text)


PROBE_RECIPES = ProbeRecipes(
    environ=environ,
    run=lambda command: _call("Bash", command=command, description="Run a command"),
    write=_write,
    look=lambda path: _call("Read", file_path=path),
    ask=_ask,
    delegate=lambda task: _call(
        "Agent",
        description="Help out",
        prompt=task,
        subagent_type="general-purpose",
        run_in_background=False,
    ),
    mcp=lambda server, tool, arguments: _call(f"mcp__{server}__{tool}", **arguments),
    plan=_plan,
    variant="output_config.effort",
)
"""What `dragoman conform` does with Claude Code."""


# --- Messages that leave no event ---

IGNORED = (
    IgnoredMessage(
        where={"type": "stream_event", "event.type": "message_start"},
        why="The message's item starts with its first text or tool; thoughts come before it.",
    ),
    IgnoredMessage(
        where={"type": "stream_event", "event.type": "message_stop"},
        why="Completes a message's item; one that was only thought has none.",
    ),
    IgnoredMessage(
        where={"type": "stream_event", "event.type": "content_block_stop"},
        why="The block's own `assistant` line came before it and completed the item.",
    ),
    IgnoredMessage(
        where={"type": "stream_event", "event.type": "message_delta"},
        why="Its stop reason stands on the message, its counts in the turn's usage and context.",
    ),
    IgnoredMessage(
        where={"type": "stream_event", "event.delta.type": "signature_delta"},
        why="The vendor's seal on a thought; nobody can read it.",
    ),
    IgnoredMessage(
        where={"type": "stream_event", "event.delta.type": "citations_delta"},
        why="The block's own `assistant` line repeats it.",
    ),
    IgnoredMessage(
        where={"type": "stream_event", "event.delta.partial_json": ""},
        why="An empty piece.",
    ),
    IgnoredMessage(where={"type": "stream_event", "event.delta.text": ""}, why="An empty piece."),
    IgnoredMessage(
        where={"type": "stream_event", "event.delta.thinking": ""}, why="An empty piece."
    ),
    IgnoredMessage(
        where={"type": "stream_event", "event.content_block.type": "text"},
        why="A text is a part of its message, which starts with the text's first piece.",
    ),
    IgnoredMessage(
        where={"type": "assistant", "message.content.0.type": "text"},
        why="Repeats a text whose pieces were shown; the message's completion has the whole.",
    ),
    IgnoredMessage(
        where={"type": "user", "isReplay": True},
        why="Repeats a person's message that had to be shown before.",
    ),
    IgnoredMessage(
        where={"type": "command_lifecycle"},
        why="What becomes of a message shows in its item and its turn.",
    ),
    IgnoredMessage(
        where={"type": "control_response"},
        why="Repeats our own answer, or says yes to a request of ours whose effect is shown.",
    ),
    IgnoredMessage(
        where={"type": "control_cancel_request"},
        why="Repeats a withdrawal that our own interrupt has made.",
    ),
    IgnoredMessage(
        where={"type": "system", "subtype": "init"},
        why="Repeats the model and the mode with every turn; a change of them is shown.",
    ),
    IgnoredMessage(
        where={"type": "system", "subtype": "status", "status": "requesting"},
        why="The model is asked: the running turn says as much.",
    ),
    IgnoredMessage(
        where={"type": "system", "subtype": "status", "status": None},
        why="Repeats a mode that was asked for, and shown then; another one is shown.",
    ),
    IgnoredMessage(
        where={"type": "system", "subtype": "thinking_tokens"},
        why="An estimate of what streams; the turn's usage counts it.",
    ),
    IgnoredMessage(
        where={"type": "system", "subtype": "background_tasks_changed"},
        why="Lists what task_started and task_notification tell one by one.",
    ),
    IgnoredMessage(
        where={"type": "system", "subtype": "session_state_changed"},
        why="Idle, running or waiting: turns and requests say it.",
    ),
    IgnoredMessage(where={"type": "rate_limit_event"}, why="The same limits as before."),
    IgnoredMessage(where={"type": "stream_event", "event.type": "ping"}, why="Nothing."),
    IgnoredMessage(where={"type": "keep_alive"}, why="Nothing."),
    IgnoredMessage(where={"type": "tool_progress"}, why="A tool still runs: its item is open."),
)
"""What leaves no event, and why. Reviewed, and short."""
