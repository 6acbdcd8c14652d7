"""`dragoman agents`: which agents there are; put one on this machine, or take it off again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli import table
from dragoman.cli.connect import AsJson, DataDir, Url, daemon, say, settings_of_machine
from dragoman.cli.exit_codes import FAILED, reporting
from dragoman.cli.sanitize import clean, line
from dragoman.cli.target_session import environment
from dragoman.errors import Conflict, InstallFailed, NotFound

if TYPE_CHECKING:
    from dragoman.adapter import Adapter
    from dragoman.runtime.provision.agents import Agents
    from dragoman.schema.http import AgentInfo, AgentList

Cache = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="The folder of installed agents; else the daemon's."),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The agent's id.")]

PROBLEM_WIDTH = 300
HEADS = ("ID", "NAME", "SOURCE", "INSTALLED", "VERSION", "CREDENTIALS", "PATH")

app = typer.Typer(help="List the agents; add, install and remove them.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def agents(
    context: typer.Context, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List the agents; add, install and remove them."""
    if context.invoked_subcommand is None:
        show(url=url, data_dir=data_dir, as_json=as_json)


@app.command("list")
def show(
    cache: Cache = None, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List the agents, and whether they can be used."""
    found = None if cache else _from_daemon(url, data_dir, as_json)
    if found is None:
        with reporting(as_json):
            found = _from_here(_agents(data_dir, cache))
    if as_json:
        say(found)
    else:
        table.show(HEADS, [_row(agent) for agent in found.agents])
        for agent in found.agents:
            if agent.problem:
                typer.echo(line(agent.problem, PROBLEM_WIDTH), err=True)
            is_far = agent.source == "catalogue" and not agent.installed
            if (told := lacking(agent)) and not is_far:
                typer.echo(f"{line(agent.name)} has no credentials: {told}", err=True)


def _from_daemon(url: str | None, data_dir: str | None, as_json: bool) -> AgentList | None:
    """What the daemon says; None where there is none, and nobody named one."""
    from dragoman.client import Unreachable

    with daemon(url, data_dir, as_json) as client:
        try:
            return client.agents()
        except Unreachable:
            if url or os.environ.get("DRAGOMAN_URL"):
                raise
    typer.echo("No daemon runs; this is what is on this machine.", err=True)
    return None


def _from_here(agents: Agents) -> AgentList:
    import asyncio

    from dragoman.http.responses import agent_list

    try:
        return asyncio.run(agent_list(agents, os.environ))
    finally:
        agents.stop()


def _row(agent: AgentInfo) -> tuple[str, ...]:
    return (
        agent.id,
        agent.name,
        agent.source or "",
        "yes" if agent.installed else "no",
        agent.version or "",
        "yes" if agent.credentials_available else "no",
        (agent.path or "") if agent.installed else _advice(agent),
    )


def _advice(agent: AgentInfo) -> str:
    if agent.source in ("settings", "api"):
        return "its command was not found"
    return f"dragoman agents install {agent.id}"


def lacking(agent: AgentInfo) -> str | None:
    """Which credentials an agent lacks, and where they count; None: it has some."""
    from dragoman.agents import adapters
    from dragoman.agents.acp.known_agents import KNOWN_AGENTS

    if agent.credentials_available:
        return None
    known = {each.id: each.credentials for each in KNOWN_AGENTS}
    known |= {name: each.credentials for name, each in adapters().items()}
    names = known.get(agent.id, ())
    if not names:
        return "set its key in the daemon's environment, or for one session with send --env"
    return (
        f"set {' or '.join(names)} in the daemon's environment, or for one session: "
        f"dragoman send ID --agent {line(agent.id)} --env {names[0]} ... "
        "(signed in with its own program? then that counts)"
    )


@app.command()
def install(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The agent's id; or give --all.")
    ] = None,
    version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Not the one that we are proven with.")
    ] = None,
    reinstall: Annotated[bool, typer.Option("--reinstall", help="Fetch it anew.")] = False,
    every: Annotated[
        bool,
        typer.Option("--all", help="Every agent but the catalogue's; go on after errors."),
    ] = False,
    cache: Cache = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Install an agent from npm; with --url, on that daemon's machine."""
    if (name is None) != every:
        raise typer.BadParameter("name one agent, or give --all")
    if url and (version or cache or every):
        raise typer.BadParameter("a daemon installs one agent, at the version it is proven with")
    if url and name:
        with daemon(url, data_dir, as_json) as client:
            client.install(name, reinstall)
        say({"agent": name}) if as_json else typer.echo(f"{name} is installed.")
        return
    with reporting(as_json):
        agents = _agents(data_dir, cache)
        if name is not None:
            _install(agents, agents.adapter(name), version, reinstall, as_json)
            return
    ours = [each.adapter for each in agents.registry.all() if each.source != "catalogue"]
    wanted = [adapter for adapter in ours if adapter.package is not None]
    _install_all(agents, wanted, version, reinstall, as_json)


def _install_all(
    agents: Agents, wanted: Iterable[Adapter], version: str | None, reinstall: bool, as_json: bool
) -> None:
    failed = False
    for adapter in wanted:
        try:
            _install(agents, adapter, version, reinstall, as_json)
        except InstallFailed as error:
            failed = True
            typer.echo(f"{adapter.id} cannot be had: {clean(str(error))}", err=True)
    if failed:
        raise typer.Exit(FAILED)


def _install(
    agents: Agents, adapter: Adapter, version: str | None, reinstall: bool, as_json: bool
) -> None:
    from dragoman.cli.progress import show_progress

    if adapter.is_built_in:
        _built_in(agents, adapter, version, as_json)
        return
    if adapter.package is None:
        raise Conflict(f"{adapter.name} is started by a command: there is nothing to install")
    with show_progress(adapter.name) as report:
        path = agents.installer.install(adapter, version, reinstall=reinstall, report=report)
    version = version or adapter.package.version
    if as_json:
        say({"agent": adapter.id, "version": version, "path": str(path)})
    else:
        typer.echo(f"{adapter.name} {version} is installed: {path}")


def _built_in(agents: Agents, adapter: Adapter, version: str | None, as_json: bool) -> None:
    found = agents.find(adapter)
    if version:
        raise typer.BadParameter(
            f"{adapter.name} is built in: it has the version of Dragoman", param_hint="--version"
        )
    if as_json:
        path = found.path if found else None
        say({"agent": adapter.id, "version": found.version if found else None, "path": path})
    else:
        typer.echo(f"{adapter.name} is built in: there is nothing to install.")


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="ID", help="The new agent's id.")],
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="How it is started, after `--`.")
    ],
    title: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="How people see it called.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=VALUE]", help="A variable; NAME alone takes yours."),
    ] = None,
    fs: Annotated[
        bool, typer.Option("--fs", help="Offer it to read and write files through the daemon.")
    ] = False,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Offer it to run commands through the daemon.")
    ] = False,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Add an agent that speaks ACP to the running daemon: agents add ID -- COMMAND..."""
    variables = environment(tuple(env or ()))
    with daemon(url, data_dir, as_json) as client:
        added = client.add_agent(
            name, command, name=title, env=variables or None, fs=fs, terminal=terminal
        )
    if as_json:
        say(added)
        return
    typer.echo(f"{line(added.name)} is added: dragoman send ID --agent {line(added.id)} ...")
    if not added.installed:
        typer.echo(f"Its program {command[0]!r} was not found on the daemon's PATH.", err=True)


@app.command()
def remove(
    name: Name,
    version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Only this one; else all versions.")
    ] = None,
    cache: Cache = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove an agent that was added; else what was installed of it. With --url only the former."""
    with reporting(as_json):
        agents = _agents(data_dir, cache)
        is_added = agents.registry.has(name) and agents.registry.get(name).source == "api"
    if url or is_added:
        with daemon(url, data_dir, as_json) as client:
            client.remove_agent(name)
        say({"agent": name, "removed": []}) if as_json else typer.echo(f"{name} is removed.")
        return
    with reporting(as_json):
        adapter = agents.adapter(name)
        gone = agents.installer.remove(adapter, version)
        if not gone:
            raise NotFound(_not_ours(agents, adapter, version))
    if as_json:
        say({"agent": name, "removed": gone})
    else:
        typer.echo(f"{adapter.name} {', '.join(gone)} is removed.")


def _not_ours(agents: Agents, adapter: Adapter, version: str | None) -> str:
    wanted = f"{adapter.name} {version}" if version else adapter.name
    found = agents.find(adapter)
    if found is not None and found.ours:
        there = ", ".join(agents.installer.versions(adapter))
        return f"{wanted} is not installed; installed: {there}"
    if found is not None:
        return (
            f"{wanted} was not installed by Dragoman: it is at {found.path}; remove it the way "
            "that it came"
        )
    return f"{wanted} is not installed"


def _agents(data_dir: str | None, cache: str | None) -> Agents:
    """The agents as the daemon that runs here sees them, or as one started here would."""
    import msgspec

    from dragoman.agents import adapters
    from dragoman.runtime.provision.agents import Agents

    settings = settings_of_machine(data_dir)
    if cache is not None:
        folder = str(Path(cache).expanduser().absolute())
        settings = msgspec.structs.replace(settings, agents_dir=folder)
    return Agents(adapters(), settings)
