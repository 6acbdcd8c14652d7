"""People's messages on their way: sent, accepted, shown, each once."""

from __future__ import annotations

from dragoman.schema.commands import Prompt


class Prompts:
    """What was sent and not accepted, and what was accepted and not shown."""

    def __init__(self) -> None:
        self.due: list[Prompt] = []
        """Accepted, and to be shown before anything else of the turn."""
        self._in_flight: dict[str, Prompt] = {}
        self._shown_ids: set[str] = set()

    def remember(self, prompt: Prompt) -> None:
        """Know a message that is about to be sent. One that stands in this turn is sent again, to a
        process that has not heard it, and needs no second place."""
        self._in_flight.pop(prompt.message_id, None)
        if not self.was_shown(prompt.message_id):
            self._in_flight[prompt.message_id] = prompt

    def forget(self, message_id: str) -> None:
        """It was taken back."""
        self._in_flight.pop(message_id, None)

    def accepted(self, message_id: str | None) -> bool:
        """The agent has it: it is due; False where it was before, or nobody sent it."""
        prompt = self._in_flight.pop(message_id or "", None)
        if prompt is not None:
            self.due.append(prompt)
        return prompt is not None

    def presume(self) -> None:
        """The agent works without a word about what it accepted: it must be what was sent last."""
        if self._in_flight:
            self.accepted(next(reversed(self._in_flight)))

    def take(self, message_id: str | None = None) -> Prompt | None:
        """The due message of this id, else none; without an id the first one. It is shown now."""
        for prompt in self.due:
            if message_id in (None, prompt.message_id):
                self.due.remove(prompt)
                self._shown_ids.add(prompt.message_id)
                return prompt
        return None

    def was_shown(self, message_id: str | None) -> bool:
        """It stands in this turn."""
        return message_id in self._shown_ids

    def turn_over(self) -> None:
        """Forget what was shown in the turn."""
        self._shown_ids.clear()
