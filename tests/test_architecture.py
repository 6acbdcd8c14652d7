"""The walls of the house: who may import whom, what is pure, how large things are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dragoman
from dragoman.agents import adapters

SOURCE = Path(dragoman.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
ROOMS = (
    "schema", "wire", "facts", "services", "steps", "adapter", "dialects", "agents", "core", "agui",
    "store", "files", "workspace", "runtime", "http", "cli",
)  # fmt: skip
EVERYWHERE = {"errors", "settings", "logs", "__init__"}
PURE = ("schema", "wire", "dialects", "agents", "core", "agui")
IMPURE = {
    "asyncio", "datetime", "fcntl", "http.client", "io", "logging", "multiprocessing", "os",
    "pathlib", "random", "secrets", "select", "selectors", "shutil", "signal", "socket",
    "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib.request", "uuid",
    "httpx2", "starlette", "uvicorn", "uvloop",
}  # fmt: skip
MAX_MODULE, MAX_FUNCTION = 600, 60


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_seen_by(path: Path) -> set[str]:
    ours = (name.split(".") for name in imports(path) if name.startswith("dragoman."))
    return {parts[1] for parts in ours} - EVERYWHERE - {"__version__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    room, seen = room_of(path), rooms_seen_by(path)
    if room == "client":
        assert seen <= {"schema", "client"}
    elif room == "testing":
        assert seen.isdisjoint({"http", "cli"})
    elif room == "core":  # agents and core stand side by side: neither sees the other
        assert seen <= {"schema", "wire", "facts", "services", "steps", "adapter", room}
    elif room in ROOMS:
        allowed = set(ROOMS[: ROOMS.index(room) + 1])
        allowed |= {"client", "testing"} if room == "cli" else set()
        assert seen <= allowed, f"{room} may not see {sorted(seen - allowed)}"


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if room_of(path) in PURE],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_pure_rooms_have_no_clock_no_chance_no_world(path: Path) -> None:
    found = {name for name in imports(path) if name in IMPURE or name.split(".")[0] in IMPURE}
    assert not found, f"{path.name} imports {sorted(found)}"
    tree = ast.parse(path.read_text())
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Await | ast.AsyncFunctionDef)]
    called = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert not [f for f in called if isinstance(f, ast.Name) and f.id in ("open", "print", "input")]


AGENTS = sorted(adapters())
NO_AGENTS = {"adapters", "load_problems", "packaged", "node", "acp"}
"""What is in `agents` beside agents: how they are found, what they share, and how one is made that
needs no code."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_agent_is_known_by_name_outside_its_folder(path: Path) -> None:
    parts = path.relative_to(SOURCE).parts
    own = parts[1] if parts[0] == "agents" and len(parts) > 2 else None
    for name in imports(path):
        pieces = name.split(".")
        if pieces[:2] == ["dragoman", "agents"] and len(pieces) > 2:
            assert pieces[2] == own or pieces[2] in NO_AGENTS, f"{path} imports {name}"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            values = [node.left, *node.comparators]
            compared = {v.value for v in values if isinstance(v, ast.Constant)}
            assert not compared & (set(AGENTS) - {own}), f"{path}:{node.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_and_functions_fit_in_a_head(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_MODULE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < MAX_FUNCTION, f"{node.name} is too long"


def test_last_resorts_are_counted() -> None:
    """`except Exception` is where a defect is turned into something visible, nowhere else."""
    found = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and isinstance(node.type, ast.Name)
        and node.type.id in ("Exception", "BaseException")
    }
    places = {
        "agents/__init__.py",
        "core/interpreter.py",
        "runtime/callbacks.py",
        "runtime/session/calls.py",
        "runtime/session/session.py",
        "store/writer.py",
        "testing/conform/run.py",
    }
    assert found == places


# --- Names ---

