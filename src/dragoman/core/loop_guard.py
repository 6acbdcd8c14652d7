"""Notices a turn whose model steps repeat without end, whatever agent it is."""

from __future__ import annotations

from dragoman.schema.items import Reasoning
from dragoman.steps import AskPermission, AskQuestion, BeginTurn, Echo, EndTurn, StartItem, Step

CODE = "loop"


class LoopGuard:
    """Counts answers in a row: where a model calls no tool, its turn should be over.

    An agent that takes the next step all the same does so for a reason (a hook, a message that
    joins), or because it does not see that the model's stream broke off, and then for ever.
    """

    def __init__(self, limit: int) -> None:
        self.is_tripped = False
        """The turn is to end."""
        self._limit = limit
        self._answers = 0

    def observe(self, step: Step) -> bool:
        """Whether this step is one too many."""
        match step:
            case StartItem(kind="message", role="assistant", subagent=None, content=content):
                self._answers += not any(isinstance(part, Reasoning) for part in content)
            case StartItem(kind="tool_call") | AskPermission() | AskQuestion() | Echo():
                self._answers = 0
            case BeginTurn() | EndTurn():
                self._answers, self.is_tripped = 0, False
            case _:
                return False
        if not self._limit or self._answers <= self._limit or self.is_tripped:
            return False
        self.is_tripped = True
        return True

    @property
    def message(self) -> str:
        """What is wrong."""
        return (
            f"the model has answered {self._answers} times in a row without calling a tool, "
            "and the agent goes on; the turn was stopped"
        )
