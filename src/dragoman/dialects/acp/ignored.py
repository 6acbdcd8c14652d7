"""Messages of ACP agents that leave no event, and why."""

from __future__ import annotations

from dragoman.facts import IgnoredMessage


def _update(kind: str, why: str) -> IgnoredMessage:
    where = {"method": "session/update", "params.update.sessionUpdate": kind}
    return IgnoredMessage(where=where, why=why)


def _service(methods: str, what: str) -> IgnoredMessage:
    where = {"method": methods}
    return IgnoredMessage(where=where, why=f"{what}; or asked for again, and refused before")


IGNORED = (
    IgnoredMessage(where={"id": "dragoman-*"}, why="a request of ours was heard"),
    _update("user_message_chunk", "a person's message, which is shown as it was sent"),
    _update("agent_message_chunk", "an empty piece, or a repetition when a session is loaded"),
    _update("agent_thought_chunk", "an empty piece, or a repetition when a session is loaded"),
    _update("tool_call", "a repetition, when a session is loaded or of what a request told"),
    _update("tool_call_update", "nothing that is shown has changed, or a repetition"),
    _update("plan", "the same list as before, or a repetition when a session is loaded"),
    _update("plan_update", "a repetition when a session is loaded"),
    _update("plan_removed", "a repetition when a session is loaded"),
    _update("available_commands_update", "the same commands as before"),
    _update("current_mode_update", "the same mode as before"),
    _update("config_option_update", "nothing that is shown has changed"),
    _update("session_info_update", "the same title as before, or when the session was used last"),
    _update("usage_update", "the same as before"),
    IgnoredMessage(
        where={"method": "elicitation/complete"}, why="a page that nobody waits for was visited"
    ),
    _service("fs/*", "a file that a tool call tells of"),
    _service("terminal/*", "a command that a tool call shows"),
    IgnoredMessage(
        where={"method": "$/cancel_request"}, why="a request that is answered was cancelled"
    ),
)
