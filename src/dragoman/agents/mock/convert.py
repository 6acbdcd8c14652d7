"""The mock agent's dialect, from its words to ours and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

import msgspec
from msgspec import UNSET, Raw

from dragoman.adapter import Spec
from dragoman.agents.mock import native
from dragoman.facts import Exit
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    PermissionReply,
    Prompt,
)
from dragoman.schema.events import (
    Context,
    ModelUsage,
    Question,
    QuestionOption,
    SessionUpdated,
    Usage,
)
from dragoman.schema.items import (
    ContentPart,
    FileRef,
    ItemKind,
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
    EndSession,
    EndTurn,
    ItemFields,
    Report,
    Resolve,
    Send,
    StartItem,
    Step,
    Update,
    whole,
)
from dragoman.wire import counts

DECISIONS: dict[PermissionReply, str] = {
    "once": "allow",
    "always": "allow_for_session",
    "reject": "deny",
}
_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens",
           "reasoning_tokens")  # fmt: skip


class MockConverter:
    """Speaks to one mock agent."""

    def __init__(self, spec: Spec) -> None:
        self._model = spec.model
        self._tools: dict[str, native.ToolStart] = {}
        self._printing: set[str] = set()
        self._callers: dict[str, str] = {}

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt(message_id=key, text=text, attachments=attachments):
                yield _send("prompt", id=key, text=text, attachments=attachments)
                yield Delivered(message_id=key)
            case Interrupt():
                yield _send("interrupt")
            case AnswerPermission(key=key, reply=reply, message=message, updated_input=changed):
                yield _send(
                    "permission_answer",
                    id=key,
                    decision=DECISIONS[reply],
                    message=message,
                    updated_input=changed,
                )
                yield Resolve(command=command)
            case AnswerQuestion(key=key, answers=answers):
                yield _send("question_answer", id=key, answers=answers)
                yield Resolve(command=command)
            case Configure():
                yield from self._configure(command)
            case _:
                assert_never(command)

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what the agent says. Raise only msgspec errors, and only before a step."""
        match native.decode(message):
            case native.TextDelta(id=key, text=text):
                yield Delta(key, text)
            case native.Hello() as hello:
                yield from self._hello(hello)
            case native.TurnStarted(turn=turn):
                yield BeginTurn(metadata={"native_turn_id": turn})
            case native.TurnEnded() as ended:
                self._forget()
                yield _end_turn(ended)
            case native.MessageStart() as start:
                yield self._message(start)
            case native.MessageEnd() as end:
                yield from _message_end(end)
            case native.ReasoningStart() as start:
                yield _reasoning(start)
            case native.ReasoningDelta(id=key, text=text):
                yield Delta(key, text, "reasoning")
            case native.ReasoningEnd(id=key) | native.ToolReady(id=key):
                yield CompleteItem(key=key)
            case native.ToolStart() as start:
                yield self._call(start)
            case native.ArgumentsDelta(id=key, text=text):
                yield Delta(key, text, "arguments")
            case native.ToolOutput() as printed:
                yield from self._output(printed)
            case native.ToolEnd() as end:
                yield from self._result(end)
            case native.PermissionAsk() as ask:
                yield _permission(ask)
            case native.QuestionAsk(id=key, questions=questions):
                yield AskQuestion(key=key, questions=tuple(_question(q) for q in questions))
            case native.WholeItem(id=key, item=item):
                yield from whole(_item(key, native.decode_item(item)))
            case native.SubagentStart() as start:
                yield self._subagent(start)
            case native.SubagentEnd(id=key, failed=failed):
                yield CompleteItem(key=key, status="failed" if failed else "completed")
            case native.Error(message=text, code=code, details=details):
                yield Report(message=text, code=code, details=details)
            case native.ContextWindow(used=used, window=window):
                yield from _context(counts.tokens(used), counts.tokens(window))
            case native.SessionEnd(reason=reason, message=text):
                yield EndSession(reason=reason, message=text)
            case never:
                assert_never(never)

    def steers(self) -> bool:
        """Say no: it reads its next prompt when it is done with this one."""
        return False

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Say nothing: the agent greets first."""
        return iter(())

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget the calls and helpers of the process that is gone."""
        self._forget()
        return iter(())

    def _forget(self) -> None:
        self._tools.clear()
        self._printing.clear()
        self._callers.clear()

    def _configure(self, command: Configure) -> Iterator[Step]:
        changes = {
            name: value
            for name in command.__struct_fields__
            if (value := getattr(command, name)) is not None
        }
        self._model = command.model or self._model
        yield _send("configure", **changes)
        yield Update(body=SessionUpdated(**changes))

    def _hello(self, hello: native.Hello) -> Iterator[Step]:
        yield Bind(hello.session)
        if hello.model is not None and hello.model != self._model:
            self._model = hello.model
            yield Update(body=SessionUpdated(model=hello.model))

    def _message(self, start: native.MessageStart) -> StartItem:
        return StartItem(
            key=start.id,
            kind="message",
            role="assistant",
            native_id=start.id,
            parent=self._callers.get(start.subagent) if start.subagent else None,
            content=(Text(text=""),),
            subagent=start.subagent,
        )

    def _call(self, start: native.ToolStart) -> StartItem:
        self._tools[start.id] = start
        return StartItem(
            key=start.id,
            kind="tool_call",
            role="assistant",
            native_id=start.id,
            parent=start.message,
            content=(ToolCall(name=start.name, arguments="", call_id=start.id),),
            fields=_fields(
                title=start.title, command=start.command, cwd=start.cwd, server=start.server
            ),
            subagent=start.subagent,
        )

    def _output(self, printed: native.ToolOutput) -> Iterator[Step]:
        yield from self._open_result(printed.id)
        yield Delta(_result_key(printed.id), printed.text, "output")

    def _result(self, end: native.ToolEnd) -> Iterator[Step]:
        parts, unknown = _content(end.id, self._parent(end.id), end.blocks)
        yield from self._open_result(end.id)
        yield from unknown
        yield CompleteItem(
            key=_result_key(end.id),
            content=(ToolResult(call_id=end.id, output=end.output), *parts),
            status="failed" if end.failed else "completed",
            fields=_fields(reason=end.reason, exit_code=end.exit_code, duration_ms=end.duration_ms),
        )
        self._tools.pop(end.id, None)
        self._printing.discard(end.id)

    def _open_result(self, call_id: str) -> Iterator[Step]:
        if call_id in self._printing:
            return
        self._printing.add(call_id)
        call = self._tools.get(call_id)
        yield StartItem(
            key=_result_key(call_id),
            kind="tool_result",
            role="tool",
            parent=self._parent(call_id),
            content=(ToolResult(call_id=call_id, output=""),),
            subagent=call.subagent if call else None,
        )

    def _parent(self, call_id: str) -> str | None:
        call = self._tools.get(call_id)
        return call.message if call else None

    def _subagent(self, start: native.SubagentStart) -> StartItem:
        self._callers[start.id] = start.tool
        return StartItem(
            key=start.id,
            kind="status",
            role="system",
            native_id=start.id,
            parent=start.tool,
            content=(Status(label="subagent", detail=start.description),),
        )


