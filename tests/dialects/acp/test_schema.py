"""Our structs and our messages against the schema in the package `agent-client-protocol`."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from acp import meta, schema
from msgspec.structs import replace
from pydantic import BaseModel

from dragoman.dialects.acp import native
from dragoman.schema.commands import Attachment, Configure, Interrupt
from dragoman.services import FileRead, FileWritten, TerminalExited, TerminalStarted
from dragoman.steps import Notify, Request, Respond
from tests.dialects.acp.peer import CAN_ALL, SPEC, Peer
from tests.dialects.acp.test_opening import OPTIONS, SERVERS
from tests.dialects.acp.test_requests import SCHEMA, ask
from tests.dialects.acp.test_services import Scripted

MODELS: dict[type, tuple[type[BaseModel], ...]] = {
    native.TextBlock: (schema.TextContentBlock,),
    native.ImageBlock: (schema.ImageContentBlock,),
    native.AudioBlock: (schema.AudioContentBlock,),
    native.LinkBlock: (schema.ResourceContentBlock,),
    native.ResourceBlock: (schema.EmbeddedResourceContentBlock,),
    native.ResourceContents: (schema.TextResourceContents, schema.BlobResourceContents),
    native.PlainContent: (schema.ContentToolCallContent,),
    native.DiffContent: (schema.FileEditToolCallContent,),
    native.TerminalContent: (schema.TerminalToolCallContent,),
    native.UserChunk: (schema.UserMessageChunk,),
    native.AgentChunk: (schema.AgentMessageChunk,),
    native.ThoughtChunk: (schema.AgentThoughtChunk,),
    native.ToolStart: (schema.ToolCallStart,),
    native.ToolUpdate: (schema.ToolCallProgress,),
    native.PlanUpdate: (schema.AgentPlanUpdate,),
    native.PlanContentUpdate: (schema.AgentPlanContentUpdate,),
    native.CommandsUpdate: (schema.AvailableCommandsUpdate,),
    native.ModeUpdate: (schema.CurrentModeUpdate,),
    native.OptionsUpdate: (schema.ConfigOptionUpdate,),
    native.InfoUpdate: (schema.SessionInfoUpdate,),
    native.UsageUpdate: (schema.UsageUpdate,),
    native.PermissionOption: (schema.PermissionOption,),
    native.PermissionParams: (schema.RequestPermissionRequest,),
    native.ElicitationParams: (
        schema.CreateFormSessionElicitationRequest,
        schema.CreateUrlSessionElicitationRequest,
    ),
    native.ElicitationComplete: (schema.CompleteElicitationNotification,),
    native.ReadFileParams: (schema.ReadTextFileRequest,),
    native.WriteFileParams: (schema.WriteTextFileRequest,),
    native.EnvVariable: (schema.EnvVariable,),
    native.TerminalParams: (schema.CreateTerminalRequest,),
    native.TerminalName: (schema.TerminalOutputRequest,),
    native.UpdateParams: (schema.SessionNotification,),
    native.PromptCapabilities: (schema.PromptCapabilities,),
    native.McpCapabilities: (schema.McpCapabilities,),
    native.SessionCapabilities: (schema.SessionCapabilities,),
    native.AgentFeatures: (schema.AgentCapabilities,),
    native.InitializeResult: (schema.InitializeResponse,),
    native.ModeName: (schema.SessionMode,),
    native.SessionModes: (schema.SessionModeState,),
    native.SessionName: (schema.SessionInfo,),
    native.KnownSessions: (schema.ListSessionsResponse,),
    native.SelectOption: (schema.SessionConfigOptionSelect,),
    native.TokenCounts: (schema.Usage,),
    native.PromptResult: (schema.PromptResponse,),
}


def names(model: type[BaseModel]) -> set[str]:
    """How a model's fields are written."""
    return {field.alias or name for name, field in model.model_fields.items()}


@pytest.mark.parametrize("struct", MODELS, ids=lambda struct: struct.__name__)
def test_what_we_read_is_in_the_schema(struct: type) -> None:
    fields = {each.encode_name for each in msgspec.structs.fields(struct)}
    known = set().union(*(names(model) for model in MODELS[struct]))
    assert fields <= known


def test_every_kind_of_update_and_content_is_known() -> None:
    update = schema.SessionNotification.model_fields["update"].annotation
    kinds = {_tag(each, "session_update") for each in _members(update)}
    assert kinds == set(native.UPDATES)
    block = schema.AgentMessageChunk.model_fields["content"].annotation
    tags = {each.__struct_config__.tag for each in get_args(native.KnownBlock)}
    assert {_tag(each, "type") for each in _members(block)} == tags
    content = schema.ToolCallProgress.model_fields["content"].annotation
    tags = {each.__struct_config__.tag for each in get_args(native.KnownToolContent)}
    assert {_tag(each, "type") for each in _members(content)} == tags


