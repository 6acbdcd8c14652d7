"""Codex's models, read from its answer; and where it comes from."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.agents.codex import ADAPTER
from dragoman.agents.codex.settings import CATALOGUE, read_models
from dragoman.schema.http import ModelInfo, ModelList


def line(**message: Any) -> bytes:
    return msgspec.json.encode(message)


def model(id: str, *efforts: str, **about: Any) -> dict[str, Any]:
    options = [{"reasoningEffort": effort, "description": effort} for effort in efforts]
    return {"id": id, "supportedReasoningEfforts": options, **about}


def test_the_answer_lists_models_with_their_efforts() -> None:
    models = [
        model("one", "low", "high", displayName="One", defaultReasoningEffort="low"),
        model("two", isDefault=True, aFutureThing={"deep": []}),
        model("three", hidden=True),
    ]
    (found,) = read_models(line(id="models", result={"data": models, "nextCursor": None}))
    assert found == ModelList(
        models=(
            ModelInfo(id="one", name="One", variants=("low", "high"), default_variant="low"),
            ModelInfo(id="two"),
        ),
        default_model="two",
    )


@pytest.mark.parametrize(
    "other",
    [
        line(id="hello", result={"userAgent": "codex"}),
        line(method="configWarning", params={"summary": "cold"}),
        line(id=0, method="client/odd"),
    ],
)
def test_another_line_is_no_answer(other: bytes) -> None:
    assert read_models(other) == ()


@pytest.mark.parametrize(
    "refusal",
    [line(id="models", error={"code": -32600, "message": "no"}),
     line(id="models", result={"data": []})],
)  # fmt: skip
def test_a_refusal_has_no_models(refusal: bytes) -> None:
    assert read_models(refusal) == (ModelList(models=()),)


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", line(id="models", result={"data": [{}]})])
def test_garbage_raises_what_is_expected(garbage: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        read_models(garbage)


def test_it_is_greeted_before_it_is_asked() -> None:
    said = [msgspec.json.decode(each) for each in CATALOGUE.ask.split(b"\n")]
    assert [each["method"] for each in said] == ["initialize", "initialized", "model/list"]
    assert CATALOGUE.launch(("codex",), "/").argv[:2] == ("codex", "app-server")
    assert ADAPTER.catalogue is CATALOGUE


def test_there_is_a_package_for_each_platform() -> None:
    package = ADAPTER.package
    assert package is not None
    assert package.names.keys() == package.integrity.keys() == package.suffixes.keys()
    assert package.release("1.2.3", "linux-x64-musl") == "1.2.3-linux-x64"
    assert package.programs("1.2.3", "darwin-arm64") == (
        "vendor/aarch64-apple-darwin/bin/codex",
        "vendor/aarch64-apple-darwin/codex/codex",
    )
