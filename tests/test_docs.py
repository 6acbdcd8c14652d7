"""The documentation is complete, true to the code, and free of dead ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec import Struct

from dragoman.adapter import Adapter
from dragoman.agents import adapters
from dragoman.schema import events, items
from dragoman.schema.export import event_schema
from dragoman.settings import Settings, load
from tests.case_titles import TITLES, covered
from tests.generated import (
    DOCS,
    FEATURES,
    MORE_FEATURES,
    ROOT,
    command,
    command_names,
    expected,
    files,
    http_structs,
    operations,
)
from tests.type_names import absence, type_name

TOP = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]
SCHEMA_PAGE = DOCS / "universal-schema.md"
FORBIDDEN = ("sk-ant", "TODO")
MAX_ARCHITECTURE = 272
MAX_WORDS = 15
MAYBE_MET = {
    "http/connection_limits",
    "runtime/session/concurrency",
    "runtime/session/deadlines",
    "store/lock",
}
"""Where a clock, or what the beginning of the turn left to be done, may lead meanwhile."""

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", page.read_text())


def blocks(page: Path, language: str) -> list[str]:
    found = _FENCE.finditer(page.read_text())
    return [each["code"] for each in found if each["language"] == language]


# --- What is generated ---


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_what_is_generated_is_fresh(path: Path) -> None:
    assert path.exists(), "run `make docs`"
    assert path.read_text() == expected(path), "run `make docs`"


def test_every_feature_is_in_the_coverage() -> None:
    from dragoman.facts import Feature

    assert {*FEATURES.values(), *MORE_FEATURES.values()} == set(get_args(Feature))
    assert len(FEATURES) + 1 == 16


def test_every_case_with_a_test_has_a_title() -> None:
    assert set(covered(ROOT / "tests")) <= set(TITLES)


@pytest.mark.parametrize("adapter", adapters().values(), ids=lambda adapter: adapter.id)
def test_the_readme_names_every_agent(adapter: Adapter) -> None:
    """The list in `docs/index.md` is generated; a sentence is not."""
    assert adapter.name.lower() in prose(ROOT / "README.md").lower()


# --- The universal schema ---


def documented() -> dict[str, type[Struct]]:
    """Every struct of the stream, by the heading of its section."""
    bodies: dict[str, type[Struct]] = {f"`{type}`": body for type, body in events.BODIES.items()}
    parts: tuple[type[Struct], ...] = get_args(items.ContentPart)
    tagged = {f"`{part.__struct_config__.tag}`": part for part in parts}
    inner: tuple[type[Struct], ...] = (
        items.Item, events.Usage, events.ModelUsage, events.Stderr, events.Context,
        events.Approver, events.Question, events.QuestionOption, events.QueuedMessage,
    )  # fmt: skip
    return {**bodies, **tagged, **{struct.__name__: struct for struct in inner}}


STRUCTS = documented()


def section(heading: str) -> str:
    """The text below a heading, up to the next."""
    text = SCHEMA_PAGE.read_text()
    found = re.search(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text, re.DOTALL | re.MULTILINE
    )
    assert found, f"{SCHEMA_PAGE.name} has no section {heading}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of the first table, without its head."""
    found = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    lines = found[0].splitlines()[2:] if found else []
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def fields_of(struct: type[Struct]) -> list[list[str]]:
    return [
        [f"`{field.encode_name}`", type_name(field.type), absence(struct, field)]
        for field in msgspec.structs.fields(struct)
    ]


@pytest.mark.parametrize("heading", STRUCTS)
def test_every_field_is_documented_as_it_is(heading: str) -> None:
    shown = rows(section(heading))
    assert [row[:3] for row in shown] == fields_of(STRUCTS[heading])
    assert all(row[3] for row in shown), "a field without a meaning"


def test_the_envelope_is_documented_as_it_is() -> None:
    shown = rows(section("The event"))
    assert [row[:3] for row in shown] == fields_of(events.Event)


@pytest.mark.parametrize("heading", STRUCTS)
def test_every_example_is_what_we_would_write(heading: str) -> None:
    struct = STRUCTS[heading]
    examples = _FENCE.findall(section(heading))
    assert [language for language, _ in examples] == ["json"]
    value = json.loads(examples[0][1])
    line = msgspec.json.encode(value)
    assert msgspec.json.encode(msgspec.json.decode(line, type=struct)) == line
    schema = event_schema()
    Draft202012Validator({**schema["$defs"][struct.__name__], "$defs": schema["$defs"]}).validate(
        value
    )


def test_the_example_of_an_event_is_one() -> None:
    ((_, code),) = _FENCE.findall(section("The event"))
    Draft202012Validator(event_schema()).validate(json.loads(code))
    line = msgspec.json.encode(json.loads(code))
    assert events.encode(events.decode(line)) == line


def test_the_older_words_are_documented() -> None:
    older = section("Older versions of the schema")
    for old, new in events.LEGACY_PERMISSION_STATUS.items():
        assert re.search(rf"`{old}` \| `{new}`", older)


