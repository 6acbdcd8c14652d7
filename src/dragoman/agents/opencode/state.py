"""The conversation's state: whether its session is open, how far its turn is, and what is known."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from dragoman.adapter import Spec
from dragoman.agents.opencode.delivery import Delivery
from dragoman.agents.opencode.items import Messages
from dragoman.agents.opencode.launch import Calls
from dragoman.agents.opencode.notices import Notices
from dragoman.agents.opencode.requests import PendingRequests
from dragoman.agents.opencode.settings import SessionSettings
from dragoman.agents.opencode.subagents import Sessions
from dragoman.agents.opencode.tools import ToolCalls
from dragoman.agents.opencode.usage import StepUsage
from dragoman.schema.events import Outcome
from dragoman.steps import Delivered, EndTurn, Report, Request, Step

# --- The conversation's state ---
#
# Two machines run side by side. The session's says whether messages can be sent at all. The
# turn's says how far a turn is: a message is sent, OpenCode repeats it as a part of a message of
# its own (its echo), works, and is idle again.
#
#     session   CLOSED ──> OPENING ──> OPEN       turn   IDLE ──> SENT ──> BUSY ──> IDLE
#                  └──────────┴─────────┘                            └──> STOPPING ──┘
#
# `idle` is said once or twice, and after an abort or an error a second time (1.18.33): that of
# the turn before may come when the next message was sent, so it ends a turn only where OpenCode
# said that it works. After an abort it is idle before the message that was cut is complete, so
# STOPPING waits for that, or for the second time. Other triggers leave a state as it is.


class SessionState(Enum):
    """Whether the session is open on a server."""

    CLOSED = auto()
    OPENING = auto()
    OPEN = auto()


class TurnState(Enum):
    """How far the turn is."""

    IDLE = auto()
    SENT = auto()
    """A message is on its way, or was repeated, and OpenCode has not begun to work on it."""
    BUSY = auto()
    STOPPING = auto()
    """OpenCode said that it is idle, and a message of the turn is not complete."""


class Trigger(Enum):
    """What changes a state."""

    OPEN_SENT = auto()
    OPENED = auto()
    OPEN_REFUSED = auto()
    PROMPT_SENT = auto()
    PROMPT_REFUSED = auto()
    WORK_SEEN = auto()
    IDLE_SEEN = auto()
    TURN_ENDED = auto()
    PROCESS_EXITED = auto()


SESSION_TRANSITIONS: dict[SessionState, dict[Trigger, SessionState]] = {
    SessionState.CLOSED: {Trigger.OPEN_SENT: SessionState.OPENING},
    SessionState.OPENING: {
        Trigger.OPENED: SessionState.OPEN,
        Trigger.OPEN_REFUSED: SessionState.CLOSED,
        Trigger.PROCESS_EXITED: SessionState.CLOSED,
    },
    SessionState.OPEN: {Trigger.PROCESS_EXITED: SessionState.CLOSED},
}
TURN_TRANSITIONS: dict[TurnState, dict[Trigger, TurnState]] = {
    TurnState.IDLE: {
        Trigger.PROMPT_SENT: TurnState.SENT,
        Trigger.WORK_SEEN: TurnState.BUSY,
    },
    TurnState.SENT: {
        Trigger.PROMPT_REFUSED: TurnState.IDLE,
        Trigger.WORK_SEEN: TurnState.BUSY,
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
    TurnState.BUSY: {
        Trigger.IDLE_SEEN: TurnState.STOPPING,
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
    TurnState.STOPPING: {
        Trigger.WORK_SEEN: TurnState.BUSY,
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
}


class ConversationState:
    """The two machines, and the facts that are independent of them."""

    def __init__(self, spec: Spec) -> None:
        self.session = SessionState.CLOSED
        self.turn = TurnState.IDLE
        self.session_id = None if spec.fork else spec.native_session_id
        """OpenCode's id of the session; None: there is none yet."""
        self.is_interrupting = False
        """A person, or a limit, wants the turn to end."""
        self.is_abort_sent = False
        self.has_failed = False
        """The error that fails the turn is in the stream."""
        self.idles = 0

    def trigger(self, trigger: Trigger) -> None:
        """Go where the tables say, or stay."""
        self.session = SESSION_TRANSITIONS[self.session].get(trigger, self.session)
        self.turn = TURN_TRANSITIONS[self.turn].get(trigger, self.turn)

    @property
    def is_open(self) -> bool:
        """The session is open."""
        return self.session is SessionState.OPEN

    @property
    def is_in_turn(self) -> bool:
        """A message is on its way, or OpenCode works."""
        return self.turn is not TurnState.IDLE

    @property
    def works(self) -> bool:
        """OpenCode works on a turn."""
        return self.turn in (TurnState.BUSY, TurnState.STOPPING)

    @property
    def outcome(self) -> Outcome:
        """How the turn ends, if it ends now."""
        if self.has_failed:
            return "failed"
        return "interrupted" if self.is_interrupting else "completed"

    def end_turn(self, trigger: Trigger) -> None:
        """The turn is over."""
        self.is_interrupting = self.is_abort_sent = self.has_failed = False
        self.idles = 0
        self.trigger(trigger)


# --- All of the conversation ---


class Conversation:
    """What is known of a session on one server after another."""

    def __init__(self, spec: Spec) -> None:
        self.calls = Calls(spec.directory)
        self.state = ConversationState(spec)
        self.settings = SessionSettings(spec)
        self.sessions = Sessions()
        self.delivery = Delivery()
        self.messages = Messages()
        self.tools = ToolCalls(spec.directory, spec.mcp)
        self.usage = StepUsage()
        self.notices = Notices()
        self.requests = PendingRequests(spec.directory, self.sessions, self.tools, self.calls)
        self.models: dict[str, str] = {}
        """Which model each message is of."""
        self.waiting_prompt: Request | None = None
        """A message that waits for the rules it is under."""

    def abort(self) -> Iterator[Step]:
        """Stop OpenCode, once it works: before that there is nothing that it would stop."""
        if self.state.works and not self.state.is_abort_sent:
            self.state.is_abort_sent = self.tools.is_interrupting = True
            for session in (*self.sessions.running, self.state.session_id):
                yield self.calls.post(f"/session/{session}/abort", "abort")

    def end_turn(self, outcome: Outcome) -> Iterator[Step]:
        """The turn is over."""
        yield from self.messages.complete_all()
        self.requests.drop()
        self.messages.end_turn()
        self.tools.end_turn()
        self.sessions.end_turn()
        self.notices.end_turn()
        self.models.clear()
        self.state.end_turn(Trigger.TURN_ENDED)
        yield EndTurn(outcome=outcome, usage=self.usage.end_turn())

    def refuse(self, message_id: str, why: Report) -> Iterator[Step]:
        """OpenCode does not take a message that was sent."""
        self.delivery.pop(message_id)
        yield Delivered(message_id=message_id)
        yield why
        yield from self.end_turn("failed")

    def close(self) -> None:
        """The process is gone: forget what was on its way, and who worked."""
        self.state.end_turn(Trigger.PROCESS_EXITED)
        self.delivery.reset()
        self.sessions.reset()
        self.messages.reset()
        self.tools.reset()
        self.requests.reset()
        self.notices.end_turn()
        self.usage.end_turn()
        self.waiting_prompt = None