def _members(annotation: Any) -> list[type[BaseModel]]:
    """The models in a union, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for each in get_args(annotation) for model in _members(each)]


def _tag(model: type[BaseModel], name: str) -> Any:
    (value,) = get_args(model.model_fields[name].annotation)
    return value


def test_the_version_is_the_one_that_we_speak() -> None:
    assert meta.PROTOCOL_VERSION == native.PROTOCOL_VERSION


REQUESTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "authenticate": schema.AuthenticateRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/fork": schema.ForkSessionRequest,
    "session/list": schema.ListSessionsRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
}
NOT_IN_THE_SCHEMA = {"session/set_model"}
"""An older, unstable way that some agents still have."""


def conversations() -> list[Peer]:
    """All that we ever say."""
    plain = Peer(replace(SPEC, mcp=SERVERS, env={"TOKEN": "t"})).open(configOptions=OPTIONS)
    plain.command(Configure(model="two"))
    plain.replies({})
    file = Attachment(path="/a.png", mime="image/png")
    plain.send("Hi", attachments=(file, Attachment(path="/b")), images={"/a.png": b"png"})
    plain.permit(ask(plain), "once")
    plain.permit(ask(plain, toolCallId="c2"), "reject")
    for mode in ({"mode": "form", "requestedSchema": SCHEMA}, {"mode": "url", "url": "u"}):
        key = plain.asks("elicitation/create", message="?", elicitationId="e", **mode)
        plain.answer(key, ("Red",), ("1",), ("Yes",), ("a",)) if "url" not in mode else None
    ask(plain, toolCallId="c3")
    plain.command(Interrupt())
    old = Peer(replace(SPEC, agent_mode="plan")).open(
        modes={"currentModeId": "ask", "availableModes": []}
    )
    found = [plain, old]
    for fork, can in ((False, CAN_ALL), (True, CAN_ALL), (False, {"loadSession": True})):
        peer = Peer(replace(SPEC, native_session_id="n0", fork=fork))
        greeting = {"agentCapabilities": can, "authMethods": [{"id": "api", "name": "A"}]}
        peer.replies({"protocolVersion": 1, **greeting})
        peer.refuses(-32000 if fork else -32603, "no")
        found.append(peer)
    return found


def test_what_we_send_is_valid() -> None:
    said: set[str] = set()
    for peer in conversations():
        for each in peer.sent:
            if isinstance(each, Request | Notify) and each.method not in NOT_IN_THE_SCHEMA:
                said.add(each.method)
                _ensure_valid(REQUESTS[each.method], each.params)
    assert said == set(REQUESTS)


def test_what_we_answer_is_valid() -> None:
    (plain, *_) = conversations()
    for key in ("0", "1", "4"):
        (answer,) = plain.responses(key)
        _ensure_valid(schema.RequestPermissionResponse, answer)
    for key, model in (("2", schema.AcceptElicitationResponse),
                       ("3", schema.CancelElicitationResponse)):  # fmt: skip
        (answer,) = plain.responses(key)
        _ensure_valid(model, answer)


def test_what_services_are_answered_with_is_valid() -> None:
    agent = Scripted()
    read, _ = agent.ask("fs/read_text_file", path="/work/a")
    steps = agent.on(FileRead(key=read, content="x"))
    write, _ = agent.ask("fs/write_text_file", path="/work/a", content="x")
    agent.allow(write)
    steps += agent.on(FileWritten(key=write, is_new=True))
    create, _ = agent.ask("terminal/create", command="make")
    agent.allow(create)
    steps += agent.on(TerminalStarted(key="term_1"))
    early, found = agent.ask("terminal/output", terminalId="term_1")
    wait, _ = agent.ask("terminal/wait_for_exit", terminalId="term_1")
    kill, _ = agent.ask("terminal/kill", terminalId="term_1")
    steps += found + agent.on(TerminalExited(key="term_1", signal="SIGTERM"))
    late, found = agent.ask("terminal/output", terminalId="term_1")
    release, more = agent.ask("terminal/release", terminalId="term_1")
    answers = {each.key: each.result for each in steps + found + more if isinstance(each, Respond)}
    for key, model in (
        (read, schema.ReadTextFileResponse), (write, schema.WriteTextFileResponse),
        (create, schema.CreateTerminalResponse), (early, schema.TerminalOutputResponse),
        (wait, schema.WaitForTerminalExitResponse), (kill, schema.KillTerminalResponse),
        (late, schema.TerminalOutputResponse), (release, schema.ReleaseTerminalResponse),
    ):  # fmt: skip
        _ensure_valid(model, answers[key])


def _ensure_valid(model: type[BaseModel], value: Any) -> None:
    """It is valid, and every member of it means something."""
    plain = msgspec.json.decode(msgspec.json.encode(value))
    parsed = model.model_validate(plain)
    assert plain.keys() <= names(model)
    assert parsed.model_dump(by_alias=True, exclude_unset=True, mode="json").keys() == plain.keys()
