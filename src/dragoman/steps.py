"""Steps: the words in which a converter says what is to be done.

A converter names things by the agent's own keys. A key is unique while its item or request is
open, within one process. It never sees a clock, an id of ours, or a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from msgspec import UNSET, Struct, UnsetType

from dragoman.facts import Exit
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Outcome, Question, SessionUpdated, Source, Usage
from dragoman.schema.items import ContentPart, DeltaType, ItemKind, ItemStatus, Role
from dragoman.services import Service
from dragoman.wire.jsonrpc import RpcError


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class TypeTag(Struct, frozen=True, tag_field="type", tag=_snake_case):
    """Base of what an agent can say as it is: in JSON, `type` is its name, e.g. `start_item`."""


class Blob(TypeTag, frozen=True, kw_only=True):
    """Bytes inside content, e.g. an image. Stored as a file before the event that names it."""

    data: bytes
    mime: str | None = None
    filename: str | UnsetType = UNSET
    """What it was called."""


class AgentFile(TypeTag, frozen=True, kw_only=True):
    """A text file that the agent keeps, beside content. Copied, without secrets, into the session's
    files before the event that names it, and shown as a file that was read."""

    path: str


class ItemFields(TypedDict, total=False):
    """The optional fields of an item."""

    phase: Literal["commentary", "final_answer", "plan"]
    stop_reason: str
    reason: str
    duration_ms: int
    retracts: str
    title: str
    server: str
    command: str
    cwd: str
    exit_code: int
    output_path: str
    truncated: bool


Content = tuple[ContentPart | Blob | AgentFile, ...]


class BeginTurn(TypeTag, frozen=True, kw_only=True):
    """The agent says that a turn begins."""

    metadata: Mapping[str, Any] | None = None


class EndTurn(TypeTag, frozen=True, kw_only=True):
    """The agent says that the turn is over."""

    outcome: Outcome
    usage: Usage | None = None
    stop_reason: str | None = None
    metadata: Mapping[str, Any] | None = None


class Used(Struct, frozen=True, kw_only=True):
    """What the turn has used so far; for its end, where the agent cannot say it there."""

    usage: Usage


class WrittenFile(TypeTag, frozen=True, kw_only=True):
    """All of a text file that a tool is about to write."""

    path: str
    content: str


class StartItem(TypeTag, frozen=True, kw_only=True):
    """An item opens. `content` is its shape; what streams is emptied by the normalizer."""

    key: str
    kind: ItemKind
    role: Role | None = None
    native_id: str | None = None
    parent: str | None = None
    content: Content = ()
    fields: ItemFields = {}
    subagent: str | None = None
    detached: bool = False
    """It belongs to a subagent that may outlive the turn."""
    opens: bool | None = None
    """It opens a turn if none is; None: status and system items do not, all others do."""
    source: Source = "agent"
    """`daemon`: to fill a gap that the agent leaves."""
    writes: WrittenFile | None = None
    """Of a tool call, where the agent tells nothing of what was there: the daemon looks now, and
    the FileRef of that path in the call's result, if it has no diff, gets one."""


class Delta(TypeTag, frozen=True, gc=False):
    """The next piece of an item."""

    key: str
    text: str
    content_type: DeltaType = "text"


class CompleteItem(TypeTag, frozen=True, kw_only=True):
    """An item is final. `content` None: what was streamed."""

    key: str
    content: Content | None = None
    status: ItemStatus = "completed"
    fields: ItemFields = {}
    source: Source = "agent"


class FileChange(Struct, frozen=True, kw_only=True):
    """A change of a text file that is asked for: all of it anew, or one text for another."""

    path: str
    content: str | None = None
    """All of the file; None: `old` becomes `new`."""
    old: str = ""
    new: str = ""
    everywhere: bool = False
    """Wherever `old` stands; else where it stands first."""


class AskPermission(TypeTag, frozen=True, kw_only=True):
    """The agent waits for a permission."""

    key: str
    action: str
    metadata: Mapping[str, Any] = {}
    item: str | None = None
    """The key of the tool call it is about."""
    rule: str | None = None
    """What "always" allows; None: the action."""
    edits_files: bool = False
    files: tuple[str, ...] = ()
    guarded: bool = False
    """No mode accepts it, nor where one of the `files` that it edits is outside the directory."""
    change: FileChange | None = None
    """Where the daemon can read the file, `diff` in the metadata is made from it."""
    detached: bool = False
    timeout_s: float | None = None
    """The agent waits no longer, and goes on as after a no."""


