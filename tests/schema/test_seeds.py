"""What is written about the universal schema holds: shapes, order of keys, nulls, omissions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from dragoman.schema import events
from dragoman.schema.export import event_schema
from dragoman.schema.items import ContentPart, Item
from tests.schema.catalog import FOLDER, Example, bodies, envelope, read

validator = Draft202012Validator(event_schema())


def text(value: Any) -> bytes:
    """Encode as it stands in the file, key after key."""
    return msgspec.json.encode(value)


@pytest.mark.parametrize("example", read("parts"), ids=str)
def test_a_part_is_written_as_the_contract_says(example: Example) -> None:
    part = msgspec.json.decode(text(example.given), type=ContentPart)
    assert msgspec.json.encode(part) == text(example.wire)


@pytest.mark.parametrize("example", read("items"), ids=str)
def test_an_item_is_written_as_the_contract_says(example: Example) -> None:
    item = msgspec.json.decode(text(example.given), type=Item)
    assert msgspec.json.encode(item) == text(example.wire)


@pytest.mark.parametrize(("type", "example"), bodies(), ids=str)
def test_a_body_is_written_as_the_contract_says(type: str, example: Example) -> None:
    event = events.decode(text(envelope(type, example.given)))
    assert events.encode(event) == text(envelope(type, example.wire))


@pytest.mark.parametrize("example", read("envelopes"), ids=str)
def test_an_envelope_is_written_as_the_contract_says(example: Example) -> None:
    assert events.encode(events.decode(text(example.given))) == text(example.wire)


@pytest.mark.parametrize(
    "event",
    [
        *(envelope(type, example.wire) for type, example in bodies()),
        *(example.wire for example in read("envelopes")),
        *(envelope("item.completed", {"item": example.wire}) for example in read("items")),
        *(
            envelope("item.completed", {"item": {**read("items")[0].wire, "content": [part.wire]}})
            for part in read("parts")
        ),
    ],
)
def test_what_is_on_the_wire_fits_the_schema(event: Any) -> None:
    validator.validate(event)


def test_every_kind_of_part_has_an_example() -> None:
    tags = {part.__struct_config__.tag for part in ContentPart.__args__}
    assert {example.given["type"] for example in read("parts")} == tags


def test_no_file_of_examples_is_forgotten() -> None:
    known = {"parts", "items", "envelopes", *events.BODIES}
    assert {file.name.removesuffix(".json") for file in FOLDER.iterdir()} == known
