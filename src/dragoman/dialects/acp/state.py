"""The conversation's state: whether the session is open, and whether a turn runs."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from dragoman.adapter import Spec
from dragoman.dialects.acp import native
from dragoman.schema.commands import Prompt
from dragoman.steps import Bind, Delivered, Step

# A process is greeted, perhaps logged in to, and asked for a session, which then gets the model
# and the mode that people want; only then are messages sent. A turn is a request (`session/prompt`)
# whose reply is its end, so there is never more than one. Some agents also begin turns by
# themselves.
#
#     CLOSED ──> GREETING ──> OPENING ──> SETTING ──> OPEN <──> IN_TURN
#                              │   ↑                   ↑
#                              ↓   │                   ↓
#                            LOGGING_IN             OWN_TURN
#
# From everywhere a refusal, or the end of the process, leads back to CLOSED.
#
# A trigger that a state does not list leaves the state as it is: an agent may say anything at any
# time, and the stream goes on.


class Phase(Enum):
    """How far the conversation is."""

    CLOSED = auto()
    """There is no session: not asked for yet, refused, or gone with its process."""
    GREETING = auto()
    """`initialize` is on its way."""
    LOGGING_IN = auto()
    """`authenticate` is on its way."""
    OPENING = auto()
    """A session is asked for; what comes meanwhile repeats what it holds."""
    SETTING = auto()
    """The session gets the model and the mode that people want."""
    OPEN = auto()
    """A message can be sent."""
    IN_TURN = auto()
    """A message was sent, and its turn is not over."""
    OWN_TURN = auto()
    """The agent works by itself, e.g. on what a command in the background has printed."""


class Trigger(Enum):
    """What changes the phase."""

    GREET = auto()
    GREETED = auto()
    LOG_IN = auto()
    LOGGED_IN = auto()
    ASK = auto()
    OPENED = auto()
    SET = auto()
    SEND = auto()
    BEGIN = auto()
    TURN_END = auto()
    REFUSED = auto()
    EXIT = auto()


_LOST = {Trigger.REFUSED: Phase.CLOSED, Trigger.EXIT: Phase.CLOSED}
TRANSITIONS: dict[Phase, dict[Trigger, Phase]] = {
    Phase.CLOSED: {
        Trigger.GREET: Phase.GREETING,
        # A process that is greeted already, and refused a session before.
        Trigger.ASK: Phase.OPENING,
    },
    Phase.GREETING: {Trigger.GREETED: Phase.OPENING, **_LOST},
    Phase.OPENING: {Trigger.LOG_IN: Phase.LOGGING_IN, Trigger.OPENED: Phase.SETTING, **_LOST},
    Phase.LOGGING_IN: {Trigger.LOGGED_IN: Phase.OPENING, **_LOST},
    Phase.SETTING: {Trigger.SET: Phase.OPEN, **_LOST},
    Phase.OPEN: {Trigger.SEND: Phase.IN_TURN, Trigger.BEGIN: Phase.OWN_TURN, **_LOST},
    Phase.IN_TURN: {Trigger.TURN_END: Phase.OPEN, **_LOST},
    Phase.OWN_TURN: {Trigger.TURN_END: Phase.OPEN, **_LOST},
}


class Conversation:
    """The phase, and the facts that are independent of it."""

    def __init__(self, spec: Spec, *, reads_history: bool = False) -> None:
        self._reads_history = reads_history
        self.phase = Phase.CLOSED
        self.agent: native.InitializeResult | None = None
        """What the process said of itself; None: it was not greeted."""
        self.session_id: str | None = None
        """The session that is open."""
        self._source_id = spec.native_session_id
        self._wants_fork = spec.fork
        self.resume_id = spec.tentative_id or spec.native_session_id
        """The session that the agent is asked to go on with; None: it is asked for a new one."""
        self.is_tentative = spec.tentative_id is not None
        """The agent may not have stored it."""
        self.fork = spec.fork and not self.is_tentative
        """A copy of it is to be made."""
        self.is_bound = False
        """The daemon knows that the agent can go on with the session."""
        self.is_interrupting = False
        self.sent_id: str | None = None
        """The message that is on its way to the agent."""
        self.turn_id: str | None = None
        """What the agent calls the turn that runs or, between turns, the last one."""
        self.tried_logins: set[str] = set()
        self.queue: list[Prompt] = []
        """Messages that wait for the session to be open."""

    def trigger(self, trigger: Trigger) -> None:
        """Go where the table says, or stay."""
        self.phase = TRANSITIONS[self.phase].get(trigger, self.phase)

    @property
    def in_turn(self) -> bool:
        """Whether a turn runs."""
        return self.phase in (Phase.IN_TURN, Phase.OWN_TURN)

    @property
    def is_open(self) -> bool:
        """Whether the session is open: what comes before repeats what it holds."""
        return self.in_turn or self.phase is Phase.OPEN

    def is_new_turn(self, turn_id: str | None) -> bool:
        """Whether the agent begins a turn by itself, by what it calls the turns."""
        is_over = turn_id is None or turn_id == self.turn_id
        return self.phase is Phase.OPEN and not is_over

    @property
    def capabilities(self) -> native.AgentFeatures:
        """What the process can do."""
        return native.AgentFeatures() if self.agent is None else self.agent.agent_capabilities

    @property
    def can_resume(self) -> bool:
        """Whether the agent goes on with a session of an earlier process."""
        takes = self.capabilities
        return takes.load_session or takes.session_capabilities.resume is not None

    def open_method(self) -> str | None:
        """The method that opens the session that is wanted; None: the agent has none."""
        takes = self.capabilities
        if self.resume_id is None:
            return "session/new"
        if self.fork:
            return "session/fork" if takes.session_capabilities.fork is not None else None
        has_resume = takes.session_capabilities.resume is not None
        if has_resume and not (self._reads_history and takes.load_session):
            return "session/resume"
        return "session/load" if takes.load_session else None

    def opened(self, session_id: str | None) -> Iterator[Step]:
        """A session is open: it is told by its name before it holds anything."""
        self.session_id = session_id or self.resume_id
        if self.session_id is not None and self.session_id != self.resume_id:
            self.resume_id, self.is_tentative, self.fork = self.session_id, True, False
            self.is_bound = False
            yield Bind(self.session_id, resumable=False)

    def take_queue(self) -> list[Prompt]:
        """The messages that wait: they wait no longer."""
        queue, self.queue = self.queue, []
        return queue

    def forget_tentative(self) -> None:
        """The agent was killed before it had stored the session: begin again, nothing is lost."""
        self.is_tentative, self.fork = False, self._wants_fork
        self.resume_id = self._source_id if self._wants_fork else None

    def deliver(self) -> Iterator[Step]:
        """The agent has the message that it was sent."""
        if self.sent_id is not None:
            yield Delivered(message_id=self.sent_id)
            self.sent_id = None

    def confirm(self) -> Iterator[Step]:
        """The agent works in the session, so it keeps it, and has heard the message."""
        yield from self.deliver()
        if not self.is_bound and self.session_id is not None and self.can_resume:
            self.is_bound, self.is_tentative = True, False
            yield Bind(self.session_id)

    def close(self) -> None:
        """The process is gone; the session still has the messages."""
        self.trigger(Trigger.EXIT)
        self.agent = self.session_id = self.sent_id = None
        self.is_interrupting = False
        self.tried_logins.clear()
        self.queue.clear()