class AskQuestion(TypeTag, frozen=True, kw_only=True):
    """The agent waits for answers."""

    key: str
    questions: tuple[Question, ...]
    metadata: Mapping[str, Any] | None = None
    source: Source = "agent"
    detached: bool = False
    timeout_s: float | None = None
    """The agent waits no longer, and goes on as after a no."""


class Resolve(Struct, frozen=True, kw_only=True):
    """An answer of ours was sent: the request is resolved by that command."""

    command: AnswerPermission | AnswerQuestion


class Withdraw(TypeTag, frozen=True, kw_only=True):
    """The agent no longer waits for an answer."""

    key: str
    reason: str = "agent"


class Report(TypeTag, frozen=True, kw_only=True):
    """An error, as the agent tells it."""

    message: str
    code: str | None = None
    details: Any | None = None


class Update(TypeTag, frozen=True, kw_only=True):
    """Something about the session changed."""

    body: SessionUpdated


class Unparsed(Struct, frozen=True, kw_only=True):
    """A message, or a block in one, that could not be decoded."""

    error: str
    location: str


class EndSession(TypeTag, frozen=True, kw_only=True):
    """The agent says that the session is over."""

    reason: Literal["completed", "error"] = "completed"
    message: str | None = None
    exit: Exit | None = None
    """How its process ended, where the session ends with it."""


class Delivered(Struct, frozen=True, kw_only=True):
    """The agent has accepted this message of a person. Until then it is only on its way.

    It comes before whatever opens the message's turn (BeginTurn, an item), in which the message
    stands first.
    """

    message_id: str
    echoed: bool = False
    """The agent repeats it (Echo) before any other item of the turn but status items and those of
    subagents, and its place is there. If another item comes first, the message is shown as ours
    before that one, and the Echo that follows leaves no event: it has vanished, unless it is on the
    list of noise. An agent that may repeat it later, or never, is not `echoed`."""


class Echo(Struct, frozen=True, kw_only=True):
    """The agent repeats words; `message_id` None: not a person's that we sent."""

    message_id: str | None
    native_id: str | None = None
    text: str = ""
    source: Source = "agent"
    """`daemon`: the agent names the message, and the words are those that we sent."""


class Bind(TypeTag, frozen=True):
    """The agent confirmed its own id of the session; None: it knows none, and begins anew."""

    native_session_id: str | None
    resumable: bool = True
    """It can be resumed; else it has only a name so far, which a restart may need."""


class Send(Struct, frozen=True):
    """A line for the agent."""

    data: bytes


class EndInput(Struct, frozen=True):
    """This process is told nothing more: its stdin closes. For agents that read to the end."""


class Signal(Struct, frozen=True):
    """A signal to the process alone. For agents that hear nothing else while they work."""

    name: Literal["INT", "TERM"]


class Request(Struct, frozen=True, kw_only=True):
    """A JSON-RPC request to the agent. Its reply comes to `replied`, under the tag."""

    method: str
    params: Any = None
    tag: str = ""
    deadline_s: float | None = 30.0
    """None: it may take as long as a turn does."""


class Notify(Struct, frozen=True, kw_only=True):
    """A JSON-RPC notification to the agent."""

    method: str
    params: Any = None


class Respond(Struct, frozen=True, kw_only=True):
    """The answer to a request of the agent, by its key (see `wire.jsonrpc.key_of`). One counts."""

    key: str
    result: Any = None
    error: RpcError | None = None


class Defer(Struct, frozen=True):
    """A request of the agent is answered later, and until then nothing else comes of it."""


class Claim(Struct, frozen=True):
    """What a shared process says under this native key is for this session, from now on."""

    native_key: str


Outgoing = Send | EndInput | Signal | Request | Notify | Respond | Claim
"""What is for the agent, or for whoever stands between."""

Step = (
    BeginTurn
    | EndTurn
    | Used
    | StartItem
    | Delta
    | CompleteItem
    | AskPermission
    | AskQuestion
    | Resolve
    | Withdraw
    | Report
    | Update
    | Unparsed
    | EndSession
    | Delivered
    | Echo
    | Bind
    | Defer
    | Outgoing
    | Service
)


def whole(item: StartItem, status: ItemStatus = "completed") -> tuple[StartItem, CompleteItem]:
    """Steps of an item that is complete at once."""
    return item, CompleteItem(key=item.key, content=item.content, status=status)
