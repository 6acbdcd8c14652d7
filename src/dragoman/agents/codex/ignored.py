"""What Codex says that leaves no event, and why."""

from __future__ import annotations

from dragoman.facts import IgnoredMessage


def _said(method: str, why: str, **where: str) -> IgnoredMessage:
    return IgnoredMessage(where={"method": method, **where}, why=why)


_REPEATED = {"params.item.type": "userMessage"}

IGNORED = (
    _said("turn/started", "the turn begins with the person's message, which follows at once"),
    IgnoredMessage(
        where={"method": "item/completed", **_REPEATED},
        why="repeats a message that `item/started` has shown",
    ),
    IgnoredMessage(
        where={"method": "item/started", **_REPEATED},
        why="a message that had to be shown before it was repeated",
    ),
    _said("thread/started", "says what the reply to `thread/start` says"),
    _said("thread/status/changed", "turns and requests say it"),
    _said("thread/readState/changed", "whether a person has read it, which Codex cannot know"),
    _said("thread/goal/cleared", "comes with every resume, also where there was no goal"),
    _said("thread/goal/updated", "the same goal as before, with what was spent on it"),
    _said("thread/archived", "we asked for it"),
    _said("thread/closed", "nobody uses the thread at this server any more"),
    _said("thread/compacted", "says again what the item `contextCompaction` says"),
    _said("thread/tokenUsage/updated", "the same counts as before; the turn's end has them"),
    _said("thread/settings/updated", "nothing that is shown changed"),
    _said("thread/name/updated", "the same name as before, or none"),
    _said("account/rateLimits/updated", "the same limits as before"),
    _said("turn/diff/updated", "the same diff as before"),
    _said("serverRequest/resolved", "an answer of ours has arrived"),
    _said("item/reasoning/summaryPartAdded", "the next delta says it"),
    _said("item/fileChange/outputDelta", "what the patch tool prints; the item has the changes"),
    _said("item/fileChange/patchUpdated", "a patch that is being written; the item has all of it"),
    _said("item/started", "told again for a request that came before it"),
    IgnoredMessage(where={"method": "item/*", "params.delta": ""}, why="an empty piece"),
    IgnoredMessage(
        where={"method": "codex/event/*"}, why="versions up to 0.101 say everything twice"
    ),
    IgnoredMessage(
        where={"result.thread.id": "*"}, why="how the thread works, where it is not new"
    ),
    IgnoredMessage(
        where={"result.data.0.turnId": "*"},
        why="what a thread has, when a message is looked for that may be there",
    ),
    IgnoredMessage(
        where={"result.data": []}, why="a thread that has nothing, when one is looked for there"
    ),
    IgnoredMessage(where={"result.turn.id": "*"}, why="a message was heard; its echo shows it"),
    IgnoredMessage(where={"result.turnId": "*"}, why="a message joins the turn; its echo shows it"),
    IgnoredMessage(
        where={"error.message": "expected active turn id*"},
        why="an interrupt of a turn that goes on under another id; it is sent again for that",
    ),
    IgnoredMessage(where={"error.message": "no active turn*"}, why="the turn was over by then"),
    IgnoredMessage(
        where={"error.message": "no rollout found*"},
        why="a thread that no message has reached; the message goes to a new one",
    ),
    IgnoredMessage(where={"result.terminated": True}, why="a command was ended; its item says so"),
    IgnoredMessage(where={"result.terminated": False}, why="a command was over by then"),
    IgnoredMessage(where={"result": {}}, why="a request was heard"),
)
"""Known noise."""
