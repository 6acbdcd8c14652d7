"""Claude Code's models, as it tells them itself."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from dragoman.facts import Catalogue, Launch
from dragoman.schema.http import ModelInfo, ModelList
from dragoman.wire.decode import decode

_ID = "models"


class _Model(Struct, rename="camel"):
    value: str
    display_name: str | None = None
    supported_effort_levels: tuple[str, ...] | None = None


class _Initialized(Struct):
    models: tuple[_Model, ...] = ()


class _Response(Struct):
    request_id: str = ""
    subtype: str = ""
    response: Raw = Raw(b"{}")


class _Line(Struct):
    type: str
    response: Raw = Raw(b"{}")


_line = msgspec.json.Decoder(_Line)
_response = msgspec.json.Decoder(_Response)
_initialized = msgspec.json.Decoder(_Initialized)


def launch(command: tuple[str, ...], cwd: str) -> Launch:
    """Start it to be asked, and nothing else: no servers, no hooks, no trace of a session."""
    argv = (
        *command,
        "-p",
        "--input-format", "stream-json",
        "--output-format", "stream-json",
        "--verbose",
        "--strict-mcp-config",
        "--settings", '{"disableAllHooks":true}',
        "--no-session-persistence",
    )  # fmt: skip
    return Launch(argv=argv, env={"DISABLE_AUTOUPDATER": "1", "CLAUDECODE": ""}, cwd=cwd)


def read(message: bytes) -> ModelList | None:
    """The models, if this is the answer; none where it was refused."""
    line = decode(message, _line)
    if line.type != "control_response":
        return None
    response = decode(bytes(line.response), _response)
    if response.request_id != _ID:
        return None
    if response.subtype != "success":
        return ModelList(models=())
    found = tuple(map(_info, decode(bytes(response.response), _initialized).models))
    known = any(model.id == "default" for model in found)
    return ModelList(models=found, default_model="default" if known else None)


def _info(model: _Model) -> ModelInfo:
    return ModelInfo(
        id=model.value, name=model.display_name, variants=model.supported_effort_levels
    )


CATALOGUE = Catalogue(
    launch=launch,
    ask=msgspec.json.encode(
        {"type": "control_request", "request_id": _ID, "request": {"subtype": "initialize"}}
    ),
    read=read,
)
"""How Claude Code is asked for its models."""
