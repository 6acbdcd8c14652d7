"""How `conform` makes the mock agent act, and its messages that leave no event."""

from __future__ import annotations

from dragoman.facts import IgnoredMessage, ProbeRecipes

PROBE_RECIPES = ProbeRecipes(
    prompts={
        "say": "echo {words}",
        "stream": "slow 30",
        "work": "slow 100",
        "think": "reasoning",
        "run": "tool",
        "write": "tool",
        "mcp": "tool",
        "look": "image",
        "change": "permission",
        "ask": "question",
        "delegate": "subagent",
        "plan": "status",
        "retry": "status",
        "fail": "error",
        "leave": "end",
    }
)
"""What `dragoman conform` does with the mock agent: it has no model, but prompts for everything."""

IGNORED = (
    IgnoredMessage(
        where={"type": "bind"},
        why="it names the native_session_id of every event after it",
    ),
    IgnoredMessage(
        where={"type": "update", "body.model": "*"},
        why="the session has this model already, else there is an event",
    ),
    IgnoredMessage(
        where={"type": "begin_turn"},
        why="the turn began when its prompt was delivered; its number is on turn.ended",
    ),
    IgnoredMessage(where={"type": "delta", "text": ""}, why="an empty piece adds nothing"),
)
"""Messages of the mock agent that leave no event, and why."""
