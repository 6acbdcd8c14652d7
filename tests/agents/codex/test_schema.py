"""Our narrow structs against the schema that the pinned Codex itself writes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import Struct, inspect

from dragoman.agents.codex import ADAPTER, native, native_items, requests
from tests.agents.live import command

Schema = dict[str, Any]

ANYWHERE = {"threadId", "turnId", "itemId", "reason"}
"""What the base of many messages has, and some of them do not."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `codex app-server generate-json-schema` writes."""
    out = tmp_path_factory.mktemp("schema")
    words = ["app-server", "generate-json-schema", "--experimental", "--out", str(out)]
    env = {"HOME": str(out), "CODEX_HOME": str(out)}
    subprocess.run([*command(ADAPTER), *words], check=True, env=env, capture_output=True)
    return out


def methods(folder: Path, name: str) -> dict[str, tuple[Schema, Schema]]:
    """The schema of each method's params, with the document that it is from."""
    document = json.loads((folder / f"{name}.json").read_text())
    return {
        each["properties"]["method"]["enum"][0]: (each["properties"].get("params", {}), document)
        for each in document["oneOf"]
    }


def variants(schema: Schema, document: Schema) -> Iterator[Schema]:
    """The objects that a schema may stand for."""
    if "$ref" in schema:
        schema = document["definitions"][schema["$ref"].rpartition("/")[2]]
    inner = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    if not inner:
        yield schema
    for each in inner:
        for variant in variants(each, document):
            own, more = schema.get("properties", {}), variant.get("properties", {})
            required = [*schema.get("required", ()), *variant.get("required", ())]
            merged = {**own, **more}
            yield {**variant, **({"properties": merged, "required": required} if merged else {})}


def problems(kind: Any, schema: Schema, document: Schema, where: str) -> Iterator[str]:
    """Where a type of ours expects what the schema does not have."""
    match kind:
        case inspect.StructType():
            yield from _of_struct(kind, schema, document, where)
        case inspect.UnionType(types=types):
            for each in types:
                yield from problems(each, schema, document, where)
        case inspect.VarTupleType(item_type=inner):
            for variant in variants(schema, document):
                if "items" in variant:
                    yield from problems(inner, variant["items"], document, f"{where}[]")
        case _:
            return


def _of_struct(
    kind: inspect.StructType, schema: Schema, document: Schema, where: str
) -> Iterator[str]:
    found = [each for each in variants(schema, document) if "properties" in each]
    known = {name for each in found for name in each["properties"]}
    always = (
        set.intersection(*(set(each.get("required", ())) for each in found)) if found else set()
    )
    for field in kind.fields:
        name = field.encode_name
        if name not in known:
            if name not in ANYWHERE:
                yield f"{where}.{name} is not there"
            continue
        if field.required and name not in always:
            yield f"{where}.{name} may be missing"
        for each in found:
            if name in each["properties"]:
                inner = each["properties"][name]
                yield from problems(field.type, inner, document, f"{where}.{name}")


def checked(kind: type[Struct], schema: Schema, document: Schema, where: str) -> list[str]:
    return list(problems(inspect.type_info(kind), schema, document, where))


def test_every_notification_is_known_and_no_other(folder: Path) -> None:
    assert set(methods(folder, "ServerNotification")) == native.KNOWN_NOTIFICATIONS


def test_every_request_is_known_and_no_other(folder: Path) -> None:
    assert set(methods(folder, "ServerRequest")) == set(requests.REQUESTS)


def test_notifications_have_what_we_read(folder: Path) -> None:
    found = methods(folder, "ServerNotification")
    wrong = {
        method: checked(kind, *found[method], method)
        for method, kind in native.NOTIFICATIONS.items()
        if kind is not native.WarningNotification
    }
    assert [each for problem in wrong.values() for each in problem] == []


def test_each_kind_of_warning_has_a_text_that_we_read(folder: Path) -> None:
    found = methods(folder, "ServerNotification")
    ours = {field.encode_name for field in msgspec.structs.fields(native.WarningNotification)}
    for method, kind in native.NOTIFICATIONS.items():
        if kind is native.WarningNotification:
            (schema,) = variants(*found[method])
            assert {"message", "summary"} & set(schema["required"]) <= ours
            assert set(schema["properties"]) & {"message", "summary"}


def test_requests_have_what_we_read(folder: Path) -> None:
    found = methods(folder, "ServerRequest")
    wrong = [
        problem
        for method, kind in requests.REQUESTS.items()
        for problem in checked(kind, *found[method], method)
    ]
    assert wrong == []


def test_every_type_of_item_is_modelled_and_has_what_we_read(folder: Path) -> None:
    document = json.loads((folder / "ServerNotification.json").read_text())
    theirs = {
        each["properties"]["type"]["enum"][0]: each
        for each in document["definitions"]["ThreadItem"]["oneOf"]
    }
    ours = {str(kind.__struct_config__.tag): kind for kind in get_args(native_items.KnownItem)}
    assert set(ours) == set(theirs)
    wrong = [
        problem
        for tag, kind in ours.items()
        for problem in checked(kind, theirs[tag], document, tag)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ThreadStart", native.ThreadResponse),
        ("ThreadResume", native.ThreadResumeResponse),
        ("ThreadFork", native.ThreadResponse),
    ],
)
def test_replies_have_what_we_read(
    folder: Path, name: str, kind: type[native.ThreadResponse]
) -> None:
    (file,) = folder.rglob(f"{name}Response.json")
    document = json.loads(file.read_text())
    assert checked(kind, document, document, name) == []


def test_a_list_of_items_has_what_we_read(folder: Path) -> None:
    (file,) = folder.rglob("ThreadItemsListResponse.json")
    document = json.loads(file.read_text())
    entry = document["properties"]["data"]["items"]
    assert checked(native.ItemEntry, entry, document, "ThreadItemsList") == []


def test_the_last_turns_of_a_thread_have_what_we_read(folder: Path) -> None:
    (file,) = folder.rglob("ThreadResumeResponse.json")
    document = json.loads(file.read_text())
    assert "initialTurnsPage" in document["properties"]
    turn = document["definitions"]["TurnsPage"]["properties"]["data"]["items"]
    assert checked(native.TurnEntry, turn, document, "ThreadResume") == []


@pytest.mark.parametrize("name", ["TurnStart", "ReviewStart"])
def test_replies_that_begin_a_turn_have_what_we_read(folder: Path, name: str) -> None:
    (file,) = folder.rglob(f"{name}Response.json")
    document = json.loads(file.read_text())
    assert checked(native.TurnResponse, document, document, name) == []
