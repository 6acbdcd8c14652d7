"""Hides a token that was given as a flag or a variable from agents.

Both are visible in /proc for as long as the process lives, whatever the program does to its own
copy. So the daemon starts itself again without them, and takes the token through a pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

VARIABLE = "DRAGOMAN_TOKEN"
PIPE = "DRAGOMAN_TOKEN_FD"


def take_token(flag: str | None) -> str | None:
    """The token that was given, once nobody else can see it; this may start us anew."""
    if PIPE in os.environ:
        with os.fdopen(int(os.environ.pop(PIPE))) as pipe:
            return pipe.read()
    token = flag if flag is not None else os.environ.get(VARIABLE)
    if token is None:
        return None
    read, write = os.pipe()
    os.set_inheritable(read, True)
    os.write(write, token.encode())
    os.close(write)
    environ = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return os.execve(sys.executable, without_token(sys.orig_argv), {**environ, PIPE: str(read)})


def without_token(arguments: Sequence[str]) -> list[str]:
    """A command line without its token."""
    kept: list[str] = []
    is_value = False
    for argument in arguments:
        if not is_value and argument != "--token" and not argument.startswith("--token="):
            kept.append(argument)
        is_value = not is_value and argument == "--token"
    return kept
