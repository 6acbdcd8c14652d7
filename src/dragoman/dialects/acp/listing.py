"""How an ACP agent is asked for its models and modes: only a session tells them."""

from __future__ import annotations

import msgspec

from dragoman.dialects.acp import native, settings
from dragoman.dialects.acp.launch import initialize_params
from dragoman.dialects.acp.profile import Profile
from dragoman.facts import Catalogue, Launch
from dragoman.schema.http import ModeList, ModelList
from dragoman.wire.decode import decode

_SESSION = "dragoman-2"


class _NewSession(msgspec.Struct, frozen=True):
    id: msgspec.Raw = msgspec.Raw(b"")
    result: native.SessionResult | None = None


_new_session = msgspec.json.Decoder(_NewSession)


def catalogue(profile: Profile) -> Catalogue:
    """Begin a session in a process that does nothing else, and read what it can have."""
    return Catalogue(
        launch=lambda command, cwd: Launch(argv=command, cwd=cwd),
        ask=b"\n".join(
            (
                _line("dragoman-1", "initialize", initialize_params(profile)),
                _line(_SESSION, "session/new", {"cwd": "/", "mcpServers": []}),
            )
        ),
        read=read_listing,
        tells_modes=True,
        patience=4,
    )


def _line(id: str, method: str, params: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def read_listing(message: bytes) -> tuple[ModelList | ModeList, ...]:
    """The modes and models, if this line opens the session; an agent without any lists none."""
    try:
        answer = decode(message, _new_session)
    except msgspec.DecodeError:
        return ()
    if bytes(answer.id) != msgspec.json.encode(_SESSION):
        return ()
    result = answer.result or native.SessionResult()
    models = tuple(settings.models_in(result))
    listed = ModelList(models=models, default_model=settings.default_model_in(result))
    return (ModeList(modes=tuple(settings.modes_in(result))), listed)
