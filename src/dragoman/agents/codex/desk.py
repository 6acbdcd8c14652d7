"""Where requests of Codex wait for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.agents.codex import native, native_items, requests, wanted
from dragoman.agents.codex.items import Work
from dragoman.agents.codex.notices import Notices
from dragoman.agents.codex.subagents import Owner
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.steps import Request, Resolve, Respond, Step, Withdraw
from dragoman.wire.jsonrpc import METHOD_NOT_FOUND, RpcError

Answer = AnswerPermission | AnswerQuestion
Aside = Callable[[str, str], Request]
"""Words, and the tag of the reply → the request that says them."""


class Desk:
    """What was asked, by the key of the request."""

    def __init__(self, directory: str, work: Work, notices: Notices) -> None:
        self._directory = directory
        self._work = work
        self._notices = notices
        self._wishes: dict[str, wanted.AnyWish] = {}
        self._held: dict[str, AnswerPermission] = {}
        """Refusals that Codex hears after their reasons."""
        self._asked: set[str] = set()
        """Calls of MCP servers' tools that leave was asked for: of two that are alike, each."""

    def asked(self, asked: native.Wanted, wish: wanted.AnyWish, owner: Owner) -> Iterator[Step]:
        """Codex wants something: a person decides, or it is not offered here."""
        key = self._call_of(wish, owner)
        if isinstance(wish, wanted.RunCommand) and wish.item_id and key is None:
            # Older versions ask before they tell what for.
            item = native_items.CommandExecution(
                id=wish.item_id, command=wish.command or "", cwd=wish.cwd
            )
            yield from self._work.started(item, owner)
            key = self._call_of(wish, owner)
        place = requests.Place(
            directory=self._directory,
            tool=None if key is None else self._work.tools[key],
            call=key,
            subagent=owner.subagent,
        )
        ask = requests.permission(asked.key, wish, place) or requests.question(
            asked.key, wish, place
        )
        if ask is None:
            yield _declined(asked.key, wish, asked.method)
            yield from self._notices.status(owner, "refused", asked.method, status="failed")
        else:
            self._wishes[asked.key] = wish
            yield ask

    def _call_of(self, wish: wanted.AnyWish, owner: Owner) -> str | None:
        """The key of the call that a request is about."""
        tools = self._work.tools
        if isinstance(wish, wanted.Elicitation):
            self._asked &= tools.keys()
            alike = (key for key, tool in tools.items() if requests.is_about(wish, tool))
            found = next((key for key in alike if key not in self._asked), None)
            self._asked |= set() if found is None else {found}
            return found
        key = owner.key(wish.item_id)
        return key if key in tools else None

    def answer(self, answer: Answer, aside: Aside | None = None) -> Iterator[Step]:
        """A person, or a rule, has decided; `aside` talks into the turn that runs.

        Codex takes no reason with a refusal: it hears it before, as something that a person says
        in between. What is said after it would cut the model's next answer short.
        """
        match answer:
            case AnswerPermission(reply="reject", message=str(why)) if why and aside is not None:
                yield aside(why, f"explain:{answer.key}")
                self._held[answer.key] = answer
            case _:
                yield self._response(answer)
        yield Resolve(command=answer)

    def release(self, key: str) -> Iterator[Step]:
        """Codex has heard it; the request may be gone by now."""
        answer = self._held.pop(key, None)
        if answer is not None and key in self._wishes:
            yield self._response(answer)

    def _response(self, answer: Answer) -> Respond:
        wish = self._wishes.pop(answer.key, wanted.Other())
        if isinstance(answer, AnswerPermission):
            return Respond(key=answer.key, result=requests.permission_answer(wish, answer))
        return Respond(key=answer.key, result=requests.question_answer(wish, answer))

    def resolved(self, key: str, *, interrupted: bool) -> Iterator[Step]:
        """Codex waits no longer, because of our answer or in spite of it."""
        if self._wishes.pop(key, None) is not None:
            yield Withdraw(key=key, reason="interrupt" if interrupted else "agent")

    def forget(self) -> None:
        """The process is gone."""
        self._wishes.clear()
        self._held.clear()
        self._asked.clear()


def _declined(key: str, wish: wanted.AnyWish, method: str) -> Respond:
    """What we do not offer, said in the words that Codex expects."""
    match wish:
        case wanted.CallTool(tool=tool):
            text = f"there is no tool {tool!r} here"
            said = {"contentItems": [{"type": "inputText", "text": text}], "success": False}
            return Respond(key=key, result=said)
        case wanted.Elicitation():
            return Respond(key=key, result={"action": "decline"})
        case _:
            why = f"{method} is not offered here"
            return Respond(key=key, error=RpcError(code=METHOD_NOT_FOUND, message=why))
