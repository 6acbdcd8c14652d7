"""Permissions and questions, of the session and of its subagents, both ways."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from dragoman.agents.opencode import native
from dragoman.agents.opencode.launch import Calls
from dragoman.agents.opencode.subagents import Sessions
from dragoman.agents.opencode.tools import ToolCalls, git_diff
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import AskPermission, AskQuestion, Request, Resolve, Step, Withdraw

REFUSED = "The person refused this. Do not try it again in another way; go on without it."
"""Without a word, a refusal ends OpenCode's turn (1.18.33)."""


class PendingRequests:
    """The requests that wait for a person, by OpenCode's ids."""

    def __init__(self, directory: str, sessions: Sessions, tools: ToolCalls, calls: Calls) -> None:
        self._directory = directory
        self._sessions = sessions
        self._tools = tools
        self._calls = calls
        self._early: dict[str, native.PermissionAsked] = {}
        """Requests that came before what they are about was in the stream."""
        self._open: dict[str, int] = {}
        """Requests that a person sees → how many questions each has."""
        self._answered: set[str] = set()

    # --- From the agent ---

    def permission(self, asked: native.PermissionAsked) -> Iterator[Step]:
        """OpenCode may ask a moment before it says what the tool is called with (1.18.33)."""
        if self._is_known(asked.id):
            return
        key = self._tools.key_of(asked.session_id, asked.tool)
        if key is not None and not self._tools.is_known(key):
            self._early[asked.id] = asked
        else:
            yield self._ask(asked, key)

    def release(self, *, everything: bool = False) -> Iterator[Step]:
        """Ask for what was held, as soon as its call is complete."""
        for asked in list(self._early.values()):
            key = self._tools.key_of(asked.session_id, asked.tool)
            if everything or self._tools.is_known(key):
                del self._early[asked.id]
                yield self._ask(asked, key)

    def _ask(self, asked: native.PermissionAsked, key: str | None) -> AskPermission:
        self._open[asked.id] = 0
        files, metadata = self._about(asked, self._tools.input_of(key))
        self._tools.keep_diff(key, asked.metadata.get("diff"))
        return AskPermission(
            key=asked.id,
            action=asked.permission,
            metadata=metadata,
            item=key,
            rule=f"{asked.permission}: {', '.join(asked.always or asked.patterns)}",
            edits_files=asked.permission == "edit",
            files=files,
        )

    def _about(
        self, asked: native.PermissionAsked, call_input: dict[str, Any]
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        owner = self._sessions.owner(asked.session_id)
        # 1.15.13 tells only in the call what a command is.
        given = asked.metadata or call_input
        metadata: dict[str, Any] = {"permission": asked.permission, "input": given}
        if asked.tool is not None:
            metadata["call_id"] = asked.tool.call_id
        if owner.subagent is not None:
            metadata["subagent_id"] = owner.subagent
        if isinstance(command := given.get("command"), str):
            metadata["command"] = command
        if asked.patterns:
            metadata["patterns"] = asked.patterns
        path = asked.metadata.get("filepath")
        files: tuple[str, ...] = ()
        if isinstance(path, str) and path:
            name = posixpath.join(self._directory, path)
            files, metadata["path"] = (name,), name
            if isinstance(text := asked.metadata.get("diff"), str):
                metadata["diff"] = git_diff(name, text)
        elif asked.permission == "edit":
            files = tuple(posixpath.join(self._directory, each) for each in asked.patterns)
        return files, metadata

    def question(self, asked: native.QuestionAsked) -> Iterator[Step]:
        """OpenCode waits for answers."""
        if self._is_known(asked.id):
            return
        self._open[asked.id] = len(asked.questions)
        owner = self._sessions.owner(asked.session_id)
        metadata: dict[str, Any] = {}
        if asked.tool is not None:
            metadata["call_id"] = asked.tool.call_id
        if owner.subagent is not None:
            metadata["subagent_id"] = owner.subagent
        yield AskQuestion(
            key=asked.id, questions=tuple(map(_question, asked.questions)), metadata=metadata
        )

    def _is_known(self, key: str) -> bool:
        return key in self._open or key in self._early or key in self._answered

    def settled(self, event: native.RequestSettled) -> Iterator[Step]:
        """A request has its answer: ours, or that of somebody else at the same server."""
        self._early.pop(event.request_id, None)
        if self._open.pop(event.request_id, None) is not None:
            yield Withdraw(key=event.request_id)
        self._answered.add(event.request_id)

    # --- To the agent ---

    def answer(self, command: AnswerPermission | AnswerQuestion) -> Iterator[Step]:
        """Send an answer. "Always" is a rule of ours: OpenCode's would hold for all sessions."""
        count = self._open.pop(command.key, None)
        self._answered.add(command.key)
        if isinstance(command, AnswerPermission):
            reply: dict[str, Any] = {"reply": "reject" if command.reply == "reject" else "once"}
            if command.reply == "reject":
                reply["message"] = command.message or REFUSED
            yield self._reply(f"/permission/{command.key}/reply", reply)
        else:
            # Told that a question is rejected, OpenCode ends its turn; unanswered, it goes on.
            answers = [list(each) for each in command.answers or ()]
            answers += [[] for _ in range((count or 0) - len(answers))]
            yield self._reply(f"/question/{command.key}/reply", {"answers": answers})
        yield Resolve(command=command)

    def _reply(self, path: str, body: dict[str, Any]) -> Request:
        return self._calls.post(path, "answer", body)

    # --- Ends ---

    def drop(self) -> None:
        """The turn is over: what an abort drops, OpenCode does not tell (1.18.33)."""
        self._answered.update(self._open)
        self._answered.update(self._early)
        self._open.clear()
        self._early.clear()

    def reset(self) -> None:
        """Forget everything: the process is gone."""
        self.drop()
        self._answered.clear()


def _question(info: native.QuestionInfo) -> Question:
    return Question(
        header=info.header or UNSET,
        prompt=info.question,
        options=tuple(
            QuestionOption(label=each.label, description=each.description) for each in info.options
        ),
        multi_select=bool(info.multiple),
        allow_other=UNSET if info.custom is None else info.custom,
    )
