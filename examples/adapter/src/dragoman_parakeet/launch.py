"""How Parakeet's process is started."""

from __future__ import annotations

import sys

from dragoman.adapter import Spec
from dragoman.facts import Launch

# -P keeps the session's directory off the module path.
COMMAND = (sys.executable, "-P", "-m", "dragoman_parakeet.agent")


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """One process for each session."""
    return Launch(argv=command, env=spec.env, cwd=spec.directory)
