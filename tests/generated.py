"""What in the documentation is made from the code. `python -m tests.generated` writes it."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import typer
from msgspec import Struct

from dragoman.adapter import Adapter, Spec, Unused
from dragoman.agents import adapters
from dragoman.agents.acp import configured
from dragoman.agents.acp.known_agents import KNOWN_AGENTS
from dragoman.cli.main import create_app
from dragoman.facts import Feature
from dragoman.http.metrics import METRICS
from dragoman.http.openapi import openapi_document, schema_document
from dragoman.http.problems import PROBLEMS, type_of
from dragoman.http.routes import ANY, ROUTES
from dragoman.schema import agents
from dragoman.schema import http as schema
from dragoman.schema.export import Media, Operation
from dragoman.settings import AgentSettings, Settings
from dragoman.testing.mock.prompts import COUNTED, PLAIN
from dragoman.testing.model import HttpError, Step, StreamError, When
from dragoman.testing.model import Usage as ScriptUsage
from dragoman.testing.model.script import BLOCKS
from tests.case_titles import TITLES, covered
from tests.type_names import docs_of, type_name

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
_REGION = re.compile(
    r"(?P<begin><!-- generated:(?P<name>\S+) -->\n)(?P<text>.*?)(?P<end><!-- /generated -->)",
    re.DOTALL,
)

FEATURES: dict[str, Feature] = {
    "Text Messages": "textMessages",
    "Tool Calls": "toolCalls",
    "Tool Results": "toolResults",
    "Questions (HITL)": "questions",
    "Permissions (HITL)": "permissions",
    "Images": "images",
    "File Attachments": "fileAttachments",
    "Session Lifecycle": "sessionLifecycle",
    "Error Events": "errorEvents",
    "Reasoning/Thinking": "reasoning",
    "Command Execution": "commandExecution",
    "File Changes": "fileChanges",
    "MCP Tools": "mcpTools",
    "Streaming Deltas": "streamingDeltas",
    "Variants": "variants",
}
"""With the stability in front, the sixteen rows of the coverage matrix."""

MORE_FEATURES: dict[str, Feature] = {
    "Plan Mode": "planMode",
    "Status": "status",
    "Item Started": "itemStarted",
    "Subagents": "subagents",
    "Usage": "usage",
    "Resume": "resume",
    "Fork": "fork",
    "Interrupt": "interrupt",
    "Steer": "steer",
    "Shared Process": "sharedProcess",
}


README_FEATURES: dict[str, Feature] = {
    "Streams": "streamingDeltas",
    "Thoughts": "reasoning",
    "Tools": "toolCalls",
    "Commands": "commandExecution",
    "Diffs": "fileChanges",
    "Permissions": "permissions",
    "Questions": "questions",
    "Plans": "planMode",
    "Subagents": "subagents",
    "Images": "images",
    "MCP": "mcpTools",
    "Usage": "usage",
    "Interrupt": "interrupt",
    "Steer": "steer",
    "Resume": "resume",
    "Fork": "fork",
}
"""What people ask for first. There is room for a line for each agent only."""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; a pipe in a cell is escaped."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |\n"
        for line in lines
    )


# --- Agents ---


ACP = configured("acp", name="ACP", command=("agent", "--acp"))
"""Whatever speaks ACP, as far as it can be said of all of them."""


def columns() -> list[Adapter]:
    """The agents of a table: ours, and one that stands for all that speak ACP."""
    return [*adapters().values(), ACP]


def readme_coverage() -> str:
    """The same for the README: a row for each real agent."""
    real = [agent for agent in columns() if not agent.is_built_in]
    rows = (
        [agent.name, *(_mark(agent, feature) for feature in README_FEATURES.values())]
        for agent in real
    )
    return table(["", *README_FEATURES], rows)


def coverage() -> str:
    """Which feature of which agent appears in the stream."""
    known = columns()
    stability = ["Stability", *(a.capabilities.stability.capitalize() for a in known)]
    rows = [stability, *_feature_rows(FEATURES, known)]
    return table(["Feature", *(a.name for a in known)], rows)


def more_coverage() -> str:
    """The same for what the matrix has no row for."""
    known = columns()
    return table(["Feature", *(a.name for a in known)], _feature_rows(MORE_FEATURES, known))


def _feature_rows(features: dict[str, Feature], known: Iterable[Adapter]) -> Iterator[list[str]]:
    for label, feature in features.items():
        yield [label, *(_mark(agent, feature) for agent in known)]


def given() -> str:
    """What a session may be given, and which agent makes use of it."""
    known = columns()
    modes = [", ".join(f"`{mode}`" for mode in agent.permission_modes) for agent in known]
    rows = [
        ["`permissionMode`", *modes],
        ["`mcp`", *(_use(a, "mcp", takes=a.takes_mcp) for a in known)],
        ["`skills`", *(_use(a, "skills", takes=a.takes_skills) for a in known)],
        ["`variant`", *(_use(a, "variant", takes=_has_variants(a)) for a in known)],
        ["`updatedInput`", *("✓" if a.takes_updated_input else "refused" for a in known)],
    ]
    return table(["Field", *(a.name for a in known)], rows)


def _use(agent: Adapter, field: Unused, *, takes: bool) -> str:
    return "✓" if takes else "no effect" if field in agent.unused else "refused"


def _has_variants(agent: Adapter) -> bool:
    return "variants" in agent.capabilities.native


def agent_pages() -> str:
    """A link to the page of each agent."""
    return "".join(
        f"- [{agent.name}](agents/{agent.id}.md)"
        + (": built in, needs no key\n" if agent.is_built_in else "\n")
        for agent in adapters().values()
    )


def known_agents() -> str:
    """The catalogue of agents that speak ACP."""
    rows = []
    for agent in KNOWN_AGENTS:
        package = agent.package or adapters()[agent.package_of].package
        assert package is not None
        name = dict.fromkeys(package.names.values())
        node = ", with Node.js of its own" if package.interpreter else ""
        rows.append([
            f"`{agent.id}`", agent.name, f"`{' '.join(agent.command)}`",
            f"{' or '.join(f'`{each}`' for each in name)} {package.version}{node}",
            " or ".join(f"`{each}`" for each in agent.credentials) or "its own sign-in",
            agent.verified or "not verified",
        ])  # fmt: skip
    head = ["Id", "Agent", "Is started with", "Is installed from npm", "Credentials", "Verified"]
    return table(head, rows)


def _mark(agent: Adapter, feature: Feature) -> str:
    if feature in agent.capabilities.shown:
        return "✓"
    return "-" if feature in agent.capabilities.native else ""


def terms() -> str:
    """The universal terms, and each agent's own words for them."""
    known = adapters().values()
    names = dict.fromkeys(term for agent in known for term in agent.terms)
    rows = ([f"`{term}`", *(agent.terms.get(term, "") for agent in known)] for term in names)
    return table(["Universal term", *(agent.name for agent in known)], rows)


