"""Tool calls and their results: commands, output, exit codes, files and their diffs."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.dialects.acp import native
from dragoman.dialects.acp.items import content_of
from dragoman.dialects.acp.owner import MAIN, Owner
from dragoman.dialects.acp.terminals import Terminal, Terminals
from dragoman.schema.items import FileRef, ItemKind, ItemStatus, Role, ToolCall, ToolResult
from dragoman.steps import CompleteItem, Content, Delta, ItemFields, StartItem, Step
from dragoman.wire.decode import decode
from dragoman.wire.diff import diff

CHANGES = ("edit", "delete", "move")
"""Kinds of tools that change files."""
_ENDS = ("completed", "failed")
_EXIT_CODES = ("exit_code", "exitCode", "exit")
"""How agents call it; ACP has no word for it."""
_COMMANDS = ("command", "cmd")
_any = msgspec.json.Decoder()
_WORD = re.compile(r"[A-Za-z][\w.:-]*")


class Written(Struct, frozen=True):
    """A text file that the daemon has written for the agent."""

    is_new: bool
    before: str | None
    """None: there was none, or it is not known."""
    after: str

    def file_ref(self, path: str) -> FileRef:
        """What was done to it; the diff is exact, or there is none."""
        is_known = self.is_new or self.before is not None
        text = diff(path, self.before, self.after) if is_known else None
        return FileRef(path=path, action="write" if self.is_new else "patch", diff=text or None)


class ToolState(Struct, kw_only=True):
    """A tool call without a result, as far as it was told."""

    name: str
    title: str | None = None
    kind: str | None = None
    input: Any = None
    is_told: bool = False
    """The agent has named its input."""
    output: Any = None
    """The agent's own form of the result."""
    contents: tuple[native.ToolContent, ...] = ()
    diffs: dict[str, native.DiffContent] = {}
    """By path; also those that only a request for permission told of."""
    paths: tuple[str, ...] = ()
    is_streaming: bool = False
    """The model writes its arguments."""
    is_complete: bool = False
    """Its arguments are in the stream."""
    is_result_open: bool = False
    streamed: str = ""
    """What was streamed of what it said."""
    terminal_text: str = ""
    """What its terminals have printed, as it came."""
    written: dict[str, Written] = {}
    """Files that the daemon has written, by path."""
    is_declined: bool = False
    is_interrupted: bool = False
    is_granted: bool = False
    """A person, or a rule, has allowed it."""

    @property
    def command(self) -> str | None:
        """The shell command that it runs."""
        given = self.input if isinstance(self.input, dict) else {}
        found = next((given[name] for name in _COMMANDS if given.get(name)), None)
        if isinstance(found, list) and all(isinstance(word, str) for word in found):
            return shlex.join(found)
        return found if isinstance(found, str) else None

    @property
    def arguments(self) -> str:
        """What it is called with, as JSON."""
        return msgspec.json.encode({} if self.input is None else self.input).decode()

    @property
    def text(self) -> str:
        """What it has said so far."""
        return _joined(self.contents)

    @property
    def printed(self) -> str:
        """Its result as a text. Of a command, what it has printed: what is said of it may have more
        around it (Qwen Code 0.24.4)."""
        match self.output:
            case {"output": str(text)} if self.kind == "execute":
                return text
            case _:
                return self.text or _text_of(self.output)

    @property
    def terminal_ids(self) -> tuple[str, ...]:
        """The terminals that it shows now."""
        shown = (each for each in self.contents if isinstance(each, native.TerminalContent))
        return tuple(each.terminal_id for each in shown)


