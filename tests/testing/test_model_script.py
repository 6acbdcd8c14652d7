"""Scripts as people write them, and their mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.model import HttpError, ScriptedModel, ScriptError, Step, Text, load, parse
from tests.generated import ROOT


def write(folder: Path, text: str, name: str = "script.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_yaml_json_and_python_mean_the_same(tmp_path: Path) -> None:
    yaml = "- text: Hi\n- error: 429\n- blocks: [{tool: Bash, input: {command: ls}}]\n"
    call = '{"blocks": [{"tool": "Bash", "input": {"command": "ls"}}]}'
    json = f'["Hi", {{"error": {{"status": 429}}}}, {call}]'
    read = load(write(tmp_path, yaml))
    assert read == load(write(tmp_path, json, "script.json"))
    assert read[:2] == parse([Step(text="Hi"), Step(error=HttpError(status=429))])
    assert parse(read) == read


def test_blocks_may_be_made_in_python() -> None:
    (step,) = parse([{"blocks": [Text(text="a"), {"text": "b"}]}])
    assert step.blocks == (Text(text="a"), Text(text="b"))


def test_the_example_is_a_script() -> None:
    assert len(load(ROOT / "examples" / "model" / "hello.yaml")) == 6


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"txt": "x"}, "step 2: unknown key 'txt'; known: text, blocks"),
        ({"text": 5}, r"step 2, text: Expected `str \| array`, got `int`"),
        ({"text": ["a", 1]}, r"step 2, text\[1\]: Expected `str`"),
        (5, "step 2: expected a mapping, not 5"),
        ({"blocks": ["x"]}, "step 2, block 1: a block is a mapping, not 'x'"),
        ({"blocks": [{"input": {}}]}, "step 2, block 1: a block has one of thinking, text, tool"),
        ({"blocks": [{"text": "a"}, {"text": "a", "tool": "b"}]},
         "step 2, block 2: unknown key 'tool'; known: text, phase"),
        ({"blocks": [{"tool": "x", "input": "no"}]}, "step 2, block 1, input: Expected `object`"),
        ({"blocks": "x"}, "step 2, blocks: Expected `array`"),
        ({"text": "x", "times": 0}, "step 2, times: Expected `int` >= 1"),
        ({"text": "x", "delay_s": -1}, "step 2, delay_s: Expected `float` >= 0"),
        ({"text": "x", "end": "boom"}, "step 2, end: Invalid enum value 'boom'"),
        ({"text": "x", "usage": {"inputs": 1}}, "step 2, usage: unknown key 'inputs'"),
        ({"text": "x", "when": {"contain": 1}}, "step 2, when: unknown key 'contain'"),
        ({"text": "x", "when": "cats"}, "step 2, when: expected a mapping, not 'cats'"),
        ({"error": 200}, "step 2, error.status: Expected `int` >= 400"),
        ({"error": {"status": 500, "headers": {"a": 1}}}, "step 2, error.headers.*Expected `str`"),
        ({"text": "x", "blocks": [{"text": "y"}]}, "step 2: text is short for blocks"),
        ({"text": "x", "error": 500}, "step 2: an error comes instead of blocks"),
        ({"error": 500, "end": "cut"}, "step 2: an error comes instead of blocks and end"),
        ({"delay_s": 1}, "step 2: it needs text, blocks, an error or an end"),
        ({"error": 500, "gate": "g"}, "step 2: gate is a pause before a delta"),
        ({"end": "cut_in_block"}, "step 2: cut_in_block needs a block"),
        ({"text": "x", "stream_error": {}}, "step 2: stream_error needs end: error"),
        ({"blocks": [{"tool": "x", "id": "i"}], "times": 2}, "step 2: a call with an id"),
        ({"blocks": [{"tool": "x", "input": {"a": 1}, "raw": "{"}]}, "step 2: raw stands for"),
        ({"text": "half \ud83d"}, "step 2: a lone surrogate"),
        (Step(text="x", times=0), "step 2, times: Expected `int` >= 1"),
    ],
    ids=str,
)  # fmt: skip
def test_a_mistake_is_told_with_its_step(step: Any, told: str) -> None:
    with pytest.raises(ScriptError, match=f"^{told}"):
        parse(["fine", step])


def test_an_end_needs_no_words() -> None:
    assert [step.end for step in parse([{"end": "cut"}, {"end": "hang"}])] == ["cut", "hang"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a: [", "neither YAML nor JSON"),
        ("text: x", "a script is a list of steps"),
        ("", "a script is a list of steps"),
        ("- text: x\n- txt: y\n", "script.yaml: step 2: unknown key 'txt'"),
    ],
)
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(ScriptError, match=told):
        load(write(tmp_path, content))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="cannot read the script"):
        load(tmp_path / "missing.yaml")


def test_an_id_is_given_once_only() -> None:
    call = {"blocks": [{"tool": "x", "id": "mine"}]}
    with pytest.raises(ScriptError, match="'mine' is used twice"):
        ScriptedModel([call, call])


def test_a_wrong_step_leaves_the_script_as_it_was() -> None:
    with ScriptedModel(["kept"]) as model:
        with pytest.raises(ScriptError):
            model.script({"txt": "x"})
        assert [step.text for step in model.remaining] == ["kept"]