LIFETIMES = {
    "turn": "one process for each turn",
    "session": "one process for each session, for all its turns",
    "shared": "one process for all sessions of an environment",
}
WIRES = {
    "jsonl": "JSON lines, on stdin and stdout",
    "jsonrpc": "JSON-RPC, on stdin and stdout",
    "jsonrpc-bare": "JSON-RPC without its version, on stdin and stdout",
    "http": "HTTP and server-sent events on loopback",
}


def runtime_models() -> str:
    """How each agent runs, and how its words come."""
    rows = (_runtime_model(agent) for agent in columns())
    return table(["Agent", "Runtime model", "Protocol", "Text as it streams"], rows)


def _runtime_model(agent: Adapter) -> list[str]:
    mode = agent.modes[0].id if agent.modes else ""
    spec = Spec(session_id="s", agent=agent.id, agent_mode=mode, directory="/")
    launch = agent.launch(spec, agent.command)
    streams = "streamingDeltas" in agent.capabilities.native
    words = "the agent's own deltas" if streams else "one delta, added by the daemon"
    return [agent.name, LIFETIMES[launch.lifetime], WIRES[launch.wire], words]


def capabilities(agent: str) -> str:
    """What one agent has, and what of it appears in the stream."""
    known = adapters()[agent]
    names = {**FEATURES, **MORE_FEATURES}
    rows = [[label, *_support(known, feature)] for label, feature in names.items()]
    return table(["Feature", "The agent has it", "In the stream"], rows)


