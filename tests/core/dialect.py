"""Any dialect at all: steps of every type, on so few keys that they collide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from hypothesis import strategies as st
from msgspec import Struct

from dragoman.adapter import Spec
from dragoman.facts import Exit
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import ModelUsage, Question, SessionUpdated, Stderr, Usage
from dragoman.schema.items import (
    FileRef,
    Image,
    Json,
    Reasoning,
    Status,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.steps import (
    AskPermission,
    AskQuestion,
    BeginTurn,
    Bind,
    Blob,
    CompleteItem,
    Content,
    Delivered,
    Delta,
    Echo,
    EndSession,
    EndTurn,
    Report,
    Resolve,
    Send,
    StartItem,
    Step,
    Unparsed,
    Update,
    Used,
    Withdraw,
)

KEYS = ("a", "b", "c")
UNDECODABLE = b"?"

keys = st.sampled_from(KEYS)
call_ids = st.sampled_from(("a", "x", "y", ""))
texts = st.sampled_from(("", "p", "q", "pq", "{}"))
subagents = st.sampled_from((None, None, "s1"))
kinds = st.sampled_from(("message", "tool_call", "tool_result", "system", "status", "unknown"))
statuses = st.sampled_from(("completed", "failed", "in_progress"))
parts = st.one_of(
    st.builds(Text, text=texts),
    st.builds(Json, json=texts),
    st.builds(ToolCall, name=st.just("bash"), arguments=texts, call_id=call_ids),
    st.builds(ToolResult, call_id=call_ids, output=texts),
    st.builds(FileRef, path=st.just("/f"), action=st.just("read")),
    st.builds(Image, path=st.just("/i")),
    st.builds(Reasoning, text=texts, visibility=st.sampled_from(("public", "private"))),
    st.builds(Status, label=st.just("busy")),
    st.builds(Blob, data=st.just(b"png"), mime=st.just("image/png")),
)
contents: st.SearchStrategy[Content] = st.lists(parts, max_size=3).map(tuple)
fields = st.sampled_from(({}, {"reason": "declined"}, {"exit_code": 1, "title": "Run"}))
begins = st.just(BeginTurn(metadata={"native_turn_id": "n1"}))
ends = st.builds(
    EndTurn,
    outcome=st.sampled_from(("completed", "failed", "interrupted")),
    usage=st.sampled_from(
        (
            None,
            Usage(input_tokens=1),
            Usage(input_tokens=-1, cost_usd=-0.5, models={"m": ModelUsage(output_tokens=-2)}),
        )
    ),
)
starts = st.builds(
    StartItem,
    key=keys,
    kind=kinds,
    role=st.sampled_from((None, "user", "assistant", "system", "tool")),
    native_id=st.sampled_from((None, "n1")),
    parent=st.sampled_from((None, *KEYS)),
    content=contents,
    fields=fields,
    subagent=subagents,
    detached=st.booleans(),
    opens=st.sampled_from((None, True, False)),
)
tools = st.builds(
    lambda key, result, subagent: StartItem(
        key=key,
        kind="tool_result" if result else "tool_call",
        content=(
            ToolResult(call_id="x", output="")
            if result
            else ToolCall(name="bash", arguments="", call_id="x"),
        ),
        subagent=subagent,
        detached=subagent is not None,
    ),
    keys,
    st.booleans(),
    subagents,
)
deltas = st.builds(
    Delta, keys, texts, st.sampled_from(("text", "reasoning", "arguments", "output"))
)
completions = st.builds(
    CompleteItem, key=keys, content=st.none() | contents, status=statuses, fields=fields
)
abouts = st.sampled_from(({}, {"subagent_id": "s1"}))
permissions = st.builds(
    AskPermission,
    key=keys,
    action=st.sampled_from(("bash", "edit")),
    metadata=abouts,
    item=st.sampled_from((None, *KEYS)),
    edits_files=st.booleans(),
    detached=st.booleans(),
)
questions = st.builds(
    AskQuestion,
    key=keys,
    questions=st.sampled_from(((), (Question(prompt="Why?"),))),
    metadata=st.none() | abouts,
    detached=st.booleans(),
)
reports = st.just(Report(message="it broke", code="api"))
session_ends = st.builds(EndSession, reason=st.sampled_from(("completed", "error")))
echoes = st.builds(
    Echo,
    message_id=st.sampled_from((None, "m1", "m2", "m9")),
    native_id=st.sampled_from((None, "n7")),
    text=texts,
)
steps: st.SearchStrategy[Step] = st.one_of(
    starts,
    deltas,
    completions,
    starts,
    deltas,
    completions,
    tools,
    begins,
    ends,
    permissions,
    questions,
    st.builds(Withdraw, key=keys),
    reports,
    st.just(Update(body=SessionUpdated(model="m"))),
    st.just(Used(usage=Usage(input_tokens=1))),
    st.just(Unparsed(error="?", location="test")),
    echoes,
    st.just(Bind("native-1")),
    st.just(Send(b"{}")),
    st.builds(Delivered, message_id=st.sampled_from(("m1", "m2")), echoed=st.booleans()),
    st.builds(Resolve, command=st.builds(AnswerPermission, key=keys, reply=st.just("once"))),
)
exits = st.builds(
    Exit,
    code=st.sampled_from((None, 0, 3)),
    signal=st.sampled_from((None, 9)),
    expected=st.just(False),
    stderr=st.just(Stderr(head="", truncated=False, total_lines=0)),
)


class Say(Struct, frozen=True):
    """The agent says one message, which comes to these steps."""

    steps: tuple[Step, ...]


class Garble(Struct, frozen=True):
    """The agent says something that cannot be decoded."""


class Write(Struct, frozen=True):
    """A person writes a message."""

    echoed: bool


class Stop(Struct, frozen=True):
    """A person interrupts."""


class Answer(Struct, frozen=True):
    """A person answers the oldest request."""

    favourably: bool


class Die(Struct, frozen=True):
    """The process ends by itself."""

    exit: Exit
    resumable: bool


class Cut(Struct, frozen=True):
    """The process is ended by us, since it does not heed an interrupt."""


class Refuse(Struct, frozen=True):
    """A person's message cannot be sent."""