class ToolCalls:
    """The tool calls under way, by the agent's ids."""

    def __init__(
        self,
        directory: str,
        servers: Iterable[str],
        name_of: Callable[[Any], str | None],
        terminals: Terminals,
        owner: Owner = MAIN,
    ) -> None:
        self.owner = owner
        self._terminals = terminals
        self._directory = directory
        self._servers = tuple(servers)
        self._name_of = name_of
        self.under_way: dict[str, ToolState] = {}
        """The calls without results."""
        self._over: set[str] = set()
        """Calls that have their results, of this turn and the one before."""
        self._older: set[str] = set()

    def get(self, call_id: str | None) -> ToolState | None:
        """A call without a result."""
        return self.under_way.get(call_id or "")

    def is_new(self, call_id: str) -> bool:
        """Whether nothing was told of a call."""
        return not (call_id in self.under_way or call_id in self._over or call_id in self._older)

    # --- From the agent ---

    def stream(self, call_id: str, name: str, piece: str, *, in_turn: bool) -> Iterator[Step]:
        """The model writes the arguments of a call."""
        call = self.under_way.get(call_id)
        if call is None:
            if not self.is_new(call_id):
                return
            call = self.under_way[call_id] = ToolState(name=name, is_streaming=True)
            yield self._start(call_id, call, in_turn=in_turn)
        if piece and not call.is_complete:
            yield Delta(self.owner.key(call_id), piece, "arguments")

    def retract(self) -> Iterator[Step]:
        """The model begins its answer anew: what it had written of calls is void."""
        for call_id in [key for key, call in self.under_way.items() if call.is_streaming]:
            del self.under_way[call_id]
            self._over.add(call_id)
            place = self.owner.key(call_id)
            yield CompleteItem(key=place, status="failed", fields={"reason": "retracted"})

    def update(self, update: native.ToolUpdate, *, in_turn: bool) -> Iterator[Step]:
        """A call begins, runs, prints or has its result."""
        key = update.tool_call_id
        call = self.under_way.get(key)
        if call is None and not self.is_new(key):
            return
        if call is None:
            call = self.under_way[key] = ToolState(name=self._name(update))
            self._learn(call, update)
            yield self._start(key, call, in_turn=in_turn)
        else:
            self._learn(call, update)
        is_over = update.status in _ENDS
        is_running = update.status == "in_progress" or call.is_complete
        if is_over or call.text or (is_running and call.input):
            yield from self.complete_call(key)
        if is_over:
            yield from self._show_terminals(key, call)
            yield from self._complete(key, call, failed=update.status == "failed")
        else:
            yield from self._print(key, call)
            yield from self._show_terminals(key, call)

    def announce(self, told: native.ToolUpdate, *, in_turn: bool) -> Iterator[Step]:
        """A request is about a call, which may be told of only here, and may come before the call's
        own input is known (OpenCode 1.18.33). What it says to people is no output."""
        call = self.get(told.tool_call_id)
        about = replace(told, status=None, content=None)
        if call is not None and call.is_complete:
            about = replace(about, raw_input=None)
        elif call is not None and isinstance(call.input, dict) and isinstance(told.raw_input, dict):
            about = replace(about, raw_input={**told.raw_input, **call.input})
        if call is not None and call.kind:
            about = replace(about, kind=None)
        yield from self.update(about, in_turn=in_turn)
        yield from self.complete_call(told.tool_call_id)
        if (call := self.get(told.tool_call_id)) is not None:
            self._learn_diffs(call, tuple(map(native.tool_content_of, told.content or ())))

    def _name(self, update: native.ToolUpdate) -> str:
        """ACP has no name for a tool: an agent tells it in a place of its own, or as the title of
        a call that begins; else the kind has to do."""
        title = update.title or ""
        kind = update.kind if update.kind not in (None, "other") else None
        word = title if _WORD.fullmatch(title) else None
        return self._name_of(update.meta) or word or kind or title or "tool"

    def _learn(self, call: ToolState, update: native.ToolUpdate) -> None:
        call.is_streaming = False
        if not call.is_complete:
            call.name = self._name_of(update.meta) or call.name
        call.title = update.title or call.title
        call.kind = update.kind or call.kind
        if update.raw_input is not None:
            call.input, call.is_told = update.raw_input, True
        if update.raw_output is not None:
            call.output = update.raw_output
        if update.content is not None:
            contents = tuple(map(native.tool_content_of, update.content))
            if not _learn_arguments(call, update, contents):
                call.contents = contents
            self._learn_diffs(call, contents)
        if update.locations:
            call.paths = tuple(map(self.absolute, _paths(update.locations)))

    def _learn_diffs(self, call: ToolState, contents: tuple[native.ToolContent, ...]) -> None:
        changes = (each for each in contents if isinstance(each, native.DiffContent))
        call.diffs = {**call.diffs, **{self.absolute(each.path): each for each in changes}}

    def _start(self, key: str, call: ToolState, *, in_turn: bool) -> StartItem:
        return self.owner.item(
            in_turn=in_turn,
            key=self.owner.key(key),
            kind="tool_call",
            role="assistant",
            native_id=key,
            content=(ToolCall(name=call.name, arguments="", call_id=key),),
            fields=self._fields(call),
        )

    def _fields(self, call: ToolState) -> ItemFields:
        fields: ItemFields = {}
        if call.title and call.title != call.name:
            fields["title"] = call.title
        if call.kind == "execute" and call.command:
            fields["command"] = call.command
            fields["cwd"] = self.absolute(_cwd(call) or self._directory)
        server = next((name for name in self._servers if _is_of(call.name, name)), None)
        if server is not None:
            fields["server"] = server
        return fields

    def complete_call(self, key: str) -> Iterator[Step]:
        """The arguments of a call are known."""
        call = self.under_way.get(key)
        if call is not None and not call.is_complete:
            call.is_complete = True
            content = ToolCall(name=call.name, arguments=call.arguments, call_id=key)
            place = self.owner.key(key)
            yield CompleteItem(key=place, content=(content,), fields=self._fields(call))

    def settle(self, call_id: str | None, *, is_granted: bool) -> None:
        """A person allowed a call, and with it what it has us do; or its failure is theirs."""
        if (call := self.get(call_id)) is not None:
            call.is_granted, call.is_declined = is_granted, not is_granted

    def interrupt(self) -> None:
        """A person stopped the turn: what fails now fails for that."""
        for call in self.under_way.values():
            call.is_interrupted = True

    # --- Results ---

    def _open(self, key: str, call: ToolState) -> Iterator[Step]:
        if not call.is_result_open:
            call.is_result_open = True
            yield self.owner.item(
                in_turn=False,
                key=_result_key(self.owner, key),
                kind="tool_result",
                role="tool",
                native_id=key,
                content=(ToolResult(call_id=key, output=""),),
            )

    def _print(self, key: str, call: ToolState) -> Iterator[Step]:
        """What a tool has said: all of it is told each time."""
        text = call.text
        if not text or text == call.streamed:
            return
        fresh = text.removeprefix(call.streamed) if text.startswith(call.streamed) else text
        call.streamed = text
        yield from self._open(key, call)
        yield Delta(_result_key(self.owner, key), fresh, "output")

    def _show_terminals(self, key: str, call: ToolState) -> Iterator[Step]:
        """A call shows a terminal from when it first names it."""
        for terminal_id in call.terminal_ids:
            terminal = self._terminals.all.get(terminal_id)
            if terminal is not None and terminal.call_id is None:
                terminal.call_id = key
                yield from self.print_terminal(key, terminal.output.beginning)

    def print_terminal(self, key: str, text: str) -> Iterator[Step]:
        """A terminal that a call shows has printed more."""
        call = self.under_way.get(key)
        if call is None or not text:
            return
        yield from self.complete_call(key)
        yield from self._open(key, call)
        call.terminal_text += text
        yield Delta(_result_key(self.owner, key), text, "output")

    def _complete(self, key: str, call: ToolState, *, failed: bool) -> Iterator[Step]:
        code = _exit_code(call.output)
        terminals = self._terminals.of_call(key)
        if code is None and terminals and terminals[-1].exit is not None:
            code = terminals[-1].exit.code
        status: ItemStatus = "failed" if failed or code else "completed"
        fields: ItemFields = {}
        if code is not None:
            fields["exit_code"] = code
        if failed and call.is_interrupted:
            fields["reason"] = "interrupted"
        elif failed and call.is_declined:
            fields["reason"] = "declined"
        is_cut = isinstance(call.output, dict) and call.output.get("truncated") is True
        if is_cut or any(each.output.is_cut for each in terminals):
            fields["truncated"] = True
        if is_cut and isinstance(path := call.output.get("output_file"), str) and path:
            fields["output_path"] = path
        output = _output(call, terminals)
        yield from self._open(key, call)
        yield CompleteItem(
            key=_result_key(self.owner, key),
            content=(
                ToolResult(call_id=key, output=output),
                *_more(call, failed=failed),
            ),
            status=status,
            fields=fields,
        )
        del self.under_way[key]
        self._over.add(key)
        self._terminals.forget_released(key)

    def absolute(self, path: str) -> str:
        """A path as it stands in the transcript."""
        return posixpath.normpath(posixpath.join(self._directory, path))

    # --- Ends ---

    def close(self) -> Iterator[Step]:
        """Whoever made the calls works no longer: those without a result get none."""
        for key, call in list(self.under_way.items()):
            yield from self.complete_call(key)
            yield from self._open(key, call)
            content = ToolResult(call_id=key, output=call.streamed)
            yield CompleteItem(
                key=_result_key(self.owner, key),
                content=(content,),
                status="failed",
                fields={"reason": "interrupted"},
            )
        self.end_turn()

    def end_turn(self) -> None:
        """Forget the calls of the turn; what still comes of them is over."""
        self._older = self._over | self.under_way.keys()
        self._over = set()
        self.under_way.clear()

    def reset(self) -> None:
        """Forget everything: the process is gone."""
        self.under_way.clear()
        self._over.clear()
        self._older.clear()


