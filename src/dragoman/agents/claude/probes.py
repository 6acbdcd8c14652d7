"""How probes make Claude Code act: the tools that its model calls."""

from __future__ import annotations

import re

from dragoman.facts import Block, ProbeRecipes

_PLAN_FILE = re.compile(r"[^\s\"'`\\]+/plans/[^\s\"'`\\]+\.md")


def environ(url: str, home: str) -> dict[str, str]:
    """The environment for a model on loopback, with a home that knows nobody."""
    return {
        "HOME": home,
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def _call(tool: str, **given: object) -> Block:
    return {"tool": tool, "input": given}


def _ask(question: str, options: tuple[str, ...]) -> Block:
    choices = [{"label": label, "description": f"It is {label}."} for label in options]
    asked = {"question": question, "header": "Choice", "options": choices, "multiSelect": False}
    return _call("AskUserQuestion", questions=[asked])


def _plan(plan: str, request: str) -> tuple[Block, ...]:
    """Write the plan's file, which the request names, and ask for leave to carry it out."""
    named = _PLAN_FILE.search(request)
    leave = _call("ExitPlanMode")
    return (leave,) if named is None else (_write(named[0], plan), leave)


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
