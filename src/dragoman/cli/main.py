"""The console script."""

from __future__ import annotations

import shutil
import sys
from importlib import import_module
from typing import Annotated

import typer

from dragoman import __version__

COMMANDS = {
    "serve": "serve.serve",
    "server": "serve.serve",
    "ls": "sessions.ls",
    "send": "send.send",
    "events": "events.events",
    "reply": "reply.reply",
    "pending": "pending.pending",
    "cancel": "pending.cancel",
    "set": "sessions.change",
    "interrupt": "sessions.interrupt",
    "terminate": "sessions.terminate",
    "rm": "sessions.rm",
    "sessions": "prune.app",
    "backup": "backup.backup",
    "restore": "backup.restore",
    "ps": "processes.ps",
    "status": "status.status",
    "agents": "agents.app",
    "models": "models.models",
    "doctor": "doctor.doctor",
    "ui": "ui.ui",
    "token": "token.app",
    "hooks": "hooks.app",
    "testing": "testing.app",
    "conform": "conform.conform",
    "record": "record.record",
    "replay": "record.replay",
}
"""Where each is, in this room, in the order of the help."""
HIDDEN = {"server"}
SETTINGS = {
    # What stands after the last argument of ours belongs to an agent, flags too.
    "replay": {
        "ignore_unknown_options": True,
        "allow_extra_args": True,
        "allow_interspersed_args": False,
    }
}

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


def create_app(*names: str) -> typer.Typer:
    """The command line with these commands, or with all: the fewer, the sooner it starts."""
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
    app.callback(invoke_without_command=True)(root)
    for name in names or COMMANDS:
        _add(app, name)
    return app


def _add(app: typer.Typer, name: str) -> None:
    module, _, attribute = COMMANDS[name].partition(".")
    command = getattr(import_module(f"dragoman.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        settings = SETTINGS.get(name)
        app.command(name, hidden=name in HIDDEN, context_settings=settings)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit


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
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    app = create_app(first) if first in COMMANDS else create_app()
    app(prog_name="dragoman")


if __name__ == "__main__":
    main()
