"""A turn as a person reads it in the terminal, while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.cli.plain import clean, line
from dragoman.cli.summary import ask_permission, ask_question, ending, gist, outcome
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
    QueueUpdated,
    SessionEnded,
    TurnEnded,
)
from dragoman.schema.items import Item

if TYPE_CHECKING:
    from rich.console import Console

_STREAMED = {"text": None, "reasoning": "dim italic"}


class Transcript:
    """Writes events to the terminal: text as it comes, everything else on lines of its own."""

    def __init__(self, console: Console, session: str, reaching: str) -> None:
        self._console = console
        self._session = session
        self._reaching = reaching
        self._items: dict[str, Item] = {}
        self._streamed: set[str] = set()
        self._open: str | None = None
        """The item whose text ends the last line."""

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
                self._lines(ask_permission(self._session, asked, self._reaching), "bold yellow")
            case QuestionRequested() as question:
                self._lines(ask_question(self._session, question, self._reaching), "bold yellow")
            case PermissionResolved(action=action, status=status):
                self._line(f"permission {action}: {status}", "yellow")
            case QuestionResolved(status=status, response=response):
                self._line(f"question {status}: {response or ''}", "yellow")
            case ErrorRaised(message=message, code=code):
                self._line(f"{code or 'error'}: {message}", "bold red")
            case AgentUnparsed(error=error, location=location):
                self._line(f"not understood, {location}: {error}", "dim")
            case QueueUpdated(messages=messages) if messages:
                self._line(f"{len(messages)} waiting for the running turn to end", "dim")
            case TurnEnded() as ended:
                self._line(outcome(ended), "dim" if ended.outcome == "completed" else "bold red")
            case SessionEnded() as over:
                self._line(f"session ended, {ending(over)}", "dim")
            case _:
                return

    def close(self) -> None:
        """End a line that is still open."""
        if self._open is not None:
            self._console.out("")
            self._open = None

    def _delta(self, delta: ItemDelta) -> None:
        item = self._items.get(delta.item_id)
        # People know what they wrote; arguments and output are shown whole, as one line.
        if delta.content_type not in _STREAMED or (item is not None and item.role == "user"):
            return
        if self._open != delta.item_id:
            self.close()
            self._open = delta.item_id
        self._streamed.add(delta.item_id)
        style = _STREAMED[delta.content_type]
        self._console.out(clean(delta.delta), style=style, highlight=False, end="")

    def _completed(self, item: Item) -> None:
        self._items.pop(item.item_id, None)
        match item.kind:
            case "message" if item.role != "user":
                self._message(item)
            case "tool_call":
                self._line(f"→ {item.title if isinstance(item.title, str) else gist(item)}", "cyan")
            case "tool_result":
                failed = item.status == "failed"
                self._line(f"{'✗' if failed else '←'} {gist(item)}", "red" if failed else "dim")
            case "status" | "system" | "unknown":
                self._line(f"· {gist(item)}", "dim")
            case _:
                return

    def _message(self, item: Item) -> None:
        if item.item_id not in self._streamed and (text := clean(gist(item))):
            self.close()
            self._console.out(text, highlight=False)
        elif self._open == item.item_id:
            self.close()
        self._streamed.discard(item.item_id)

    def _line(self, text: str, style: str) -> None:
        self._lines([line(text)], style)

    def _lines(self, lines: list[str], style: str) -> None:
        self.close()
        for number, text in enumerate(lines):
            self._console.out(text, style=style if number == 0 else None, highlight=False)
