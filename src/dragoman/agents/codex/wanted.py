"""What Codex wants of its client: narrow structs of its requests."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from dragoman.agents.codex import native
from dragoman.wire.decode import decode as decode_json


class Wish(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: what a request is about."""

    item_id: str = ""
    reason: str | None = None


class Network(Struct, frozen=True, kw_only=True):
    """Where a command wants to connect to."""

    host: str = ""
    protocol: str = ""


class RunCommand(Wish, frozen=True, kw_only=True):
    """To run a command, or to type into one that runs."""

    kind: str = "command"
    approval_id: str | None = None
    command: str | None = None
    cwd: str | None = None
    command_actions: Any = None
    available_decisions: Any = None
    additional_permissions: Any = None
    network_approval_context: Network | None = None


class ChangeFiles(Wish, frozen=True, kw_only=True):
    """To apply a patch, which is in its item."""

    grant_root: str | None = None


class GrantPermissions(Wish, frozen=True, kw_only=True):
    """To read, write or connect where it could not."""

    cwd: str | None = None
    permissions: dict[str, Any] = {}


class Option(Struct, frozen=True, kw_only=True):
    """An answer that is offered."""

    label: str
    description: str | None = None


class Asked(Struct, frozen=True, kw_only=True, rename="camel"):
    """A question."""

    id: str
    question: str = ""
    header: str | None = None
    options: tuple[Option, ...] | None = None
    is_other: bool = False
    is_secret: bool = False


class UserInput(Wish, frozen=True, kw_only=True):
    """Answers to questions."""

    questions: tuple[Asked, ...] = ()
    is_blocking: bool = True
    auto_resolution_ms: int | None = None


class Elicitation(Wish, frozen=True, kw_only=True):
    """What an MCP server wants: a form, a visit of a page, or leave for a call of its tool."""

    server_name: str = ""
    mode: str = "form"
    message: str = ""
    requested_schema: Any = None
    url: str | None = None
    about: Any = msgspec.field(name="_meta", default=None)


class CallTool(Wish, frozen=True, kw_only=True):
    """To call a tool of the client's."""

    call_id: str = ""
    tool: str = ""
    arguments: Any = None


class Other(Wish, frozen=True, kw_only=True):
    """What we do not offer."""


AnyWish = RunCommand | ChangeFiles | GrantPermissions | UserInput | Elicitation | CallTool | Other

KINDS: dict[str, type[AnyWish]] = {
    "item/commandExecution/requestApproval": RunCommand,
    "item/fileChange/requestApproval": ChangeFiles,
    "item/permissions/requestApproval": GrantPermissions,
    "item/tool/requestUserInput": UserInput,
    "mcpServer/elicitation/request": Elicitation,
    "item/tool/call": CallTool,
    "account/chatgptAuthTokens/refresh": Other,
    "attestation/generate": Other,
    "currentTime/read": Other,
    "applyPatchApproval": Other,
    "execCommandApproval": Other,
}
"""What each request is."""
KNOWN = frozenset(KINDS)
"""Every request that is understood."""

_decoders = {method: msgspec.json.Decoder(kind) for method, kind in KINDS.items()}


def decode(wanted: native.Wanted) -> AnyWish:
    """What is wanted. Raise only msgspec errors."""
    decoder = _decoders.get(wanted.method)
    if decoder is None:
        raise msgspec.ValidationError(f"unknown request {wanted.method!r}")
    return decode_json(bytes(wanted.params), decoder)