def _support(agent: Adapter, feature: Feature) -> list[str]:
    declared = (agent.capabilities.native, agent.capabilities.shown)
    return ["yes" if feature in features else "no" for features in declared]


def ignored(agent: str) -> str:
    """The native messages of one agent that leave no event, and why."""
    rows = [
        [", ".join(f"`{path}` = `{_word(value)}`" for path, value in each.where.items()), each.why]
        for each in adapters()[agent].ignored
    ]
    return table(["Messages", "Why they leave no event"], rows)


def _word(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def prompts() -> str:
    """What the mock agent answers."""
    plays: dict[Callable[..., Any], list[str]] = {}
    for name, play in PLAIN.items():
        plays.setdefault(play, []).append(f"`{name}`")
    for name, (_, counted) in COUNTED.items():
        numbers = inspect.signature(counted).parameters.values()
        plays[counted] = [
            " ".join([f"`{name}", *(f"[{n.name}={n.default}]" for n in numbers)]) + "`"
        ]
    rows = ([", ".join(names), play.__doc__ or ""] for play, names in plays.items())
    return table(["Prompt", "What it does"], rows)


# --- The HTTP contract ---


def operations() -> list[Operation]:
    """Every operation, in the order of its path."""
    found = [route.operation for route in ROUTES]
    return sorted(found, key=lambda each: (each.tag != "sessions", each.path, each.method))


def route_table() -> str:
    """All routes at a glance."""
    rows = (
        [f"[`{o.method.upper()} {o.path}`](#{o.name})", o.summary, str(o.status)]
        for o in operations()
    )
    return table(["Route", "What it does", "Answer"], rows)


def routes() -> str:
    """Every route in full."""
    return "\n".join(_route(operation) for operation in operations())


def _route(operation: Operation) -> str:
    problems = sorted(set(operation.problems), key=lambda each: (each.status, each.title))
    parts = [
        f"### {operation.name}\n\n`{operation.method.upper()} {operation.path}`\n\n",
        f"{operation.summary} {operation.description}".strip() + "\n\n",
        "Needs no token.\n\n" if operation.public else f"Scope: `{operation.scope}`.\n\n",
    ]
    if operation.query:
        parts.append("Query:\n\n" + _fields(operation.query, query=True) + "\n")
    for header in operation.request_headers:
        parts.append(f"Header `{header.name}`: {header.description}\n\n")
    if isinstance(operation.body, Media):
        parts.append(f"Body: {' or '.join(f'`{each}`' for each in operation.body.types)}\n\n")
    elif operation.body:
        parts.append(f"Body: {_link(operation.body)}\n\n")
    parts.append(f"Answer: {_answer(operation)}\n\n")
    for header in operation.response_headers:
        parts.append(f"Header `{header.name}`: {header.description}\n\n")
    for status, reason in operation.other_responses.items():
        parts.append(f"Or {status}: {reason}\n\n")
    if problems:
        parts.append("Problems: " + ", ".join(f"{p.status} {p.title}" for p in problems) + "\n")
    return "".join(parts).rstrip("\n") + "\n"


def _answer(operation: Operation) -> str:
    match operation.response:
        case None:
            return f"{operation.status}, no body"
        case Media() as media:
            return f"{operation.status}, `{media.value}`"
        case struct:
            many = "list of " if operation.is_list else ""
            return f"{operation.status}, {many}{_link(struct)}"


def _link(struct: type[Struct]) -> str:
    return f"[{struct.__name__}](#{struct.__name__.lower()})"


def bodies() -> str:
    """The fields of every body that a route takes or gives, and of what is in them."""
    return "\n".join(
        f"### {struct.__name__}\n\n{struct.__doc__}\n\n{_fields(struct)}"
        for struct in http_structs()
    )


def http_structs() -> list[type[Struct]]:
    """Every struct of the contract's bodies, each once."""
    found: set[type[Struct]] = set()

    def visit(kind: Any) -> None:
        for inner in get_args(kind):
            visit(inner)
        ours = isinstance(kind, type) and issubclass(kind, Struct)
        if ours and _is_http(kind) and kind not in found:
            found.add(kind)
            for field in msgspec.structs.fields(kind):
                visit(field.type)

    for operation in operations():
        visit(operation.body)
        visit(operation.response)
    return sorted(found, key=lambda struct: struct.__name__)


def _is_http(struct: type[Struct]) -> bool:
    ours = (schema.__name__, agents.__name__)
    return struct.__module__ in ours or issubclass(struct, schema.Http)


def _fields(struct: type[Struct], *, query: bool = False) -> str:
    docs = docs_of(struct)
    rows = []
    for field in msgspec.structs.fields(struct):
        shown = field.name if query else field.encode_name
        needed = "required" if field.required else _default(field.default)
        rows.append([f"`{shown}`", type_name(field.type), needed, docs.get(field.name, "")])
    return table(["Field", "Type", "Default", "Meaning"], rows)


def _default(value: object) -> str:
    if value in (None, msgspec.UNSET, msgspec.NODEFAULT, ()):
        return ""
    return f"`{msgspec.json.encode(value).decode()}`"


def problems() -> str:
    """Every problem that can be answered."""
    rows = (
        [str(p.status), p.title, f"`{type_of(p)}`", p.__doc__ or ""]
        for p in sorted(PROBLEMS, key=lambda each: (each.status, each.title))
    )
    return table(["Status", "Title", "`type`", "Meaning"], rows)


def common_problems() -> str:
    """What any request may get."""
    return "- " + "\n- ".join(f"{p.status} {p.title}" for p in ANY) + "\n"


def metrics() -> str:
    """Every metric of ours."""
    rows = (
        [
            f"`{each.full_name}`",
            ", ".join(f"`{label}`" for label in each.labels),
            f"histogram: {each.help}" if each.kind == "histogram" else each.help,
        ]
        for each in METRICS
    )
    return table(["Metric", "Labels", "What it is"], rows)


# --- Settings and commands ---


def settings() -> str:
    """Every setting, in all its spellings."""
    flags = {p.name: p.opts[0] for p in command("serve").params}
    docs = docs_of(Settings)
    rows = []
    for field in msgspec.structs.fields(Settings):
        variable = f"DRAGOMAN_{field.name.upper()}"
        if field.name == "agents":
            variable = "DRAGOMAN_<ID>_COMMAND"
        flag = f"`{flags[field.name]}`" if field.name in flags else ""
        rows.append([
            f"`{field.name}`", flag, f"`{variable}`", type_name(field.type),
            _setting_default(field.default), docs[field.name],
        ])  # fmt: skip
    return table(["Setting", "Flag", "Variable", "Type", "Default", "Meaning"], rows)


def agent_settings() -> str:
    """What can be set for one agent, in its table."""
    docs = docs_of(AgentSettings)
    rows = (
        [f"`{field.name}`", type_name(field.type), docs[field.name]]
        for field in msgspec.structs.fields(AgentSettings)
    )
    return table(["Key", "Type", "Meaning"], rows)


def _setting_default(value: object) -> str:
    return "" if value in (None, (), "", msgspec.NODEFAULT) else f"`{str(value).lower()}`"


@cache
def command_group() -> Any:
    """The command line, as Typer builds it."""
    return typer.main.get_command(create_app())


def command(name: str) -> Any:
    """One of its commands, `group command` where it is in a group."""
    found = command_group()
    for word in name.split():
        found = found.commands[word]
    return found


def command_names() -> list[str]:
    """The commands that people see, those of a group under its name."""
    return [name for name in _command_names(command_group()) if not command(name).hidden]


def _command_names(group: Any, before: str = "") -> Iterator[str]:
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from _command_names(found, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def commands() -> str:
    """Every command with its arguments and options."""
    return "\n".join(_command(name) for name in command_names())


def _command(name: str) -> str:
    found = command(name)
    arguments = [p for p in found.params if p.param_type_name == "argument"]
    options = [p for p in found.params if p.param_type_name == "option" and p.name != "help"]
    words = [_argument(p) if p.required else f"[{_argument(p)}]" for p in arguments]
    usage = " ".join(["dragoman", name, *words, "[OPTIONS]"])
    rows = [[f"`{_argument(p)}`", _value(name, p), p.help or ""] for p in arguments]
    rows += [
        [", ".join(f"`{o}`" for o in _spellings(p)), _value(name, p), p.help or ""] for p in options
    ]
    return f"### {name}\n\n`{usage}`\n\n{found.help}\n\n" + table(["", "Value", "Meaning"], rows)


def _argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _spellings(parameter: Any) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]


def _value(name: str, parameter: Any) -> str:
    if getattr(parameter, "is_flag", False):
        return ""
    function = inspect.unwrap(command(name).callback)
    return type_name(get_type_hints(function)[parameter.name])


# --- Scripts of the model ---


def script_keys(struct: type[Struct]) -> str:
    """The keys of a part of a script."""
    docs = docs_of(struct)
    rows = []
    for field in msgspec.structs.fields(struct):
        default = field.default if isinstance(field.default, str | int | float) else ""
        needed = "required" if field.required else f"`{default}`" if default != "" else ""
        rows.append([f"`{field.name}`", type_name(field.type), needed, docs[field.name]])
    return table(["Key", "Value", "Default", "Meaning"], rows)


def script_blocks() -> str:
    """Every kind of block with its keys."""
    return "\n".join(
        f"### A block with `{kind}`\n\n{struct.__doc__}\n\n{script_keys(struct)}"
        for kind, struct in BLOCKS.items()
    )


# --- Cases, examples, documents ---


def cases() -> str:
    """The cases of the promises that have tests, and where."""
    rows = []
    for number, files in covered(ROOT / "tests").items():
        told = (
            f"[{path.name}](../{path.relative_to(ROOT)}): {'; '.join(sentences)}"
            for path, sentences in files.items()
        )
        rows.append([str(number), TITLES[number], "<br>".join(told)])
    return table(["Case", "About", "Tests"], rows)


def modules() -> str:
    """Every module of the package, by the first line of its docstring."""
    source = ROOT / "src" / "dragoman"
    lines = ["```text"]
    for folder in sorted({path.parent for path in source.rglob("*.py")}):
        room = folder.relative_to(source)
        lines += ["", f"{room}/"] if room.parts else []
        for path in sorted(folder.glob("*.py")):
            about = inspect.cleandoc(ast.get_docstring(ast.parse(path.read_text())) or "")
            if path.name != "__init__.py" and about:
                lines.append(f"  {path.name:<24} {about.splitlines()[0]}")
    return "\n".join((*lines, "```", ""))


def example(name: str) -> str:
    """An example, as it is in its file."""
    language = {"py": "python", "mjs": "js", "yaml": "yaml"}[name.rpartition(".")[2]]
    return f"```{language}\n{(ROOT / 'examples' / name).read_text()}```\n"


REGIONS: dict[str, Callable[[], str]] = {
    "readme-coverage": readme_coverage,
    "coverage": coverage,
    "more-coverage": more_coverage,
    "given": given,
    "agent-pages": agent_pages,
    "terms": terms,
    "runtime-models": runtime_models,
    "prompts": prompts,
    "route-table": route_table,
    "routes": routes,
    "bodies": bodies,
    "problems": problems,
    "common-problems": common_problems,
    "metrics": metrics,
    "settings": settings,
    "agent-settings": agent_settings,
    "known-agents": known_agents,
    "commands": commands,
    "cases": cases,
    "script-step": lambda: script_keys(Step),
    "script-blocks": script_blocks,
    "script-when": lambda: script_keys(When),
    "script-usage": lambda: script_keys(ScriptUsage),
    "script-error": lambda: script_keys(HttpError),
    "modules": modules,
    "script-stream-error": lambda: script_keys(StreamError),
}


def region(name: str) -> str:
    """The text of a region; `examples/<file>` is that file, `noise/<agent>` that agent's."""
    kind, _, about = name.partition("/")
    if about:
        return {"examples": example, "capabilities": capabilities, "noise": ignored}[kind](about)
    return REGIONS[name]()


def fresh(text: str) -> str:
    """A page with its regions as they should be."""
    return _REGION.sub(lambda found: found["begin"] + region(found["name"]) + found["end"], text)


def expected() -> dict[Path, str]:
    """Every file that holds something generated, and what it should hold."""
    written = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(DOCS.rglob("*.md"))]
    pages = {page: fresh(page.read_text()) for page in written}
    return {
        **pages,
        DOCS / "openapi.json": openapi_document().decode(),
        DOCS / "schema.json": schema_document().decode(),
    }


def main() -> None:
    """Write everything anew."""
    for path, text in expected().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
