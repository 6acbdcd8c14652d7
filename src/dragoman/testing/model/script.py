"""Parses scripts from YAML, JSON or Python values; errors name the step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import yaml
from msgspec import Struct

from dragoman.errors import DragomanError
from dragoman.testing.model.steps import AnyBlock, HttpError, Step, StreamError, Usage, When

StepLike = Step | Mapping[str, Any] | str
"""A step, its keys and values as in YAML, or only a text."""
BLOCKS: dict[str, type[Struct]] = {
    str(block.__struct_config__.tag): block for block in get_args(AnyBlock)
}
NESTED: dict[str, type[Struct]] = {
    "usage": Usage,
    "error": HttpError,
    "stream_error": StreamError,
    "when": When,
}
_AT = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")

# Learned now, once: two threads that have msgspec learn a type at once crash (0.22.0).
msgspec.json.Decoder(Step)


class ScriptError(DragomanError):
    """A script that cannot be played; the message names the step."""

    title = "Script Error"


def load(path: Path) -> list[Step]:
    """Read a script from a YAML or JSON file."""
    try:
        content = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"cannot read the script {path}: {error}") from None
    try:
        given = msgspec.json.decode(content) if path.suffix == ".json" else yaml.safe_load(content)
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        raise ScriptError(f"{path} is neither YAML nor JSON: {error}") from None
    if not isinstance(given, list):
        raise ScriptError(f"{path} is no script: a script is a list of steps")
    try:
        return parse(given)
    except ScriptError as error:
        raise ScriptError(f"{path}: {error}") from None


def parse(given: Iterable[StepLike]) -> list[Step]:
    """Make steps of what was given."""
    return [_step(each, f"step {number}") for number, each in enumerate(given, 1)]


def _step(given: Any, where: str) -> Step:
    step = _converted({"text": given} if isinstance(given, str) else given, where)
    _check(step, where)
    return step


def _converted(given: Any, where: str) -> Step:
    keys = {key: value for key, value in _keys(given, Step, where).items() if value is not None}
    if isinstance(keys.get("error"), int):
        keys["error"] = {"status": keys["error"]}
    for name, struct in NESTED.items():
        if name in keys:
            keys[name] = _keys(keys[name], struct, f"{where}, {name}")
    if isinstance(keys.get("blocks"), list | tuple):
        keys["blocks"] = [
            _block(block, f"{where}, block {number}")
            for number, block in enumerate(keys["blocks"], 1)
        ]
    try:
        return msgspec.convert(keys, Step)
    except msgspec.ValidationError as error:
        raise ScriptError(_located(where, str(error))) from None


def _block(given: Any, where: str) -> Any:
    if isinstance(given, Struct):
        return msgspec.to_builtins(given)
    if not isinstance(given, Mapping):
        raise ScriptError(f"{where}: a block is a mapping, not {given!r}")
    kind = next((kind for kind in BLOCKS if kind in given), None)
    if kind is None:
        raise ScriptError(f"{where}: a block has one of {', '.join(BLOCKS)}, not {sorted(given)}")
    return {"kind": kind, **_keys(given, BLOCKS[kind], where)}


def _keys(given: Any, struct: type[Struct], where: str) -> dict[str, Any]:
    if isinstance(given, Struct):
        return msgspec.structs.asdict(given)
    if not isinstance(given, Mapping):
        raise ScriptError(f"{where}: expected a mapping, not {given!r}")
    known = struct.__struct_fields__
    for key in given:
        if key not in known:
            raise ScriptError(f"{where}: unknown key {key!r}; known: {', '.join(known)}")
    return dict(given)


def _located(where: str, message: str) -> str:
    at = _AT.search(message)
    path = at[1] if at else ""
    path = re.sub(r"^blocks\[(\d+)\]\.?", lambda found: f"block {int(found[1]) + 1}, ", path)
    place = ", ".join(part for part in (where, path.strip(", ")) if part)
    return f"{place}: {_AT.sub('', message).replace(' | null`', '`')}"


def _check(step: Step, where: str) -> None:
    """Find what the types cannot say."""
    for wrong, why in (
        (step.text is not None and step.blocks, "text is short for blocks: give one of them"),
        (step.error and (step.content() or step.end), "an error comes instead of blocks and end"),
        (not (step.error or step.end or step.content()),
         "it needs text, blocks, an error or an end"),
        (step.gate and not _speaks(step), "gate is a pause before a delta, and there is none"),
        ((step.end or "").endswith("_in_block") and not _speaks(step), f"{step.end} needs a block"),
        (step.stream_error and not (step.end or "").startswith("error"),
         "stream_error needs end: error"),
        (step.times > 1 and step.call_ids(), "a call with an id of its own is served once only"),
        (any(getattr(b, "raw", None) is not None and getattr(b, "input", None)
             for b in step.blocks), "raw stands for the input: give one of them"),
        (not _encodable(step), "a lone surrogate is no text that an API can send"),
    ):  # fmt: skip
        if wrong:
            raise ScriptError(f"{where}: {why}")


def _speaks(step: Step) -> bool:
    return any(block.__struct_config__.tag != "gate" for block in step.content())


def _encodable(step: Step) -> bool:
    try:
        msgspec.json.encode(step)
    except UnicodeEncodeError:
        return False
    return True
