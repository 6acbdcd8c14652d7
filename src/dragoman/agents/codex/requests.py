"""Codex's requests to people: permissions, questions and forms, and the answers to them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.json import encode

from dragoman.agents.codex import native, native_items
from dragoman.agents.codex.items import ThreadItems
from dragoman.agents.codex.notices import Notices
from dragoman.agents.codex.subagents import Owner, Threads
from dragoman.agents.codex.tools import ToolCalls, diff_of, paths_of
from dragoman.dialects.forms import NO, form_content, form_questions, is_form
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import AskPermission, AskQuestion, Resolve, Respond, Step, Withdraw
from dragoman.wire.decode import decode as decode_json
from dragoman.wire.jsonrpc import METHOD_NOT_FOUND, RpcError

# --- Structs of the requests ---


class RequestParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: what a request is about."""

    item_id: str = ""
    reason: str | None = None


class Network(Struct, frozen=True, kw_only=True):
    """Where a command wants to connect to."""

    host: str = ""
    protocol: str = ""


class CommandApproval(RequestParams, frozen=True, kw_only=True):
    """May it run a command, or type into one that runs?"""

    kind: str = "command"
    approval_id: str | None = None
    command: str | None = None
    cwd: str | None = None
    command_actions: Any = None
    available_decisions: Any = None
    additional_permissions: Any = None
    network_approval_context: Network | None = None


class FileChangeApproval(RequestParams, frozen=True, kw_only=True):
    """May it apply a patch? The patch is in its item."""

    grant_root: str | None = None


class PermissionsApproval(RequestParams, frozen=True, kw_only=True):
    """May it read, write or connect where its sandbox forbids it?"""

    cwd: str | None = None
    permissions: dict[str, Any] = {}


class Option(Struct, frozen=True, kw_only=True):
    """An answer that is offered."""

    label: str
    description: str | None = None


class UserQuestion(Struct, frozen=True, kw_only=True, rename="camel"):
    """A question of the model."""

    id: str
    question: str = ""
    header: str | None = None
    options: tuple[Option, ...] | None = None
    is_other: bool = False
    is_secret: bool = False


class UserInput(RequestParams, frozen=True, kw_only=True):
    """Which answers does a person give?"""

    questions: tuple[UserQuestion, ...] = ()
    is_blocking: bool = True
    auto_resolution_ms: int | None = None


class Elicitation(RequestParams, frozen=True, kw_only=True):
    """An MCP server asks for a form, for a visit of a page, or to call its tool."""

    server_name: str = ""
    mode: str = "form"
    message: str = ""
    requested_schema: Any = None
    url: str | None = None
    meta: Any = msgspec.field(name="_meta", default=None)


class ClientToolCall(RequestParams, frozen=True, kw_only=True):
    """Call a tool of the client's."""

    call_id: str = ""
    tool: str = ""
    arguments: Any = None


class UnsupportedRequest(RequestParams, frozen=True, kw_only=True):
    """A request that is known, and not offered here."""


AnyRequest = (
    CommandApproval
    | FileChangeApproval
    | PermissionsApproval
    | UserInput
    | Elicitation
    | ClientToolCall
    | UnsupportedRequest
)

REQUESTS: dict[str, type[AnyRequest]] = {
    "item/commandExecution/requestApproval": CommandApproval,
    "item/fileChange/requestApproval": FileChangeApproval,
    "item/permissions/requestApproval": PermissionsApproval,
    "item/tool/requestUserInput": UserInput,
    "mcpServer/elicitation/request": Elicitation,
    "item/tool/call": ClientToolCall,
    "account/chatgptAuthTokens/refresh": UnsupportedRequest,
    "attestation/generate": UnsupportedRequest,
    "currentTime/read": UnsupportedRequest,
    "applyPatchApproval": UnsupportedRequest,
    "execCommandApproval": UnsupportedRequest,
}
"""Every request of 0.166.0."""

_decoders = {method: msgspec.json.Decoder(kind) for method, kind in REQUESTS.items()}


def decode(request: native.ServerRequest) -> AnyRequest:
    """What a request is about. Raise only msgspec errors."""
    decoder = _decoders.get(request.method)
    if decoder is None:
        raise msgspec.ValidationError(f"unknown request {request.method!r}")
    return decode_json(bytes(request.params), decoder)


# --- Requests that wait for an answer ---

