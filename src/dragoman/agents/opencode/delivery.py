"""People's messages on their way: from the queue to the echo that shows them."""

from __future__ import annotations

from dragoman.agents.opencode import native
from dragoman.agents.opencode.launch import OWN_KEY
from dragoman.schema.commands import Prompt


class Delivery:
    """The messages that OpenCode has not repeated."""

    def __init__(self) -> None:
        self._queue: list[Prompt] = []
        """What waits for the session to be open."""
        self._in_flight: dict[str, Prompt] = {}

    def enqueue(self, prompt: Prompt) -> None:
        """A message waits until the session is open."""
        self._queue.append(prompt)

    def take_queue(self) -> list[Prompt]:
        """What has waited."""
        queue, self._queue = self._queue, []
        return queue

    def send(self, prompt: Prompt) -> None:
        """A message is on its way."""
        self._in_flight[prompt.message_id] = prompt

    def pop(self, message_id: str) -> bool:
        """A message has arrived, or will not; whether it was on its way."""
        return self._in_flight.pop(message_id, None) is not None

    def echo(self, part: native.TextPart) -> str | None:
        """The id of the message whose words these are."""
        message_id = (part.metadata or {}).get(OWN_KEY)
        return message_id if isinstance(message_id, str) else None

    @property
    def in_flight(self) -> list[str]:
        """What was sent and not repeated."""
        return list(self._in_flight)

    def reset(self) -> None:
        """Forget everything: the process is gone, and the session still has the messages."""
        self._queue.clear()
        self._in_flight.clear()
