"""Codex's models, as it tells them itself."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from dragoman import __version__
from dragoman.facts import Catalogue, Launch
from dragoman.schema.http import ModelInfo, ModelList
from dragoman.wire.decode import decode

_ID = "models"
_LIMIT = 1000
"""More than there are, so that they come on one page."""


class _Effort(Struct, rename="camel"):
    reasoning_effort: str


class _Model(Struct, rename="camel"):
    id: str
    display_name: str | None = None
    hidden: bool = False
    is_default: bool = False
    supported_reasoning_efforts: tuple[_Effort, ...] = ()
    default_reasoning_effort: str | None = None


class _Page(Struct, frozen=True):
    data: tuple[_Model, ...] = ()


class _Reply(Struct):
    id: str | int | None = None
    result: _Page = _Page()


_reply = msgspec.json.Decoder(_Reply)


def launch(command: tuple[str, ...], cwd: str) -> Launch:
    """Start it to be asked, and nothing else: no look at plugins, and no report of it."""
    argv = (
        *command,
        "app-server",
        "-c", "features.plugins=false",
        "-c", "analytics.enabled=false",
    )  # fmt: skip
    return Launch(argv=argv, cwd=cwd, wire="jsonrpc-bare")


def read(message: bytes) -> ModelList | None:
    """The models, if this is the answer; none where it was refused."""
    reply = decode(message, _reply)
    if reply.id != _ID:
        return None
    shown = tuple(model for model in reply.result.data if not model.hidden)
    default = next((model.id for model in shown if model.is_default), None)
    return ModelList(models=tuple(map(_info, shown)), default_model=default)


def _info(model: _Model) -> ModelInfo:
    efforts = tuple(each.reasoning_effort for each in model.supported_reasoning_efforts)
    return ModelInfo(
        id=model.id,
        name=model.display_name,
        variants=efforts or None,
        default_variant=model.default_reasoning_effort,
    )


def _lines(*messages: dict[str, Any]) -> bytes:
    return b"\n".join(map(msgspec.json.encode, messages))


CATALOGUE = Catalogue(
    launch=launch,
    ask=_lines(
        {
            "id": "hello",
            "method": "initialize",
            "params": {"clientInfo": {"name": "dragoman", "version": __version__}},
        },
        {"method": "initialized"},
        {"id": _ID, "method": "model/list", "params": {"limit": _LIMIT}},
    ),
    read=read,
)
"""How Codex is asked for its models."""