def test_every_kind_of_item_is_documented() -> None:
    shown = section("Item")
    assert all(f"| `{kind}` |" in shown for kind in get_args(items.ItemKind))


# --- Routes, settings, commands, agents ---


def test_every_route_and_body_is_documented() -> None:
    page = (DOCS / "http-api.md").read_text()
    for operation in operations():
        assert f"### {operation.name}\n\n`{operation.method.upper()} {operation.path}`" in page
    for struct in http_structs():
        assert f"### {struct.__name__}\n" in page


def test_every_setting_is_documented() -> None:
    page = (DOCS / "settings.md").read_text()
    for name in Settings.__struct_fields__:
        assert f"| `{name}` |" in page


def test_every_command_and_flag_is_documented() -> None:
    page = (DOCS / "cli.md").read_text()
    for name in command_names():
        _, found, text = page.partition(f"### {name}\n")
        assert found, name
        text = text.partition("\n### ")[0]
        for parameter in command(name).params:
            if parameter.name != "help":
                for spelling in [*parameter.opts, *parameter.secondary_opts]:
                    assert spelling in text or parameter.param_type_name == "argument"


def test_every_agent_has_a_page() -> None:
    index = (DOCS / "index.md").read_text()
    for agent in adapters():
        assert (DOCS / "agents" / f"{agent}.md").exists()
        assert f"(agents/{agent}.md)" in index


def test_the_settings_file_that_is_shown_is_valid(tmp_path: Path) -> None:
    (example,) = blocks(DOCS / "settings.md", "toml")
    assert tomllib.loads(example)
    (tmp_path / "config.toml").write_text(example)
    assert load({}, {"HOME": str(tmp_path)}, str(tmp_path / "config.toml")).synchronous == "full"


def test_every_make_target_that_is_named_exists() -> None:
    known = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for page in PAGES
        for words in re.findall(r"`make ([a-z ]+)`", page.read_text())
        for target in words.split()
    }
    named |= set(re.findall(r"^\| `([a-z]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.M))
    assert named <= known


# --- Every page ---


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(prose(page)):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_relative_to(ROOT), target
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    """The names that a page's headings can be reached by, as GitHub makes them."""
    headings = _HEADING.findall(prose(page))
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {each.strip().replace(" ", "-") for each in words}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_nothing_is_mentioned_that_users_cannot_see(page: Path) -> None:
    text = page.read_text()
    assert not [word for word in FORBIDDEN if word in text]


def test_every_page_can_be_reached_from_the_index() -> None:
    index = (DOCS / "index.md").read_text()
    for page in DOCS.rglob("*.md"):
        if page.name != "index.md":
            assert f"({page.relative_to(DOCS)})" in index


def test_the_architecture_fits_in_a_head() -> None:
    written = (ROOT / "ARCHITECTURE.md").read_text().partition("## Modules")[0]
    assert len(written.splitlines()) <= MAX_ARCHITECTURE
    words = re.search(r"## Words\n\n(.*?)\n\n", written, re.DOTALL)
    assert words
    assert len(words[1].splitlines()) - 2 <= MAX_WORDS


def test_the_way_of_a_line_is_as_the_architecture_tells() -> None:
    """The table against a traced turn: nothing is left out, and nothing else is named."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.partition("## From a line to a frame")[2].partition("Commands go the other")[0]
    named = set(
        re.findall(r"`((?:\w+/)+[\w<>]+)`", "".join(re.findall(r"^\| `.*?\|", table, re.M)))
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.trace_line"], capture_output=True, text=True, check=True,
        cwd=ROOT,
    )  # fmt: skip
    calls = (line.partition(":")[0] for line in done.stdout.splitlines() if "/" in line)
    met = {re.sub(r"^agents/\w+/.*", "agents/<id>", call) for call in calls if " " not in call}
    assert met - MAYBE_MET == named


def test_modules_that_the_architecture_names_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    source = ROOT / "src" / "dragoman"
    rooms = {path.name for path in source.iterdir() if path.is_dir()}
    for name in re.findall(r"`(\w+(?:/\w+)+)(?:\.\w+)*`", text):
        if name.partition("/")[0] in rooms:
            assert (source / f"{name}.py").exists() or (source / name).is_dir(), name


def python_blocks() -> Iterator[Any]:
    for page in PAGES:
        for at, code in enumerate(blocks(page, "python")):
            yield pytest.param(code, id=f"{name_of(page)}-{at}")


@pytest.mark.parametrize("code", list(python_blocks()))
def test_python_that_is_shown_compiles(code: str) -> None:
    compile(code, "<documentation>", "exec")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_shell_that_is_shown_parses(page: Path) -> None:
    for code in blocks(page, "sh"):
        done = subprocess.run(
            ["bash", "-n"], input=code, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_json_that_is_shown_is_json(page: Path) -> None:
    for code in blocks(page, "json"):
        json.loads(code)
