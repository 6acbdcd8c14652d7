"""An agent that comes from npm, and a stand-in for npm that has it.

The parrot speaks as the mock agent does. Everything about it is real but for its registry.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from dragoman.adapter import Adapter
from dragoman.agents.mock import ADAPTER as MOCK
from dragoman.facts import Package
from dragoman.runtime.provision.install import platform_name
from tests.daemon import Daemon

VERSION, OTHER = "1.2.3", "1.10.0"
INTEGRITY = "sha512-of-parrot-1.2.3"

ADAPTER: Adapter = msgspec.structs.replace(
    MOCK,
    id="parrot",
    name="Parrot",
    command=("parrot",),
    folders=("~/.parrot/bin",),
    package=Package(
        version=VERSION,
        names={platform_name(): "@birds/parrot"},
        integrity={platform_name(): INTEGRITY},
        executable="bin/parrot",
    ),
)

PARROT = """#!/bin/sh
if [ "$1" = --version ]; then echo "parrot {version} (a bird)"; exit; fi
exec {python} -P -m dragoman.testing.mock.agent "$@"
"""

_NPM = """#!{python}
import json, os, sys
from pathlib import Path

prefix = Path(sys.argv[sys.argv.index("--prefix") + 1])
name, _, version = sys.argv[-1].rpartition("@")
call = {{"argv": sys.argv[1:], "environ": dict(os.environ), "pid": os.getpid()}}
with open({calls!r}, "a") as calls:
    calls.write(json.dumps(call) + "\\n")
package = prefix / "node_modules" / name
integrity = "sha512-of-parrot-" + version
executable, says = "bin/parrot", version
{first}
path = package / executable
path.parent.mkdir(parents=True)
path.write_text({parrot!r}.replace("{{version}}", says))
path.chmod(0o755)
lock = {{"packages": {{"": {{}}, "node_modules/" + name: {{"integrity": integrity}}}}}}
(prefix / "package-lock.json").write_text(json.dumps(lock))
"""


class Npm:
    """A folder with an `npm` in it; `first` is what it does before it does the right thing."""

    def __init__(self, folder: Path, first: str = "") -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self._calls = folder / "calls"
        self.behave(first)

    def behave(self, first: str) -> None:
        """Replace it by one that does this first."""
        parrot = PARROT.replace("{python}", sys.executable)
        text = _NPM.format(
            python=sys.executable, calls=str(self._calls), first=first, parrot=parrot
        )
        fresh = self.folder / "npm.new"
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(self.folder / "npm")

    @property
    def path(self) -> str:
        """A PATH on which this npm is the first."""
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    @property
    def environ(self) -> dict[str, str]:
        """An environment with that PATH."""
        return {**os.environ, "PATH": self.path}

    def calls(self) -> list[dict[str, Any]]:
        """How often it was called, and with what."""
        if not self._calls.exists():
            return []
        return [msgspec.json.decode(line) for line in self._calls.read_bytes().splitlines()]


def fails(code: str, *lines: str) -> str:
    """An npm that fails as the real one does."""
    told = "\\n".join(f"npm error {line}" for line in (f"code {code}", *lines))
    return f'sys.exit("{told}")'


def waits(fifo: Path) -> str:
    """An npm that says its pid when it has begun to write, and then hangs."""
    return (
        "import signal\n"
        "package.mkdir(parents=True)\n"
        "(package / 'half').write_text('half')\n"
        f"Path({str(fifo)!r}).write_text(str(os.getpid()))\n"
        "signal.pause()\n"
    )


def executable(path: Path, text: str) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def parrot(path: Path, version: str) -> Path:
    """A parrot that somebody else installed."""
    text = PARROT.replace("{version}", version).replace("{python}", sys.executable)
    return executable(path, text)


class InstallableAgentDaemon(Daemon):
    """A daemon that knows the parrot."""

    MODULE = "tests.installable_agent.main"