class Restart(Struct, frozen=True):
    """The daemon is killed and starts again."""


class Terminate(Struct, frozen=True):
    """A person ends the session."""


Act = Say | Garble | Write | Stop | Answer | Die | Cut | Refuse | Restart | Terminate

says = st.lists(steps, min_size=1, max_size=3).map(lambda given: Say(tuple(given)))
tool_acts: st.SearchStrategy[Act] = st.one_of(
    tools.map(lambda start: Say((start,))),
    st.builds(lambda key: Say((Delta(key, "{}", "output"),)), keys),
    st.builds(lambda key: Say((CompleteItem(key=key),)), keys),
    st.just(Say((EndTurn(outcome="completed"),))),
    st.just(Restart()),
)
lasting: st.SearchStrategy[Act] = st.one_of(
    says,
    says,
    says,
    says,
    says,
    says,
    st.just(Garble()),
    st.builds(Write, st.booleans()),
    st.builds(Write, st.booleans()),
    st.just(Stop()),
    st.builds(Answer, st.booleans()),
    st.builds(Die, exits, st.just(True)),
    st.just(Cut()),
    st.just(Restart()),
)
final: st.SearchStrategy[Act] = st.one_of(
    st.builds(Die, exits, st.just(False)),
    st.just(Refuse()),
    st.just(Terminate()),
    session_ends.map(lambda end: Say((end,))),
)


class Scripted:
    """A converter that says what it is told to say."""

    def __init__(self) -> None:
        self.next: Iterable[Step] = ()
        self.echoes = False

    def command(self, command: Command) -> Iterator[Step]:
        yield Send(b"{}")
        match command:
            case Prompt(message_id=message_id):
                yield Delivered(message_id=message_id, echoed=self.echoes)
            case AnswerPermission() | AnswerQuestion():
                yield Resolve(command=command)
            case Configure(model=model):
                yield Update(body=SessionUpdated(model=model or "m"))
            case Interrupt():
                pass

    def receive(self, message: bytes) -> Iterable[Step]:
        if message == UNDECODABLE:
            raise msgspec.DecodeError("truncated")
        return self.next

    def steers(self) -> bool:
        return False

    def on_open(self, spec: Spec) -> Iterable[Step]:
        return ()

    def on_close(self, exit: Exit) -> Iterable[Step]:
        return ()
