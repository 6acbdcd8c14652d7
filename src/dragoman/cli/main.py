"""The console script."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated

import typer

from dragoman import __version__
from dragoman.cli import (
    agents,
    backup,
    conform,
    doctor,
    events,
    models,
    pending,
    processes,
    prune,
    record,
    reply,
    send,
    serve,
    sessions,
    status,
    testing,
    token,
    ui,
)

HINT = """\
\b
New here?
  dragoman serve                             start the daemon
  dragoman agents                            look, in a second terminal
  dragoman send hi --agent mock "echo hi"    talk to an agent
  dragoman doctor                            something wrong?
"""


def _help_width() -> int:
    return max(30, min(shutil.get_terminal_size().columns, 100) - 2)


app = typer.Typer(
    name="dragoman",
    help="The interpreter between people and coding agents.",
    epilog=HINT,
    # Plain help: it fits narrow terminals and pipes, and says what takes a value.
    rich_markup_mode=None,
    context_settings={"terminal_width": _help_width()},
    # A traceback decorated with values could show a token.
    pretty_exceptions_enable=False,
)

app.command("serve")(serve.serve)
app.command("server", hidden=True)(serve.serve)
app.command("ls")(sessions.ls)
app.command("send")(send.send)
app.command("events")(events.events)
app.command("reply")(reply.reply)
app.command("pending")(pending.pending)
app.command("cancel")(pending.cancel)
app.command("set")(sessions.change)
app.command("interrupt")(sessions.interrupt)
app.command("terminate")(sessions.terminate)
app.command("rm")(sessions.rm)
app.add_typer(prune.app, name="sessions")
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("ps")(processes.ps)
app.command("status")(status.status)
app.add_typer(agents.app, name="agents")
app.command("models")(models.models)
app.command("doctor")(doctor.doctor)
app.command("ui")(ui.ui)
app.add_typer(token.app, name="token")
app.add_typer(testing.app, name="testing")
app.command("conform")(conform.conform)
app.command("record")(record.record)
app.command("replay", context_settings=record.AS_GIVEN)(record.replay)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """The interpreter between people and coding agents."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # An agent's letter that the terminal's encoding lacks must not end the command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="dragoman")


if __name__ == "__main__":
    main()
