"""Send one message and show the turn: text as it comes, tools on lines of their own.

    python examples/follow.py SESSION MESSAGE...

The session is made with the mock agent if there is none. Permissions are asked in the terminal.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from dragoman.client import Client
from dragoman.errors import SessionExists
from dragoman.schema.events import (
    ErrorRaised,
    Event,
    ItemCompleted,
    ItemDelta,
    PermissionRequested,
    QuestionRequested,
    TurnEnded,
)
from dragoman.schema.http import CreateSession
from dragoman.schema.items import Item, ToolCall, ToolResult


def main(session: str, message: str) -> None:
    """Follow one turn from its first event to its last."""
    # Address and token are found where the daemon leaves them.
    with Client() as client:
        with suppress(SessionExists):  # then we go on in it
            client.create(CreateSession(agent="mock"), session)
        for event in client.stream_turn(session, message):
            show(client, session, event)


def show(client: Client, session: str, event: Event) -> None:
    """Show one event, and answer it where it asks."""
    match event.data:
        case ItemDelta(delta=delta, content_type="text"):
            write(delta)
        case ItemCompleted(item=item):
            write(told(item))
        case PermissionRequested(permission_id=request_id, action=action):
            write(f"May it use {action}? [y/N] ")
            allowed = sys.stdin.readline().strip().lower() == "y"
            client.reply_permission(session, request_id, "once" if allowed else "reject")
        case QuestionRequested(question_id=request_id, questions=questions):
            answers = []
            for question in questions or ():
                labels = ", ".join(option.label for option in question.options)
                write(f"{question.prompt} ({labels}) ")
                answers.append([sys.stdin.readline().strip()])
            client.reply_question(session, request_id, answers)
        case ErrorRaised(message=message):
            write(f"error: {message}\n")
        case TurnEnded(outcome=outcome):
            write(f"-- {outcome}\n")


def told(item: Item) -> str:
    """What is left to say about an item once it is complete."""
    match item.kind, item.content:
        case "message", _:
            return "\n"  # its text was streamed
        case "tool_call", (ToolCall(name=name, arguments=arguments), *_):
            return f"> {name} {arguments}\n"
        case "tool_result", (ToolResult(output=output), *_):
            return f"< {item.status}: {output.strip()}\n"
        case _:
            return f"({item.kind})\n"


def write(text: str) -> None:
    """Write to the terminal at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], " ".join(sys.argv[2:]))
