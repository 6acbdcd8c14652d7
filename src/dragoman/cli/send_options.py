"""The options of `dragoman send`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

# --- The message ---

Words = Annotated[
    list[str], typer.Argument(metavar="MESSAGE...", help="The message; - reads stdin.")
]
Attach = Annotated[
    list[str] | None, typer.Option(metavar="PATH", help="A file that goes with it. Repeatable.")
]
Delivery = Annotated[
    Literal["queue", "steer", "reject"],
    typer.Option(metavar="HOW", help="During a turn: queue, steer (join it) or reject."),
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Watch the turn, or only send.")]

# --- A new session ---

Agent = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Make the session with this agent, if there is none yet."),
]
Directory = Annotated[
    str | None,
    typer.Option("--dir", "--directory", metavar="DIR", help="New: where it works; else here."),
]
Model = Annotated[
    str | None, typer.Option(metavar="MODEL", help="New: its model; see `dragoman models AGENT`.")
]
Variant = Annotated[str | None, typer.Option(metavar="NAME", help="New: a variant of the model.")]
Mode = Annotated[str | None, typer.Option(metavar="MODE", help="New: the agent's own mode.")]
PermissionMode = Annotated[
    Literal["default", "plan", "bypass", "acceptEdits"] | None,
    typer.Option(metavar="MODE", help="New: default, plan, bypass or acceptEdits."),
]
Env = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[=VALUE]", help="New: a variable; NAME alone takes yours. Repeatable."
    ),
]