Answer = AnswerPermission | AnswerQuestion


class PendingRequests:
    """The requests that wait for a person, by their keys."""

    def __init__(
        self,
        directory: str,
        threads: Threads,
        items: ThreadItems,
        tools: ToolCalls,
        notices: Notices,
    ) -> None:
        self._directory = directory
        self._threads = threads
        self._items = items
        self._tools = tools
        self._notices = notices
        self._pending: dict[str, AnyRequest] = {}
        self._delayed_refusals: dict[str, AnswerPermission] = {}
        """Refusals that are sent once Codex has their reasons."""
        self._calls_with_request: set[str] = set()
        """MCP calls that a request was about already: of two equal calls each has its own."""

    def ask(
        self, request: native.ServerRequest, params: AnyRequest, owner: Owner
    ) -> Iterator[Step]:
        """Ask a person; refuse what is not offered here."""
        call = self._call_of(params, owner)
        if isinstance(params, CommandApproval) and params.item_id and call is None:
            # Older versions ask before they send the item.
            yield from self._items.start(_command_item(params), owner)
            call = self._call_of(params, owner)
        context = RequestContext(
            directory=self._directory,
            tool=None if call is None else self._tools.pending[call],
            call=call,
            subagent=owner.subagent,
        )
        key = request.key
        step = permission(key, params, context) or question(key, params, context)
        if step is None:
            yield _refusal(key, params, request.method)
            yield from self._notices.status(owner, "refused", request.method, status="failed")
        else:
            self._pending[key] = params
            yield step

    def _call_of(self, params: AnyRequest, owner: Owner) -> str | None:
        """The key of the call that a request is about."""
        calls = self._tools.pending
        if isinstance(params, Elicitation):
            self._calls_with_request &= calls.keys()
            matches = (key for key, tool in calls.items() if is_about(params, tool))
            call = next((key for key in matches if key not in self._calls_with_request), None)
            self._calls_with_request |= set() if call is None else {call}
            return call
        key = owner.key(params.item_id)
        return key if key in calls else None

    def answer(self, answer: Answer, turn_id: str | None) -> Iterator[Step]:
        """A person, or a rule, has decided; `turn_id` is a running turn that takes messages.

        Codex takes no reason with a refusal: it is sent before, as a message of a person. Sent
        after the refusal it would cut the model's next answer short.
        """
        match answer:
            case AnswerPermission(reply="reject", message=str(why)) if why and turn_id is not None:
                tag, text = f"explain:{answer.key}", [{"type": "text", "text": why}]
                yield self._threads.request("turn/steer", tag, expectedTurnId=turn_id, input=text)
                self._delayed_refusals[answer.key] = answer
            case _:
                yield self._response(answer)
        yield Resolve(command=answer)

    def send_delayed(self, key: str) -> Iterator[Step]:
        """Codex has the reason of a refusal; it may have withdrawn the request by now."""
        answer = self._delayed_refusals.pop(key, None)
        if answer is not None and key in self._pending:
            yield self._response(answer)

    def _response(self, answer: Answer) -> Respond:
        params = self._pending.pop(answer.key, UnsupportedRequest())
        if isinstance(answer, AnswerPermission):
            return Respond(key=answer.key, result=permission_answer(params, answer))
        return Respond(key=answer.key, result=question_answer(params, answer))

    def resolve(self, key: str, *, is_interrupted: bool) -> Iterator[Step]:
        """Codex no longer waits: it has our answer, or withdraws the request."""
        if self._pending.pop(key, None) is not None:
            yield Withdraw(key=key, reason="interrupt" if is_interrupted else "agent")

    def reset(self) -> None:
        """Forget all requests: the process is gone."""
        self._pending.clear()
        self._delayed_refusals.clear()
        self._calls_with_request.clear()


def _command_item(params: CommandApproval) -> native_items.CommandExecution:
    return native_items.CommandExecution(
        id=params.item_id, command=params.command or "", cwd=params.cwd
    )


def _refusal(key: str, params: AnyRequest, method: str) -> Respond:
    """Refuse what is not offered here, in the form that Codex expects."""
    match params:
        case ClientToolCall(tool=tool):
            text = f"there is no tool {tool!r} here"
            result = {"contentItems": [{"type": "inputText", "text": text}], "success": False}
            return Respond(key=key, result=result)
        case Elicitation():
            return Respond(key=key, result={"action": "decline"})
        case _:
            message = f"{method} is not offered here"
            return Respond(key=key, error=RpcError(code=METHOD_NOT_FOUND, message=message))