PARTICIPLES = {
    "told", "said", "asked", "wanted", "heard", "given", "kept", "left", "held", "begun", "taken",
    "gone", "known", "seen", "sent", "found", "lost", "spoken", "thought", "chosen", "meant",
}  # fmt: skip
MIRRORS = {
    "EventPage": {"schema/http.py", "client/calls.py"},
    "Item": {"schema/items.py", "testing/model/steps.py"},
    "Part": {"schema/items.py", "testing/model/steps.py"},
    "Text": {"schema/items.py", "testing/model/steps.py"},
    "Usage": {"schema/events.py", "testing/model/steps.py"},
}
"""A page as it is served and as the client gives it; what a model says and what becomes of it."""
MAX_METHODS, MAX_ATTRIBUTES = 25, 15
LARGE = {
    "client/sync.py:Client",
    "core/interpreter.py:Interpreter",
    "core/normalize.py:Normalizer",
    "http/uvicorn_protocol.py:Protocol",
    "runtime/processes/process.py:AgentSubprocess",
    "runtime/session/manager.py:SessionManager",
    "runtime/session/pump.py:Pump",
    "runtime/session/session.py:Session",
    "runtime/shared/multiplexer.py:Multiplexer",
    "runtime/shared/process.py:SharedProcess",
    "store/protocol.py:Store",
    "store/sqlite.py:SqliteStore",
    "testing/recordings/play.py:_Player",
    "testing/stream_state.py:Ledger",
}
"""Larger than a head holds, for now. None is added; what leaves the list stays off it."""


def names_in(path: Path) -> Iterator[str]:
    """What is named in a module, and can be seen outside of one function."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            yield node.name
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    yield each.target.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_participle_is_a_name(path: Path) -> None:
    """`told` says nothing to who looks for a concept: a name is a noun, a verb or a question."""
    assert not {name for name in names_in(path) if name.strip("_").lower() in PARTICIPLES}


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield str(path.relative_to(SOURCE)), node


def test_a_class_name_means_one_thing() -> None:
    where: dict[str, set[str]] = {}
    for path, node in classes():
        if not path.startswith("agents/"):
            where.setdefault(node.name, set()).add(path)
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == MIRRORS


def test_classes_fit_in_a_head() -> None:
    large = set()
    for path, node in classes():
        methods = [
            each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        attributes = {
            each.attr
            for method in methods
            for each in ast.walk(method)
            if isinstance(each, ast.Attribute)
            and isinstance(each.ctx, ast.Store)
            and isinstance(each.value, ast.Name)
            and each.value.id == "self"
        }
        if len(methods) > MAX_METHODS or len(attributes) > MAX_ATTRIBUTES:
            large.add(f"{path}:{node.name} {len(methods)} {len(attributes)}")
    assert {each.split()[0] for each in large} == LARGE, sorted(large)


def test_events_of_our_own_are_made_in_core_only() -> None:
    """Whoever could make a draft elsewhere could put it where a rule forbids it."""
    found = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Draft"
    }
    assert {each.partition("/")[0] for each in found} == {"core"}


ANATOMY = {
    "__init__", "native", "launch", "convert", "items", "tools", "requests", "subagents",
    "delivery", "usage", "settings", "notices", "probes", "package",
}  # fmt: skip
EXTRA = {
    "codex": {"native_items"},
    "grok": {"diffs"},
    "opencode": {"state", "history"},
    "pi": {"numbered_diff"},
}
"""The structs of Codex's items would make its `native` too long, and the state of an OpenCode
conversation its `convert`; only OpenCode has a history that is read again, and only Grok and an
older Pi have a form of their own for diffs."""

ON_A_DIALECT = {"grok"}
"""Agents whose converter is a dialect's: they have only what they add to it."""


def test_adapters_have_one_anatomy() -> None:
    for agent in AGENTS:
        files = {path.stem for path in (SOURCE / "agents" / agent).glob("*.py")}
        assert files <= ANATOMY | EXTRA.get(agent, set()), agent
        if agent not in ON_A_DIALECT:
            assert files >= {"__init__", "native", "launch", "convert", "probes"}, agent
