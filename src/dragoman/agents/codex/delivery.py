"""People's messages between us and Codex: before there is a thread, on their way, and held back."""

from __future__ import annotations

from msgspec import Struct

from dragoman.agents.codex.launch import words_of
from dragoman.schema.commands import Prompt


class _Sent(Struct):
    prompt: Prompt
    steers: bool
    is_accepted: bool = False
    """Codex has said that it joins the turn."""


class Outbox:
    """What was said to Codex, and what of it Codex has repeated."""

    def __init__(self) -> None:
        self.is_open = False
        """There is a thread."""
        self.is_opening = False
        self.steerable = True
        """The turn that runs takes more; a review does not."""
        self._repeats_ids = True
        """Codex names our messages when it repeats them; versions before 0.136 do not."""
        self._early: list[Prompt] = []
        self._sent: dict[str, _Sent] = {}
        self._shown: set[str] = set()
        self._known: dict[str, str] = {}
        self._resumed = self._looking = False

    def opening(self) -> None:
        """A thread was asked for."""
        self.is_opening = True

    def opened(self, known: dict[str, str] | None) -> None:
        """The thread is there, with these messages that began turns; None: it is new."""
        self.is_open, self.is_opening = True, False
        self._known, self._resumed = known or {}, known is not None

    def turn_with(self, prompt: Prompt) -> str | None:
        """The turn of a message that Codex has, from before its server or the daemon died."""
        return self._known.pop(prompt.message_id, None)

    def seeks(self, prompt: Prompt) -> bool:
        """Whether it has to be looked for in the middle of turns first; it waits for that."""
        if prompt.joins and self._resumed:
            self._early.insert(0, prompt)
            self._looking = True
        return self._looking

    def found(self, known: dict[str, str]) -> None:
        """These messages, and their turns, are the last ones in the thread."""
        self._known.update(known)
        self._resumed = self._looking = False

    def refused(self) -> list[Prompt]:
        """There will be no thread; what waited for it."""
        self.is_opening = False
        early, self._early = self._early, []
        return early

    def early(self, prompt: Prompt) -> None:
        """Keep it until there is a thread, or the turn is over."""
        self._early.append(prompt)

    def later(self, message_id: str) -> None:
        """It did not join the turn; where that is over by now, it has one of its own already."""
        sent = self._sent.get(message_id)
        if sent is not None and sent.steers:
            del self._sent[message_id]
            self._early.append(sent.prompt)

    def next(self) -> Prompt | None:
        """What may be sent, now that no turn runs."""
        free = not self._sent and not self._looking
        return self._early.pop(0) if self._early and free else None

    def joins(self, prompt: Prompt) -> None:
        """It is on its way into a running turn."""
        self._sent[prompt.message_id] = _Sent(prompt, steers=True)

    def starts(self, prompt: Prompt, *, plain: bool) -> None:
        """It is on its way; `plain`: the model hears it, and Codex repeats it."""
        self._sent[prompt.message_id] = _Sent(prompt, steers=False)
        self.steerable = plain

    @property
    def expects_echo(self) -> bool:
        """Codex is about to repeat what begins the turn."""
        return self.steerable and any(not sent.steers for sent in self._sent.values())

    def unheard(self) -> str | None:
        """What began the turn, and has to be shown before Codex repeats it, if it ever does."""
        message_id = self.echoed(None)
        if message_id is not None:
            self._shown.add(message_id)
        return message_id

    def is_shown(self, message_id: str | None) -> bool:
        """Whether a message that Codex repeats was shown before."""
        return message_id in self._shown

    def accepted(self, message_id: str) -> None:
        """Codex says that it joins the turn."""
        if message_id in self._sent:
            self._sent[message_id].is_accepted = True

    def echoed(self, message_id: str | None, text: str | None = None) -> str | None:
        """Codex repeats a message: without an id the one that began the turn, else by its words."""
        if message_id is None:
            message_id = self._beginning()
            self._repeats_ids &= message_id is None or text is None
        if message_id is None and text is not None and not self._repeats_ids:
            message_id = self._joining(text)
        return message_id if self._sent.pop(message_id or "", None) else None

    def _beginning(self) -> str | None:
        return next((each for each, sent in self._sent.items() if not sent.steers), None)

    def _joining(self, text: str) -> str | None:
        same = (each for each, sent in self._sent.items() if words_of(sent.prompt) == text)
        return next(same, None)

    def doubtful(self) -> list[str]:
        """What Codex took into the turn, and has not repeated: it does not always tell."""
        if self._repeats_ids:
            return []
        found = [each for each, sent in self._sent.items() if sent.is_accepted]
        for message_id in found:
            del self._sent[message_id]
        return found

    def heard(self, message_id: str) -> None:
        """Nothing more will come of it."""
        self._sent.pop(message_id, None)

    def turn_over(self) -> None:
        """What was to join the turn, and did not, gets one of its own."""
        self._early += [sent.prompt for sent in self._sent.values()]
        self._sent.clear()
        self._shown.clear()
        self.steerable = True

    def closed(self) -> None:
        """Codex has put the thread away; the next message opens it again."""
        if not self._sent:
            self.is_open = False

    def forget(self) -> None:
        """The thread is gone; who gave us messages has them still."""
        self.is_open = self.is_opening = self._looking = False
        self._early.clear()
        self._sent.clear()
        self._shown.clear()
        self.steerable = True