# --- Permissions ---

_DECISIONS = {"once": "accept", "always": "acceptForSession", "reject": "decline"}
_GUARDED = frozenset({".git", ".codex", ".agents"})
"""Folders that Codex's own sandbox protects from writes: what is in them may be run later."""


class RequestContext(Struct, frozen=True, kw_only=True):
    """Whose request it is, and for which tool."""

    directory: str
    tool: native_items.Tool | None = None
    call: str | None = None
    """The key of the tool's call."""
    subagent: str | None = None

    @property
    def changes(self) -> tuple[native_items.Change, ...]:
        """The changes of the patch that the request is about."""
        return self.tool.changes if isinstance(self.tool, native_items.FileChange) else ()


def permission(key: str, params: AnyRequest, context: RequestContext) -> AskPermission | None:
    """The permission that is asked for; None: the request is none."""
    match params:
        case CommandApproval():
            action = "commandExecution"
            metadata, rule = _command(params, context), _command_rule(params, context)
        case FileChangeApproval():
            action = "fileChange"
            metadata, rule = _patch(params, context), _patch_rule(context)
        case PermissionsApproval():
            action, rule = "permissions", f"permissions({encode(params.permissions).decode()})"
            metadata = {
                "input": params.permissions,
                "permission": "permissions",
                "permissions": params.permissions,
                "cwd": params.cwd,
            }
        case Elicitation() if _is_tool_call(params):
            action = rule = tool_name(params, context.tool)
            metadata = {
                "input": params.meta.get("tool_params"),
                "permission": params.meta["codex_approval_kind"],
                "agent_reason": params.message,
                "description": params.meta.get("tool_description"),
            }
        case _:
            return None
    metadata = {
        **metadata,
        "agent_reason": metadata.get("agent_reason") or params.reason,
        "call_id": None if context.tool is None else context.tool.id,
        "subagent_id": context.subagent,
    }
    return AskPermission(
        key=key,
        action=action,
        metadata={name: value for name, value in metadata.items() if value is not None},
        item=context.call,
        rule=rule,
        edits_files=isinstance(params, FileChangeApproval),
        files=paths_of(context.changes),
        guarded=isinstance(params, FileChangeApproval) and not _in_workspace(params, context),
        detached=context.subagent is not None,
    )


def _command(params: CommandApproval, context: RequestContext) -> dict[str, Any]:
    item = context.tool if isinstance(context.tool, native_items.CommandExecution) else None
    command = params.command or (item.command if item else None)
    cwd = params.cwd or (item.cwd if item else None)
    network = params.network_approval_context
    return {
        "input": {"command": command, "cwd": cwd},
        "command": command,
        "cwd": cwd,
        "permission": params.kind,
        "network": None
        if network is None
        else {"host": network.host, "protocol": network.protocol},
        "permissions": params.additional_permissions,
        "available_decisions": params.available_decisions,
    }


def _command_rule(params: CommandApproval, context: RequestContext) -> str:
    """What "always" allows: the same command, in the same directory, with the same sandbox.

    Codex does not say that a command is to run without the sandbox, but then there is a reason.
    """
    network = params.network_approval_context
    if network is not None:
        return f"network({network.protocol}://{network.host})"
    where = "" if params.cwd in (None, context.directory) else f" in {params.cwd}"
    more = params.additional_permissions
    extras = [params.reason, None if more is None else encode(more).decode()]
    return "; ".join([f"{params.kind}({params.command}){where}", *filter(None, extras)])


def _patch(params: FileChangeApproval, context: RequestContext) -> dict[str, Any]:
    changes = context.changes
    return {
        "input": {"changes": [{"path": each.path, "kind": each.kind.type} for each in changes]},
        "permission": "fileChange",
        "paths": list(paths_of(changes)),
        "diff": "".join(map(diff_of, changes)) or None,
        "grant_root": params.grant_root,
    }


def _patch_rule(context: RequestContext) -> str:
    return f"fileChange({', '.join(paths_of(context.changes))})"


def _in_workspace(params: FileChangeApproval, context: RequestContext) -> bool:
    """Whether a mode may answer; a person decides on other places, guarded ones, and for good."""
    paths, root = paths_of(context.changes), posixpath.normpath(context.directory)
    return bool(paths) and params.grant_root is None and all(_is_below(p, root) for p in paths)


