"""Messages of ACP agents that leave no event, and why."""

from __future__ import annotations

from dragoman.facts import IgnoredMessage


def _update(kind: str, why: str) -> IgnoredMessage:
    where = {"method": "session/update", "params.update.sessionUpdate": kind}
    return IgnoredMessage(where=where, why=why)


def _service(method: str, why: str) -> IgnoredMessage:
    return IgnoredMessage(where={"method": method}, why=why)


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
    IgnoredMessage(where={"method": "fs/*"}, why="asked for again, and refused before"),
    IgnoredMessage(where={"method": "terminal/*"}, why="asked for again, and refused before"),
    IgnoredMessage(
        where={"method": "$/cancel_request"}, why="a request that is answered was cancelled"
    ),
    _service("fs/read_text_file", "a file was read; the tool call tells of it"),
    _service("fs/write_text_file", "a file that a granted tool call writes; its result tells it"),
    _service("terminal/create", "a command that a granted tool call runs; its result shows it"),
    _service("terminal/output", "what is shown already was asked for"),
    _service("terminal/wait_for_exit", "an exit is waited for; the result tells it"),
    _service("terminal/kill", "a command was ended; the result tells it"),
    _service("terminal/release", "a terminal that the tool call shows is not needed any more"),
)
