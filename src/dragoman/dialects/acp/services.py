"""`fs/*` and `terminal/*`: what the agent has the daemon do, with whose permission."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import assert_never

from dragoman.adapter import Spec
from dragoman.dialects.acp import native
from dragoman.dialects.acp.grants import Grants
from dragoman.dialects.acp.items import Messages
from dragoman.dialects.acp.notices import Notices
from dragoman.dialects.acp.profile import Profile
from dragoman.dialects.acp.requests import REQUEST_CANCELLED
from dragoman.dialects.acp.state import Conversation
from dragoman.dialects.acp.terminals import Terminal, Terminals, exit_status, shown_command
from dragoman.dialects.acp.tools import OwnCall, ToolCalls, Written
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.services import (
    EndTerminal,
    FileRead,
    FileWritten,
    ReadTextFile,
    ServiceEvent,
    ServiceRefused,
    StartTerminal,
    TerminalExited,
    TerminalOutput,
    TerminalStarted,
    WriteTextFile,
)
from dragoman.steps import (
    AskPermission,
    Defer,
    FileChange,
    ItemFields,
    Resolve,
    Respond,
    Step,
    Withdraw,
)
from dragoman.wire.jsonrpc import RpcError

NOT_ALLOWED = -32003
_CANCELLED = RpcError(code=REQUEST_CANCELLED, message="the request was cancelled")
_CODES = {"not_found": native.NOT_FOUND, "invalid": -32602, "failed": -32603}
MAX_TERMINALS = 32
MAX_PENDING = 64
MAX_PENDING_CHARACTERS = 64 << 20
"""Of all texts that wait to be written."""
_TERMINAL_METHODS = (
    "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release",
)  # fmt: skip

FileParams = native.ReadFileParams | native.WriteFileParams
Guarded = native.WriteFileParams | native.TerminalParams
"""What needs a permission."""


class ClientServices:
    """Files and commands, where the agent is offered them.

    A write or a command that no granted permission of a call under way covers is asked for by us:
    in ACP it is up to the agent to ask before it uses a service, and some do not.
    """

    def __init__(
        self,
        spec: Spec,
        profile: Profile,
        state: Conversation,
        messages: Messages,
        tools: ToolCalls,
        terminals: Terminals,
        notices: Notices,
    ) -> None:
        self._directory = spec.directory
        self._profile = profile
        self._state = state
        self._messages = messages
        self._tools = tools
        self._grants = Grants(tools)
        self._terminals = terminals
        self._notices = notices
        self._unanswered: dict[str, Guarded] = {}
        """What waits for a person."""
        self._pending: dict[str, FileParams] = {}
        """Files that are being read or written."""

    # --- From the agent ---

    def receive(self, message: native.Envelope) -> Iterator[Step] | None:
        """A request for a service; None: it is none, or is not offered."""
        key = message.key
        if key is None:
            return None
        match message.method:
            case "fs/read_text_file" if self._profile.reads_files:
                return self._read(key, native.params_of(message, native.ReadFileParams))
            case "fs/write_text_file" if self._profile.reads_files:
                return self._guard(key, native.params_of(message, native.WriteFileParams))
            case "terminal/create" if self._profile.uses_terminals:
                return self._guard(key, native.params_of(message, native.TerminalParams))
            case method if method in _TERMINAL_METHODS and self._profile.uses_terminals:
                name = native.params_of(message, native.TerminalName)
                return self._on_terminal(key, method, name.terminal_id)
            case _:
                return None

    def _read(self, key: str, params: native.ReadFileParams) -> Iterator[Step]:
        if len(self._pending) >= MAX_PENDING:
            yield from self._refuse(key, -32603, "too many files are asked for at once")
            return
        self._pending[key] = params
        yield ReadTextFile(key=key, path=params.path, line=params.line, limit=params.limit)

    def _guard(self, key: str, params: Guarded) -> Iterator[Step]:
        """Ask for what nobody has allowed yet."""
        if not self._state.in_turn or self._state.is_interrupting:
            # Nobody is asked any more: between turns nothing would ever end the request.
            yield from self._refuse(key, NOT_ALLOWED, "no turn is running that this could be for")
        elif (full := self._full(params)) is not None:
            yield from self._refuse(key, -32603, full)
        elif self._is_granted(params):
            yield from self._begin(key, params)
        else:
            yield from self._state.confirm()
            self._unanswered[key] = params
            yield self._ask(key, params)

    def _full(self, params: Guarded) -> str | None:
        """Why there is no room for it; None: there is."""
        running = sum(not each.is_released for each in self._terminals.all.values())
        waiting = sum(isinstance(each, native.TerminalParams) for each in self._unanswered.values())
        if isinstance(params, native.TerminalParams) and running + waiting >= MAX_TERMINALS:
            return f"{MAX_TERMINALS} terminals are open; release one of them first"
        held = (*self._unanswered.values(), *self._pending.values(), params)
        texts = [each.content for each in held if isinstance(each, native.WriteFileParams)]
        if len(held) > MAX_PENDING or sum(map(len, texts)) > MAX_PENDING_CHARACTERS:
            return "too much is asked for at once; wait for an answer first"
        return None

    def _is_granted(self, params: Guarded) -> bool:
        if isinstance(params, native.WriteFileParams):
            return self._grants.covers_path(params.path)
        return self._grants.covers_command(params.words)

    def _ask(self, key: str, params: Guarded) -> AskPermission:
        if isinstance(params, native.WriteFileParams):
            about = {"path": params.path, "content": params.content}
            return AskPermission(
                key=key,
                action="write_text_file",
                metadata={"permission": "edit", "path": params.path, "input": about},
                item=self._grants.call_of_path(params.path),
                rule=f"write_text_file({params.path})",
                edits_files=True,
                files=(params.path,),
                change=FileChange(path=params.path, content=params.content),
            )
        about_command = {
            "permission": "execute",
            "command": shown_command(params.words),
            "cwd": self._cwd(params),
        }
        return AskPermission(
            key=key,
            action="terminal",
            metadata=about_command,
            item=self._grants.only_call(("execute",)),
            rule=f"terminal({shown_command(params.words)})",
        )

    def _cwd(self, params: native.TerminalParams) -> str:
        return posixpath.normpath(posixpath.join(self._directory, params.cwd or "."))

    def _refuse(self, key: str, code: int, message: str) -> Iterator[Step]:
        """Say no, so that people see it, too."""
        yield Respond(key=key, error=RpcError(code=code, message=message))
        yield from self._notices.status("refused", message, status="failed")

    # --- From people ---

    def answer(self, command: AnswerPermission | AnswerQuestion) -> Iterator[Step] | None:
        """A person, or a rule, has decided; None: this was not asked here."""
        params = self._unanswered.pop(command.key, None)
        if params is None or not isinstance(command, AnswerPermission):
            return None
        return self._answer(params, command)

    def _answer(self, params: Guarded, command: AnswerPermission) -> Iterator[Step]:
        if command.reply == "reject":
            why = f": {command.message}" if command.message else ""
            error = RpcError(code=NOT_ALLOWED, message=f"this was not allowed{why}")
            yield Respond(key=command.key, error=error)
        else:
            yield from self._begin(command.key, params)
        yield Resolve(command=command)

    def _begin(self, key: str, params: Guarded) -> Iterator[Step]:
        if isinstance(params, native.WriteFileParams):
            self._pending[key] = params
            yield WriteTextFile(key=key, path=params.path, content=params.content)
            return
        terminal = self._terminals.create(params, self._cwd(params), key)
        yield StartTerminal(
            key=terminal.id,
            command=params.command,
            args=params.args or (),
            env={each.name: each.value for each in params.env or ()},
            cwd=terminal.cwd,
        )

    def cancelled(self, key: str) -> Iterator[Step]:
        """The agent waits no longer for an answer."""
        if self._unanswered.pop(key, None) is not None:
            yield Respond(key=key, error=_CANCELLED)
            yield Withdraw(key=key)
        for terminal in self._terminals.all.values():
            if key in terminal.waits:
                terminal.waits.remove(key)
                yield Respond(key=key, error=_CANCELLED)

    def cancel(self) -> Iterator[Step]:
        """The turn is stopped, or over: nobody will answer."""
        for key in self._unanswered:
            yield Respond(key=key, error=_CANCELLED)
        self._unanswered.clear()

    # --- What became of it ---

    def on_service(self, event: ServiceEvent) -> Iterator[Step]:
        """Something became of a request."""
        match event:
            case FileRead(key=key, content=content):
                if self._pending.pop(key, None) is not None:
                    yield Respond(key=key, result={"content": content})
            case FileWritten():
                yield from self._on_written(event)
            case ServiceRefused():
                yield from self._on_refused(event)
            case TerminalStarted() | TerminalOutput() | TerminalExited():
                if (terminal := self._terminals.all.get(event.key)) is not None:
                    yield from self._on_terminal_event(terminal, event)
            case _:
                assert_never(event)

    def _on_written(self, event: FileWritten) -> Iterator[Step]:
        params = self._pending.pop(event.key, None)
        if not isinstance(params, native.WriteFileParams):
            return
        yield Respond(key=event.key, result={})
        written = Written(is_new=event.is_new, before=event.before, after=params.content)
        if not self._grants.add_written(params.path, written) and self._state.in_turn:
            yield from self._messages.cut()
            call = OwnCall(
                key=f"write:{event.key}",
                name="write_text_file",
                arguments={"path": params.path},
                files=(written.file_ref(params.path),),
            )
            yield from call.steps()

    def _on_refused(self, event: ServiceRefused) -> Iterator[Step]:
        terminal = self._terminals.all.pop(event.key, None)
        key = event.key if terminal is None else terminal.create_key
        if terminal is None and self._pending.pop(event.key, None) is None:
            return
        if event.reason == "not_found":  # agents look for files that may not be there
            yield Respond(key=key, error=RpcError(code=native.NOT_FOUND, message=event.message))
        else:
            yield from self._refuse(key, _CODES[event.reason], event.message)

    # --- Terminals ---

    def _on_terminal(self, key: str, method: str, terminal_id: str) -> Iterator[Step]:
        terminal = self._terminals.get(terminal_id)
        if terminal is None:
            message = f"there is no terminal {terminal_id!r}: it was released, or never created"
            yield from self._refuse(key, native.NOT_FOUND, message)
        elif method == "terminal/output":
            yield Respond(key=key, result=terminal.output.answer(terminal.exit))
        elif method == "terminal/wait_for_exit":
            if terminal.exit is None:
                terminal.waits.append(key)
                yield Defer()
            else:
                yield Respond(key=key, result=exit_status(terminal.exit))
        else:
            terminal.is_released = method == "terminal/release"
            yield from self._end(key, terminal)

    def _end(self, key: str, terminal: Terminal) -> Iterator[Step]:
        """Answer when nothing of it is left."""
        if terminal.exit is None:
            terminal.kills.append(key)
            yield EndTerminal(key=terminal.id)
            return
        yield Respond(key=key, result={})
        yield from self._leave(terminal)

    def _leave(self, terminal: Terminal) -> Iterator[Step]:
        """Keep nothing of a command that is over and released, once it is shown."""
        if terminal.is_released and self._tools.get(terminal.call_id) is None:
            yield from self._show(terminal)
            del self._terminals.all[terminal.id]

    def _on_terminal_event(
        self, terminal: Terminal, event: TerminalStarted | TerminalOutput | TerminalExited
    ) -> Iterator[Step]:
        match event:
            case TerminalStarted():
                yield Respond(key=terminal.create_key, result={"terminalId": terminal.id})
            case TerminalOutput(text=text):
                if (fresh := terminal.output.add(text)) and terminal.call_id is not None:
                    yield from self._tools.print_terminal(terminal.call_id, fresh)
            case TerminalExited():
                terminal.exit = event
                for key in terminal.waits:
                    yield Respond(key=key, result=exit_status(event))
                for key in terminal.kills:
                    yield Respond(key=key, result={})
                yield from self._leave(terminal)

    def _show(self, terminal: Terminal) -> Iterator[Step]:
        """Show a command that no tool call shows."""
        if terminal.call_id is not None or terminal.is_shown or not self._state.in_turn:
            return
        terminal.is_shown = True
        yield from self._messages.cut()
        exit = terminal.exit
        fields: ItemFields = {}
        if exit is not None and exit.code is not None:
            fields["exit_code"] = exit.code
        if terminal.output.is_cut:
            fields["truncated"] = True
        call = OwnCall(
            key=f"terminal:{terminal.id}",
            name="terminal",
            arguments={"command": terminal.command, "cwd": terminal.cwd},
            fields={"command": terminal.command, "cwd": terminal.cwd},
            output=terminal.output.beginning + terminal.output.ending,
            is_failed=exit is not None and exit.code != 0,
            result_fields=fields,
        )
        yield from call.steps()

    # --- Ends ---

    def end_turn(self, *, is_interrupted: bool) -> Iterator[Step]:
        """A turn ends; what runs in the background goes on, unless a person has said stop."""
        yield from self.cancel()
        for terminal in list(self._terminals.all.values()):
            if is_interrupted and terminal.exit is None and not terminal.is_background:
                yield EndTerminal(key=terminal.id)
            yield from self._show(terminal)
            terminal.is_background = True
            if terminal.is_released and terminal.exit is not None:
                del self._terminals.all[terminal.id]

    def close(self) -> Iterator[Step]:
        """The process is gone, and its commands with it."""
        for terminal in self._terminals.all.values():
            yield from self._show(terminal)
        self._terminals.all.clear()
        self._unanswered.clear()
        self._pending.clear()