def _is_below(path: str, root: str) -> bool:
    path = posixpath.normpath(posixpath.join(root, path))
    is_inside = posixpath.commonpath([root, path]) == root
    return is_inside and _GUARDED.isdisjoint(posixpath.relpath(path, root).split("/"))


def permission_answer(params: AnyRequest, answer: AnswerPermission) -> dict[str, Any]:
    """The result that Codex expects."""
    match params:
        case PermissionsApproval():
            permissions = {} if answer.reply == "reject" else params.permissions
            scope = "session" if answer.reply == "always" else "turn"
            return {"permissions": permissions, "scope": scope}
        case Elicitation():
            if answer.reply == "reject":
                return {"action": "decline"}
            persist = {"_meta": {"persist": "session"}} if answer.reply == "always" else {}
            return {"action": "accept", "content": {}, **persist}
        case _:
            return {"decision": _DECISIONS[answer.reply]}


# --- Calls of MCP servers' tools ---


def _is_tool_call(params: Elicitation) -> bool:
    meta = params.meta
    return isinstance(meta, dict) and meta.get("codex_approval_kind") == "mcp_tool_call"


def is_about(params: Elicitation, item: native_items.Tool) -> bool:
    """Whether a request is about this call. Codex names neither the item nor the tool."""
    return (
        _is_tool_call(params)
        and isinstance(item, native_items.McpToolCall)
        and item.server == params.server_name
        and item.arguments == params.meta.get("tool_params")
        and f'"{item.tool}"' in params.message
    )


def tool_name(params: Elicitation, item: native_items.Tool | None) -> str:
    """The tool's full name; without an item, the one that the message quotes."""
    if isinstance(item, native_items.McpToolCall):
        return f"mcp__{item.server}__{item.tool}"
    pieces = params.message.split('"')
    return f"mcp__{params.server_name}__{pieces[1]}" if len(pieces) > 2 else params.server_name


# --- Questions ---

VISITED, DECLINED = "Done", "Decline"


def question(key: str, params: AnyRequest, context: RequestContext) -> AskQuestion | None:
    """The question that is asked; None: the request is none."""
    metadata: dict[str, Any]
    match params:
        case UserInput():
            questions = tuple(map(_question, params.questions))
            metadata = {"call_id": params.item_id or None}
        case Elicitation(mode="url"):
            prompt = f"{params.message}\n\n{params.url}".strip()
            options = (QuestionOption(label=VISITED), QuestionOption(label=DECLINED))
            questions = (Question(header=params.server_name, prompt=prompt, options=options),)
            metadata = {"url": params.url, "server": params.server_name}
        case Elicitation() if not _is_tool_call(params) and is_form(params.requested_schema):
            questions = form_questions(params.message, params.requested_schema)
            required = params.requested_schema.get("required")
            server = params.server_name
            metadata = {"server": server, "message": params.message, "required": required}
        case _:
            return None
    metadata["subagent_id"] = context.subagent
    return AskQuestion(
        key=key,
        questions=questions,
        metadata={name: value for name, value in metadata.items() if value is not None},
        detached=context.subagent is not None,
    )


def _question(native_question: UserQuestion) -> Question:
    options = tuple(
        QuestionOption(label=option.label, description=option.description or None)
        for option in native_question.options or ()
    )
    return Question(
        question_id=native_question.id,
        header=native_question.header or UNSET,
        prompt=native_question.question,
        options=options,
        allow_other=native_question.is_other or not options,
        secret=native_question.is_secret or UNSET,
    )


def question_answer(params: AnyRequest, answer: AnswerQuestion) -> dict[str, Any]:
    """The result that Codex expects."""
    answers = answer.answers
    match params:
        case UserInput(questions=questions):
            pairs = zip(questions, answers or (), strict=False)
            return {"answers": {each.id: {"answers": list(labels)} for each, labels in pairs}}
        case Elicitation() if answers is None or answers == ((NO,),):
            return {"action": "decline"}
        case Elicitation(mode="url"):
            return {"action": "accept" if answers == ((VISITED,),) else "decline"}
        case Elicitation(requested_schema=schema):
            return {"action": "accept", "content": form_content(schema, answers or ())}
        case _:
            return {}
