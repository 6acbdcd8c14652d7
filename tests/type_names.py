"""What the fields of our structs are called in the documentation: their types and meanings."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from dragoman.schema.events import Body


def type_name(kind: Any) -> str:
    """A type in the words of JSON; absence is told elsewhere."""
    inner = get_args(kind)
    match get_origin(kind):
        case origin if origin is Annotated:
            return type_name(inner[0]) + _bounds(inner[1])
        case origin if origin is Literal:
            return ", ".join(f'`"{value}"`' for value in inner)
        case types.UnionType | typing.Union:
            return " or ".join(type_name(each) for each in inner if each not in _ABSENT)
        case origin if origin in (tuple, list):
            return f"list of {type_name(inner[0])}"
        case origin if origin is dict:
            return f"map to {type_name(inner[1])}"
        case _:
            return _PLAIN.get(kind) or ("any JSON" if kind is Any else kind.__name__)


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", Body: "see its type"}
_ABSENT = (type(None), msgspec.UnsetType)


def _bounds(meta: msgspec.Meta) -> str:
    if meta.ge is None:
        return ""
    return f", from {meta.ge}" if meta.le is None else f", {meta.ge} to {meta.le}"


def absence(struct: type[Struct], field: msgspec.structs.FieldInfo) -> str:
    """How a value that is not there is written: `null`, left out, or never."""
    kinds = get_args(field.type) if get_origin(field.type) is not None else (field.type,)
    if msgspec.UnsetType in kinds:
        return "left out"
    if struct.__struct_config__.omit_defaults and not field.required:
        return "left out"
    if not field.required and (field.type is Any or type(None) in kinds):
        return "`null`"
    return ""


def docs_of(struct: type[Struct]) -> dict[str, str]:
    """The strings that stand below the fields of a struct."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    assert isinstance(tree, ast.ClassDef)
    docs: dict[str, str] = {}
    for above, below in zip(tree.body, tree.body[1:], strict=False):
        match above, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = text
            case _:
                continue
    return docs