def _learn_arguments(
    call: ToolState, update: native.ToolUpdate, contents: tuple[native.ToolContent, ...]
) -> bool:
    """Whether what a call says are its arguments, as they come in: Kimi Code (2.1.0) tells them
    nowhere else."""
    text = _joined(contents)
    if update.status in _ENDS or call.is_told or not text.startswith("{"):
        return False
    with suppress(msgspec.DecodeError):  # there is more to come
        call.input = decode(text.encode(), _any)
    return True


def text_of(update: native.ToolUpdate) -> str:
    """What an update says."""
    return _joined(tuple(map(native.tool_content_of, update.content or ())))


def _joined(contents: tuple[native.ToolContent, ...]) -> str:
    plain = (each for each in contents if isinstance(each, native.PlainContent))
    blocks = (native.block_of(each.content) for each in plain)
    return "".join(block.text for block in blocks if isinstance(block, native.TextBlock))


def result_key(key: str) -> str:
    """The key of a call's result."""
    return f"{key}:result"


class OwnCall(Struct, frozen=True, kw_only=True):
    """Something that the daemon did, and no call of the agent's tells of."""

    key: str
    name: str
    arguments: dict[str, Any]
    fields: ItemFields = {}
    output: str = ""
    files: tuple[FileRef, ...] = ()
    is_failed: bool = False
    result_fields: ItemFields = {}

    def steps(self) -> Iterator[Step]:
        """A call and its result."""
        text = msgspec.json.encode(self.arguments).decode()
        call: Content = (ToolCall(name=self.name, arguments=text, call_id=self.key),)
        result: Content = (ToolResult(call_id=self.key, output=self.output), *self.files)
        yield self._start("tool_call", self.key, call, self.fields)
        yield CompleteItem(key=self.key, content=call, source="daemon")
        yield self._start("tool_result", result_key(self.key), result, {})
        yield CompleteItem(
            key=result_key(self.key),
            content=result,
            status="failed" if self.is_failed else "completed",
            fields=self.result_fields,
            source="daemon",
        )

    def _start(self, kind: ItemKind, key: str, content: Content, fields: ItemFields) -> StartItem:
        role: Role = "assistant" if kind == "tool_call" else "tool"
        return StartItem(
            key=key, kind=kind, role=role, content=content, fields=fields, source="daemon"
        )


