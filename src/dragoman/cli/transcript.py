"""Prints a turn while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dragoman.cli.requests import answered, ask_permission, ask_question, decided
from dragoman.cli.sanitize import clean, line
from dragoman.cli.summary import ending, gist, outcome
from dragoman.cli.tool_text import called, returned
from dragoman.schema.events import (
    AgentUnparsed,
    ErrorRaised,
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    TurnEnded,
)
from dragoman.schema.items import ContentPart, Item, Reasoning, ToolCall, ToolResult

if TYPE_CHECKING:
    from rich.console import Console

Part = TypeVar("Part", bound=ContentPart)

THOUGHT = "~ "
"""Begins each line of reasoning, so that a log shows it as well as a terminal."""
CUT_OFF = "(cut off; the agent tries again)"
TAKEN_BACK = "(taken back: what was said before; the agent tries again)"


class Transcript:
    """Writes events to the terminal: text as it comes, everything else on lines of its own."""

    def __init__(
        self, console: Console, session: str, reaching: str, waits: Callable[[str], bool]
    ) -> None:
        self._console = console
        self._session = session
        self._reaching = reaching
        self._waits = waits
        """Whether a permission, by its id, waits for a person."""
        self._items: dict[str, Item] = {}
        self._streamed: set[str] = set()
        self._calls: dict[str, str] = {}
        """The tools that have not returned, by their calls."""
        self._last_call = ""
        """The call of which nothing came back since it was shown."""
        self._open: str | None = None
        """The item whose text ends the last line."""
        self._at_start = True
        """That text ended with a line feed."""

    def show(self, event: Event) -> None:
        """Write one event."""
        match event.data:
            case ItemStarted(item=item):
                self._items[item.item_id] = item
            case ItemDelta() as delta:
                self._delta(delta)
            case ItemCompleted(item=item):
                self._completed(item)
            case PermissionRequested() as asked:
                # What a rule answers at once is told with the answer.
                if self._waits(asked.permission_id):
                    self._lines(ask_permission(self._session, asked, self._reaching), "bold yellow")
            case QuestionRequested() as question:
                self._lines(ask_question(self._session, question, self._reaching), "bold yellow")
            case PermissionResolved(action=action) as resolved:
                self._line(f"permission {action}: {decided(resolved)}", "yellow")
            case QuestionResolved() as resolved_question:
                self._line(f"question {answered(resolved_question)}", "yellow")
            case _:
                self._rest(event)

    def _rest(self, event: Event) -> None:
        match event.data:
            case ErrorRaised(message=message, code=code):
                self._line(f"{code or 'error'}: {message}", "bold red")
            case AgentUnparsed(error=error, location=location):
                self._line(f"not understood, {location}: {error}", "dim")
            case TurnEnded() as ended:
                self._line(outcome(ended), "dim" if ended.outcome == "completed" else "bold red")
            case SessionEnded() as over:
                self._line(f"session ended, {ending(over)}", "dim")
            case _:
                return

    def close(self) -> None:
        """End a line that is still open."""
        if self._open is not None and not self._at_start:
            self._console.out("")
        self._open = None

    def _delta(self, delta: ItemDelta) -> None:
        item = self._items.get(delta.item_id)
        # People know what they wrote, and notices, arguments and output are shown whole.
        said = item is None or (item.kind == "message" and item.role == "assistant")
        if not said or delta.content_type not in ("text", "reasoning") or _is_private(item):
            return
        thought = delta.content_type == "reasoning"
        begins = self._open != delta.item_id
        if begins:
            self.close()
            self._open = delta.item_id
        self._streamed.add(delta.item_id)
        self._say(delta.delta, thought=thought, begins=begins, end="")

    def _say(self, text: str, *, thought: bool, begins: bool = True, end: str = "\n") -> None:
        text = clean(text)
        self._at_start = text.endswith("\n")
        if thought:
            text = (THOUGHT if begins else "") + text.replace("\n", f"\n{THOUGHT}")
        style = "dim italic" if thought else None
        self._console.out(text, style=style, highlight=False, end=end)

    def _completed(self, item: Item) -> None:
        self._items.pop(item.item_id, None)
        match item.kind:
            case "message" if item.role != "user":
                self._message(item)
            case "tool_call":
                for call in _parts(item, ToolCall):
                    self._calls[call.call_id], self._last_call = call.name, call.call_id
                what, why = called(item)
                self._line(what, "cyan", dim=why)
            case "tool_result":
                shown = returned(item, self._whose(item))
                self._lines(shown, "red" if shown[0].startswith("✗") else "dim")
            case "status" | "system" | "unknown":
                self._line(f"· {gist(item)}", "dim")
                if isinstance(item.retracts, str):
                    self._line(TAKEN_BACK, "yellow")
            case _:
                return

    def _whose(self, item: Item) -> str:
        """The tool of a result, unless its call was the last thing shown."""
        results = [part.call_id for part in _parts(item, ToolResult)]
        names = [self._calls.pop(call_id, "") for call_id in results]
        follows, self._last_call = self._last_call in results, ""
        return "" if follows else "".join(names[:1])

    def _message(self, item: Item) -> None:
        if item.item_id not in self._streamed and (text := gist(item)):
            self.close()
            self._say(text, thought=_is_thought(item))
        elif self._open == item.item_id:
            self.close()
        if item.item_id in self._streamed and item.reason == "retracted":
            self._line(CUT_OFF, "yellow")
        self._streamed.discard(item.item_id)

    def _line(self, text: str, style: str, dim: str = "") -> None:
        from rich.text import Text

        self.close()
        self._console.print(Text.assemble((line(text, 400), style), (dim, "dim")), soft_wrap=True)

    def _lines(self, lines: list[str], style: str) -> None:
        self.close()
        for number, text in enumerate(lines):
            self._console.out(text, style=style if number == 0 else None, highlight=False)


def _parts(item: Item, kind: type[Part]) -> list[Part]:
    return [part for part in item.content if isinstance(part, kind)]


def _is_thought(item: Item) -> bool:
    return bool(_parts(item, Reasoning))


def _is_private(item: Item | None) -> bool:
    thoughts = [] if item is None else _parts(item, Reasoning)
    return any(thought.visibility == "private" for thought in thoughts)
