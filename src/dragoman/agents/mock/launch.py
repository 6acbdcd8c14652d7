"""How the mock agent's process is started."""

from __future__ import annotations

import sys

from dragoman.adapter import Spec
from dragoman.facts import Launch

# -P keeps the session's directory off the module path: a json.py there is not ours to run.
COMMAND = (sys.executable, "-P", "-m", "dragoman.testing.mock.agent")


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """Start a process for this session; with a confirmed native id it resumes or forks."""
    options = {
        "session": spec.native_session_id,
        "mode": spec.agent_mode,
        "permission-mode": spec.permission_mode,
        "model": spec.model,
        "variant": spec.variant,
    }
    # One word for a name and its value: a value never starts an option of its own.
    argv = [*command, *(f"--{name}={value}" for name, value in options.items() if value)]
    if spec.native_session_id:
        argv.append("--resume")
    if spec.fork:
        argv.append("--fork")
    return Launch(argv=tuple(argv), env=spec.env, cwd=spec.directory)