def _result_key(owner: Owner, key: str) -> str:
    return owner.key(f"{key}:result")


def _paths(locations: Any) -> Iterator[str]:
    for each in locations if isinstance(locations, list) else ():
        if isinstance(each, dict) and isinstance(path := each.get("path"), str) and path:
            yield path


def _is_of(tool: str, server: str) -> bool:
    """Whether a tool is one of this MCP server's, by its name; each agent has its own way."""
    rest = tool.removeprefix("mcp__").removeprefix("mcp_")
    return rest.startswith(server) and rest[len(server) :][:1] in ("_", "-", ":", "/", ".")


def _exit_code(output: Any) -> int | None:
    if not isinstance(output, dict):
        return None
    inner, more = output.get("metadata"), output.get("contents")
    parts = more if isinstance(more, list) else []
    for place in (each for each in (output, inner, *parts) if isinstance(each, dict)):
        for name in _EXIT_CODES:
            if type(code := place.get(name)) is int:
                return code
    return None


def _text_of(output: Any) -> str:
    """A result that is told in the agent's own form only."""
    match output:
        case None:
            return ""
        case str():
            return output
        case {"output": str(text)} | {"text": str(text)} | {"error": str(text)}:
            return text
        case {"output": list(values)} if all(type(v) is int and 0 <= v < 256 for v in values):
            return bytes(values).decode(errors="replace")
        case _:
            return msgspec.json.encode(output).decode()


def _cwd(call: ToolState) -> str | None:
    given = call.input if isinstance(call.input, dict) else {}
    for name in ("cwd", "workdir", "directory", "dir_path"):
        if isinstance(where := given.get(name), str) and where:
            return where
    return None


def _more(call: ToolState, *, failed: bool) -> Content:
    """What stands in a result beside its text."""
    parts: list[Any] = []
    for each in call.contents:
        if isinstance(each, native.UnknownBlock):
            parts += content_of(each)
        elif isinstance(each, native.PlainContent):
            block = native.block_of(each.content)
            parts += () if isinstance(block, native.TextBlock) else content_of(block)
    parts += (each.file_ref(path) for path, each in call.written.items())
    return tuple(parts) if failed else (*parts, *_files(call))


def _files(call: ToolState) -> Iterator[FileRef]:
    for path, change in call.diffs.items():
        if path in call.written:
            continue
        is_new = not change.old_text
        text = change.diff(path)
        yield FileRef(path=path, action="write" if is_new else "patch", diff=text or None)
    if call.diffs or call.written:
        return
    if call.kind == "read":
        yield from (FileRef(path=path, action="read") for path in call.paths)
    elif call.kind in CHANGES:
        yield from (FileRef(path=path, action="patch") for path in call.paths)


def _output(call: ToolState, terminals: list[Terminal]) -> str:
    """All that a call has said and printed; some put what was printed into words in the end."""
    if not terminals or (call.text and not call.terminal_ids):
        return call.printed
    endings = (each.output.ending for each in terminals)
    return call.text + call.terminal_text + "".join(endings) or call.printed
