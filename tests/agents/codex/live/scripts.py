"""What the model is scripted to do, in a word, and the home that its agent lives in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.agents.codex.probes import KEY, config
from tests.agents.live import Environ

Block = dict[str, Any]


def configured(more: Mapping[str, Any] | None = None) -> Environ:
    """Codex's environment, whose `config.toml` says this, too: `{"features.x": True}`."""

    def environ(url: str, home: Path) -> dict[str, str]:
        folder = home / ".codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(config(url, more))
        return {"HOME": str(home), "CODEX_HOME": str(folder), KEY: "sk-fake", "LANG": "C.UTF-8"}

    return environ


def tool(name: str, namespace: str | None = None, **given: Any) -> Block:
    """A call of a tool."""
    named = {} if namespace is None else {"namespace": namespace}
    return {"tool": name, "input": given, **named}


def run(command: str, **given: Any) -> Block:
    """A command."""
    return tool("exec_command", cmd=command, **given)


def escalated(command: str, why: str) -> Block:
    """A command that wants to leave the sandbox."""
    return run(command, sandbox_permissions="require_escalated", justification=why)


def patch(*changes: str) -> Block:
    """A patch: of what `added`, `updated` and `deleted` give."""
    text = "".join(("*** Begin Patch\n", *changes, "*** End Patch\n"))
    return {"custom_tool": "apply_patch", "input": text}


def added(path: str, *lines: str) -> str:
    """A new file, in a patch."""
    return f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in lines)


def updated(path: str, *rows: str, to: str | None = None) -> str:
    """A change of a file, in a patch: rows that begin with a blank, `-` or `+`; maybe moved."""
    moved = "" if to is None else f"*** Move to: {to}\n"
    return f"*** Update File: {path}\n{moved}@@\n" + "".join(f"{row}\n" for row in rows)


def deleted(path: str) -> str:
    """A file that goes, in a patch."""
    return f"*** Delete File: {path}\n"


def view(path: str) -> Block:
    """A look at an image."""
    return tool("view_image", path=path)


def question(id: str, text: str, *options: str, **about: Any) -> dict[str, Any]:
    """A question, with options or without."""
    choices = [{"label": option, "description": f"It is {option}."} for option in options]
    return {"id": id, "header": id.title(), "question": text, "options": choices, **about}


def ask(*questions: dict[str, Any]) -> Block:
    """Questions to the person."""
    return tool("request_user_input", questions=list(questions))


def spawn(task: str, name: str = "helper") -> Block:
    """A subagent, which works beside the turn until somebody waits for it."""
    return tool("spawn_agent", "collaboration", task_name=name, message=task)


def wait() -> Block:
    """Wait for a subagent."""
    return tool("wait_agent", "collaboration")


def spawn_v1(task: str) -> Block:
    """A subagent of the older kind, with `{"features.multi_agent_v2": False}`."""
    return tool("spawn_agent", "multi_agent_v1", message=task)


def mcp(server: str, name: str, **given: Any) -> Block:
    """A call of an MCP server's tool."""
    return tool(name, f"mcp__{server}", **given)


def plan(*steps: tuple[str, str]) -> Block:
    """A plan's steps, each with its status: `pending`, `in_progress` or `completed`."""
    return tool("update_plan", plan=[{"step": step, "status": status} for step, status in steps])


def proposed(text: str) -> str:
    """What a model says in plan mode to hand in a plan."""
    return f"<proposed_plan>\n{text}\n</proposed_plan>\n"
