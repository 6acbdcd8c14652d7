"""`dragoman record` and `dragoman replay`: an agent's words on file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def record(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="The agent and its arguments, after --.", metavar="COMMAND..."),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="The file to add to; a folder gets a file for each process."
        ),
    ] = "recording.jsonl",
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The agent's id; else the name of its executable."),
    ] = None,
    scrub: Annotated[
        bool, typer.Option(help="At the end, remove paths, secrets and long prose.")
    ] = True,
    serves: Annotated[
        bool,
        typer.Option(
            "--serves",
            help="The command serves HTTP on loopback: record what it is asked at the address that "
            "it prints.",
        ),
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Record an agent that speaks HTTP at this URL."),
    ] = None,
    listen: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            metavar="N",
            help="With --http: the port to stand in at; 0 takes a free one.",
        ),
    ] = 0,
) -> None:
    """Run an agent and write down what it hears and says."""
    if bool(command) == bool(http):
        raise typer.BadParameter("give a command after --, or --http URL")
    if http:
        from dragoman.testing.recordings.record_http import serve

        serve(http, listen, Path(out), agent=agent, scrubbed=scrub)
        return
    _run(command or [], Path(out), agent=agent, scrub=scrub, serves=serves)


def _run(command: list[str], out: Path, *, agent: str | None, scrub: bool, serves: bool) -> None:
    from dragoman.testing.recordings.exit_like import leave
    from dragoman.testing.recordings.record import Recorder, finish

    try:
        recorder = Recorder(command, out, agent=agent, scrubbed=scrub, serves=serves)
    except OSError as error:
        typer.echo(f"dragoman record: {error}", err=True)
        raise typer.Exit(127) from None
    ending = recorder.run()
    problem = finish(recorder.tape, scrubbed=scrub)
    if problem is not None:
        typer.echo(f"dragoman record: {recorder.tape.path}: {problem}", err=True)
    leave(ending)


def replay(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The recording; what follows it is ignored.")
    ],
    state: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Counts the starts: each plays the next process of the recording."
        ),
    ] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Take the time that it took.")] = False,
) -> None:
    """Stand in for an agent: play a recording back."""
    from dragoman.testing.recordings.exit_like import leave
    from dragoman.testing.recordings.replay import main

    leave(main(Path(file), context.args, state=Path(state) if state else None, timing=timing))
