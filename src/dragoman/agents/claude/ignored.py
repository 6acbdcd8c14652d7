"""What Claude Code says that leaves no event, and why. Reviewed, and short."""

from __future__ import annotations

from dragoman.facts import IgnoredMessage

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