def _send(type: str, **fields: Any) -> Send:
    return Send(msgspec.json.encode({"type": type, **fields}))


def _fields(**values: Any) -> ItemFields:
    given = {name: value for name, value in values.items() if value is not None}
    return msgspec.convert(given, ItemFields)


def _result_key(call_id: str) -> str:
    return f"{call_id}:result"


def _end_turn(ended: native.TurnEnded) -> EndTurn:
    return EndTurn(
        outcome=ended.outcome,
        usage=_usage(ended.usage) if ended.usage else None,
        stop_reason=ended.stop_reason,
        metadata={"native_turn_id": ended.turn},
    )


def _usage(told: native.Tokens) -> Usage:
    used = {name: counts.tokens(getattr(told, name)) or 0 for name in _COUNTS}
    cost = counts.usd(told.cost_usd) or 0.0
    of_model = ModelUsage(**used, cost_usd=cost)
    return Usage(**used, cost_usd=cost, cost_source="reported", models={told.model: of_model})


def _context(used: int | None, window: int | None) -> Iterator[Step]:
    if used is not None and window is not None:
        yield Update(body=SessionUpdated(context=Context(used=used, window=window)))


def _message_end(end: native.MessageEnd) -> Iterator[Step]:
    fields = _fields(stop_reason=end.stop_reason)
    if end.blocks is None:
        yield CompleteItem(key=end.id, fields=fields)
        return
    parts, unknown = _content(end.id, end.id, end.blocks)
    yield from unknown
    yield CompleteItem(key=end.id, content=parts, fields=fields)


