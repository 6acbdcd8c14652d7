"""Parses queries and bodies into structs; errors say what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct, inspect
from starlette.requests import ClientDisconnect, Request

from dragoman.errors import InvalidRequest, TooLarge, UnsupportedMediaType
from dragoman.http.wrong_key import STEP, keyed
from dragoman.wire.decode import decode

S = TypeVar("S", bound=Struct)
_AT = re.compile(r" - at (`key` in )?`\$\.?(.*)`$")
_PATTERN = re.compile(r"Expected `str` matching regex (.*)")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_LARGEST = 2**63 - 1
"""The store counts so far."""
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def query(wanted: type[S], query_string: bytes, *, lists: Collection[str] = ()) -> S:
    """Parse a query; parameters may be spelled in snake_case or camelCase.

    Those in `lists` hold several words between commas, and may be given more than once.
    """
    names = _spellings(wanted)
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise InvalidRequest(
            "the query is not valid percent-encoded UTF-8", field="query"
        ) from None
    given: dict[str, Any] = {}
    for name, value in ((names[name], value) for name, value in pairs if name in names):
        if name in given and name not in lists:
            raise InvalidRequest(f"{name} is given twice; give it once", field=name)
        given[name] = f"{given[name]},{value}" if name in given else value
    for name, read in _readers(wanted).items():
        if name in given:
            given[name] = read(name, given[name])
    try:
        return msgspec.convert(given, wanted)
    except msgspec.ValidationError as error:
        raise _invalid(error, wanted) from None


@cache
def _spellings(wanted: type[Struct]) -> dict[str, str]:
    fields = msgspec.structs.fields(wanted)
    names = {field.name: field.encode_name for field in fields}
    return names | {field.encode_name: field.encode_name for field in fields}


@cache
def _readers(wanted: type[Struct]) -> dict[str, Callable[[str, str], int | bool]]:
    """How the parameters are read that are more than words."""
    readers: dict[str, Callable[[str, str], int | bool]] = {}
    for field in msgspec.structs.fields(wanted):
        kinds = set(map(type, _kinds(inspect.type_info(field.type))))
        if inspect.IntType in kinds:
            readers[field.encode_name] = _number
        elif inspect.BoolType in kinds:
            readers[field.encode_name] = _flag
    return readers


def _kinds(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    if isinstance(kind, inspect.Metadata):
        return _kinds(kind.type)
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _number(name: str, written: str) -> int:
    found = number(written)
    if found is None:
        told = f"{name} must be a whole number in plain digits, from 0 to {_LARGEST}"
        raise InvalidRequest(told, field=name)
    return found


def number(written: str) -> int | None:
    """A number in a URL or a header: decimal digits, and nothing else; None: it is none."""
    found = int(written) if _NUMBER.fullmatch(written) else None
    return None if found is None or found > _LARGEST else found


def _flag(name: str, written: str) -> bool:
    if written not in _FLAGS:
        raise InvalidRequest(f"{name} must be true or false, or 1 or 0", field=name)
    return _FLAGS[written]


async def body(request: Request, wanted: type[S], max_bytes: int, *, absent: S | None = None) -> S:
    """Read and decode a JSON body; `absent` is what none at all stands for."""
    content = await read(request, max_bytes)
    if not content and absent is not None:
        return absent
    if not content:
        raise InvalidRequest("a JSON body is needed", field="body")
    try:
        return decode(content, msgspec.json.Decoder(wanted))
    except msgspec.ValidationError as error:
        raise _invalid(error, wanted, content) from None
    except msgspec.DecodeError as error:
        raise InvalidRequest(f"the body is not valid JSON: {error}", field="body") from None


async def no_body(request: Request, max_bytes: int) -> None:
    """A request that needs no body; one that comes with a form is not from a client of ours."""
    await read(request, max_bytes)


async def read(request: Request, max_bytes: int) -> bytes:
    """Read a body, up to a limit, that is JSON by its name."""
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > max_bytes:
        raise TooLarge(f"the body has {length} bytes, {max_bytes} are allowed")
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in request.stream():
            if chunk and not size:
                _ensure_json(request)
            size += len(chunk)
            if size > max_bytes:
                raise TooLarge(f"the body is larger than {max_bytes} bytes")
            chunks.append(chunk)
    except ClientDisconnect:
        raise InvalidRequest("the body ended early", field="body") from None
    return b"".join(chunks)


def _ensure_json(request: Request) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise UnsupportedMediaType(
            f"the body came as {media_type or 'no type'!r}; send Content-Type: application/json"
        )


def _invalid(
    error: msgspec.ValidationError, wanted: type[Struct], content: bytes = b""
) -> InvalidRequest:
    message = str(error)
    at = _AT.search(message)
    missing = re.search(r"missing required field `(\w+)`", message)
    path = at.group(2) + ("[...]" if at.group(1) else "") if at else ""
    if missing:
        path = f"{path}.{missing.group(1)}".lstrip(".")
    told = _AT.sub("", message)
    if pattern := _PATTERN.fullmatch(told):
        told = _rules(wanted).get(pattern.group(1), told)
    if choices := _choices(inspect.type_info(wanted), STEP.findall(path)):
        told += f"; known: {', '.join(map(str, choices))}"
    if not path and (name := told.partition(" ")[0]) in _spellings(wanted):
        path = name  # two fields that do not go together: the first word is the one to change
    if "[...]" in path:
        path = keyed(path, content, wanted, message)
    return InvalidRequest(told, field=path or "body")


@cache
def _rules(wanted: type[Struct]) -> dict[str, str]:
    """What people are told in place of a pattern: its description."""
    found: dict[str, str] = {}

    def visit(part: Any) -> None:
        match part:
            case inspect.Metadata(
                type=inspect.StrType(pattern=str(pattern)),
                extra_json_schema={"description": str(rule)},
            ):
                found[repr(pattern)] = rule
            case tuple():
                for each in part:
                    visit(each)
            case Struct():
                for name in part.__struct_fields__:
                    visit(getattr(part, name))

    visit(inspect.type_info(wanted))
    return found


def _choices(kind: Any, path: list[str]) -> tuple[Any, ...]:
    """The values that are allowed at this place, where they can be listed."""
    if isinstance(kind, inspect.UnionType):
        found = (_choices(choice, path) for choice in kind.types)
        return next((choices for choices in found if choices), ())
    if isinstance(kind, inspect.Metadata):
        return _choices(kind.type, path)
    if not path:
        return kind.values if isinstance(kind, inspect.LiteralType) else ()
    inner: Any = None
    if isinstance(kind, inspect.StructType):
        inner = next((f.type for f in kind.fields if f.encode_name == path[0]), None)
    elif isinstance(kind, inspect.DictType):
        inner = kind.value_type
    elif isinstance(kind, inspect.VarTupleType):
        inner = kind.item_type
    return _choices(inner, path[1:])
