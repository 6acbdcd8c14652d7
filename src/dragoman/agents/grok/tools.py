"""Tool calls as Grok tells them, in the protocol's terms."""

from __future__ import annotations

from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from dragoman.agents.grok.diffs import with_diff
from dragoman.dialects.acp import native

SPAWN = "spawn_subagent"
_MCP = "use_tool"
"""By this tool the model calls those of MCP servers."""
_TEXTS = ("tool_output_for_prompt", "summary_for_prompt", "message", "text", "summary", "content")
"""Where its results hold what the model is told, the best first."""


class ToolUpdates:
    """Reads updates of tool calls. Grok tells the arguments of a call twice: as the model wrote
    them, and as it read them."""

    def __init__(self) -> None:
        self._named: dict[str, str] = {}
        """The tools of calls without a result, by the calls' ids."""
        self._spawns: dict[str, str] = {}
        """Calls that start subagents without a session so far → their descriptions."""

    def read(self, update: native.ToolUpdate) -> native.ToolUpdate:
        """What is told of a call."""
        call_id, given = update.tool_call_id, update.raw_input
        is_known = call_id in self._named
        if (name := _name(update)) is not None:
            self._named.setdefault(call_id, name)
            if name == SPAWN and isinstance(given, dict):
                self._spawns.setdefault(call_id, str(given.get("description") or ""))
        return replace(
            update,
            meta={"toolName": self._named.get(call_id)},
            raw_input=None if is_known else _arguments(given),
            raw_output=_result(update.raw_output),
            content=_content(update),
        )

    def spawn_of(self, description: str | None) -> str | None:
        """The call that has started a subagent; None: it is not known."""
        told = description or ""
        found = next((call for call, about in self._spawns.items() if about == told), None)
        self._spawns.pop(found or "", None)
        return found

    def end_turn(self) -> None:
        """Forget the calls of the turn, but not those that start subagents in the background."""
        self._named.clear()


def _name(update: native.ToolUpdate) -> str | None:
    """The name of a tool: an MCP server's has the name of the server in it."""
    meta = update.meta if isinstance(update.meta, dict) else {}
    about = meta.get("x.ai/tool")
    name = about.get("name") if isinstance(about, dict) else None
    given = update.raw_input if isinstance(update.raw_input, dict) else {}
    if name == _MCP and isinstance(target := given.get("tool_name"), str) and target:
        return target
    return name if isinstance(name, str) and name else None


def _arguments(given: Any) -> Any:
    """What the model wrote or, where that was not told, what Grok has read of it."""
    if not isinstance(given, dict):
        return given
    return {name: value for name, value in given.items() if name != "variant"}


def _content(update: native.ToolUpdate) -> list[Raw] | None:
    """What a tool says. Before it runs, that is what the model says about it, and no output."""
    if update.content is None:
        return None
    told = [(raw, native.tool_content_of(raw)) for raw in update.content]
    shown = [
        with_diff(raw, each) if isinstance(each, native.DiffContent) else raw
        for raw, each in told
        if update.status is not None or isinstance(each, native.DiffContent)
    ]
    return shown or (None if update.status is None else [])


def _result(output: Any) -> Any:
    """A result with what it says as a text; a command's output is told as numbers, one for each
    byte."""
    if not isinstance(output, dict):
        return output
    printed = output.get("output")
    if isinstance(printed, list):
        return {**output, "output": _decoded(printed)}
    said = _mcp_text(printed) if output.get("type") == "MCP" else _text_in(output)
    return output if said is None else {**output, "output": said}


def _decoded(values: list[Any]) -> str:
    numbers = (value for value in values if type(value) is int and 0 <= value < 256)
    return bytes(numbers).decode(errors="replace")


def _mcp_text(output: Any) -> str | None:
    texts = [each for each in (output or {}).values() if isinstance(each, str)]
    return texts[0] if isinstance(output, dict) and texts else None


def _text_in(output: dict[str, Any]) -> str | None:
    """The text of a result: beside its type stands what became of the call."""
    inner = (value for name, value in output.items() if name != "type")
    for place in (output, *(each for each in inner if isinstance(each, dict))):
        for name in _TEXTS:
            if isinstance(text := place.get(name), str) and text:
                return text
    return None