def _content(
    key: str, parent: str | None, blocks: tuple[Raw, ...]
) -> tuple[Content, tuple[Step, ...]]:
    """Give the parts we know, and the steps of an item for each block we do not."""
    parts: list[ContentPart | Blob] = []
    unknown: list[Step] = []
    for index, block in enumerate(native.decode_block(raw) for raw in blocks):
        if isinstance(block, native.Unmodelled):
            unknown += whole(_unknown(f"{key}:{index}", block, parent))
        else:
            parts.append(_part(block))
    return tuple(parts), tuple(unknown)


def _part(block: native.Block) -> ContentPart | Blob:
    match block:
        case native.TextBlock(text=text):
            return Text(text=text)
        case native.FileBlock(path=path, action=action, diff=diff):
            return FileRef(path=path, action=action, diff=diff)
        case native.ImageBlock(data=data, mime=mime):
            return Blob(data=data, mime=mime)
        case _:
            assert_never(block)


def _item(key: str, item: native.ItemBody | native.Unmodelled) -> StartItem:
    content: Content
    kind: ItemKind = "status"
    match item:
        case native.Unmodelled():
            return _unknown(key, item)
        case native.SystemItem(text=text):
            kind, content = "system", (Text(text=text),)
        case native.StatusItem(label=label, detail=detail):
            content = (Status(label=label, detail=detail),)
        case native.PlanItem(steps=steps):
            content = (Status(label="plan"), Json(json={"steps": steps}))
        case _:
            assert_never(item)
    return StartItem(key=key, kind=kind, role="system", native_id=key, content=content)


def _unknown(key: str, found: native.Unmodelled, parent: str | None = None) -> StartItem:
    return StartItem(
        key=key,
        kind="unknown",
        role="assistant",
        native_id=None if parent else key,
        parent=parent,
        content=(Json(json=found.json),),
    )


def _reasoning(start: native.ReasoningStart) -> StartItem:
    return StartItem(
        key=start.id,
        kind="message",
        role="assistant",
        native_id=start.id,
        parent=start.message,
        content=(Reasoning(text="", visibility=start.visibility),),
        subagent=start.subagent,
    )


def _permission(ask: native.PermissionAsk) -> AskPermission:
    about = {
        "input": ask.input,
        "call_id": ask.tool,
        "command": ask.command,
        "path": ask.path,
        "diff": ask.diff,
        "agent_reason": ask.why,
    }
    return AskPermission(
        key=ask.id,
        action=ask.action,
        metadata={name: value for name, value in about.items() if value is not None},
        item=ask.tool,
        edits_files=ask.edits_files,
    )


def _question(inquiry: native.Inquiry) -> Question:
    return Question(
        question_id=inquiry.id,
        header=UNSET if inquiry.header is None else inquiry.header,
        prompt=inquiry.text,
        options=tuple(
            QuestionOption(label=choice.label, description=choice.description)
            for choice in inquiry.choices
        ),
        multi_select=inquiry.several,
        allow_other=inquiry.free_text,
    )
