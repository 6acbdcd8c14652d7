"""`dragoman conform`: try an agent out, and say where it is not what we declare."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from dragoman.cli import table
from dragoman.cli.connect import AsJson, DataDir, say, settings_of_machine
from dragoman.cli.exit_codes import ERROR, reporting
from dragoman.cli.sanitize import line

if TYPE_CHECKING:
    from dragoman.adapter import Adapter
    from dragoman.runtime.provision.agents import InstalledAgent
    from dragoman.settings import Settings
    from dragoman.testing.conform import ConformReport, Row, Watch

WIDTH = 160
SHOWN_LINES = 5
HEADS = ("PROBE", "FEATURE", "DECLARED", "OBSERVED", "")
DECLARED = {
    (True, True): "native, shown",
    (True, False): "native",
    (False, True): "shown",
    (False, False): "no",
}
OBSERVED = {True: "yes", False: "no", None: "not tried"}
VERDICTS = {"as declared": "", "drift": "DRIFT", "undeclared": "DRIFT (not declared)"}


def conform(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")],
    version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Try this one, installed first where it must be."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="The executable and its first arguments."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PROBE", help="Only this probe; repeatable.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Try an agent out against what its adapter declares of it."""
    if version and command:
        raise typer.BadParameter("give --version or --command, not both")
    _ensure_known(only or [])
    with reporting(as_json):
        adapter, found = _ready_agent(agent, version, command, data_dir)
        report = _tried(adapter, found, only or [])
    if as_json:
        _say(report)
    else:
        _show(adapter, report)
    if not report.ok:
        raise typer.Exit(ERROR)


def _ensure_known(only: list[str]) -> None:
    from dragoman.errors import InvalidRequest
    from dragoman.testing.conform import select

    try:
        select(only)
    except InvalidRequest as error:
        raise typer.BadParameter(str(error), param_hint="--only") from None


# --- Finding ---


def _ready_agent(
    agent: str, version: str | None, command: str | None, data_dir: str | None
) -> tuple[Adapter, InstalledAgent]:
    """The agent, and what to start."""
    import asyncio

    from dragoman.agents import adapters
    from dragoman.runtime.provision.agents import Agents

    if command:  # a command is set for an agent that there is
        Agents(adapters(), _settings(agent, None, data_dir)).adapter(agent)
    agents = Agents(adapters(), _settings(agent, command, data_dir))
    adapter = agents.adapter(agent)
    try:
        if adapter.probe_recipes is None:
            _leave(
                f"{adapter.name} cannot be tried: its adapter has no drill. Write one in its "
                "folder (docs/conform.md says how), and name it in ADAPTER."
            )
        if version:
            agents.ensure_has(adapter, version)
            typer.echo(f"{adapter.name} {version}: finding it, or installing it", err=True)
            return adapter, asyncio.run(agents.obtain(adapter, version))
        found = asyncio.run(agents.present(adapter))
    finally:
        agents.stop()
    if found is None and command:
        _leave(f"there is no executable {command.split()[0]!r}")
    if found is None:
        _leave(f"{adapter.name} is not installed. Try: dragoman agents install {adapter.id}")
    return adapter, found


def _settings(agent: str, command: str | None, data_dir: str | None) -> Settings:
    import msgspec

    from dragoman.settings import AgentSettings

    settings = settings_of_machine(data_dir)
    if command is None:
        return settings
    agents = {**settings.agents, agent: AgentSettings(command=command)}
    return msgspec.structs.replace(settings, agents=agents)


def _leave(why: str) -> NoReturn:
    typer.echo(f"dragoman: {why}", err=True)
    raise typer.Exit(ERROR)


# --- Trying ---


def _tried(adapter: Adapter, found: InstalledAgent, only: list[str]) -> ConformReport:
    import shutil
    import signal
    import tempfile
    from pathlib import Path

    from dragoman.testing.conform import conform as run
    from dragoman.testing.conform import select

    count = len(select(only))
    folder = Path(tempfile.mkdtemp(prefix=f"dragoman-conform-{adapter.id}-"))
    has_evidence = False
    # Whoever ends us ends what we have started, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        with _progress(f"{adapter.name} {found.version or ''}".strip(), count) as watch:
            report = run(
                adapter, found.command, folder, version=found.version, only=only, watch=watch
            )
        has_evidence = report.evidence_folder is not None
    finally:
        if not has_evidence:
            shutil.rmtree(folder, ignore_errors=True)
    return report


@contextmanager
def _progress(name: str, count: int) -> Iterator[Watch]:
    """Show on stderr how far it is: a live line for a person, plain lines for a log."""
    if not sys.stderr.isatty():
        typer.echo(f"{name}: {count} probes", err=True)
        yield lambda probe, row: None if row is None else typer.echo(_brief(row), err=True)
        return
    from rich.console import Console
    from rich.text import Text

    terminal = Console(stderr=True, markup=False, highlight=False, emoji=False)
    running: list[str] = []
    done: list[str] = []
    with terminal.status(Text(f"{name} …")) as status:

        def watch(probe: str, row: Row | None) -> None:
            if row is None:
                running.append(probe)
            else:
                running.remove(probe)
                done.append(probe)
            status.update(Text(f"{name}: {len(done)} of {count}, now {', '.join(running)}"))

        yield watch


def _brief(row: Row) -> str:
    words = (row.probe, OBSERVED[row.observed], f"{row.seconds:.1f} s", VERDICTS[row.verdict])
    return "  ".join(word for word in words if word)


# --- Telling ---


def _say(report: ConformReport) -> None:
    import msgspec

    say({"ok": report.ok, **msgspec.to_builtins(report)})


def _show(adapter: Adapter, report: ConformReport) -> None:
    table.show(HEADS, [_cells(row) for row in report.rows])
    typer.echo()
    for told in (*_failures(report), *_stream(report)):
        typer.echo(told)
    version = f" {report.version}" if report.version else ""
    typer.echo(f"{adapter.name}{version}: {_summary(report)}")
    if report.evidence_folder is not None:
        typer.echo(
            f"The transcript and events of each failed probe: {report.evidence_folder}/PROBE/"
        )


def _cells(row: Row) -> tuple[str, ...]:
    feature = row.feature or "(every agent)"
    declared = DECLARED[row.native, row.shown]
    return row.probe, feature, declared, OBSERVED[row.observed], VERDICTS[row.verdict]


def _failures(report: ConformReport) -> Iterator[str]:
    for row in report.drifts:
        yield f"DRIFT {row.probe}:"
        if row.expected:
            yield f"  expected {line(row.expected, WIDTH)}"
        yield f"  seen     {line(row.observation, WIDTH)}"
    for breach in report.breaches[:SHOWN_LINES]:
        said = line(breach.message, WIDTH)
        yield f"RULE BROKEN {breach.probe}, event {breach.sequence}, {breach.rule}: {said}"
    for lost in report.unaccounted[:SHOWN_LINES]:
        yield f"VANISHED {lost.probe}: {line(lost.line, WIDTH)}"
    if not report.ok:
        yield ""


def _stream(report: ConformReport) -> Iterator[str]:
    yield f"nothing vanishes: {report.share}"
    yield f"{report.unparsed} unparsed"
    yield f"{len(report.breaches)} rules broken"


def _summary(report: ConformReport) -> str:
    drifts = len(report.drifts)
    told = "no drift" if not drifts else f"{drifts} of {len(report.rows)} probes drift"
    more = sum(row.verdict == "undeclared" for row in report.rows)
    undeclared = f", {more} seen though not declared" if more else ""
    return f"{told}{undeclared} ({len(report.rows)} probes, {report.seconds:.0f} s)"
