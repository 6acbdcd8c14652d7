"""The daemon that probes run against, with its agent recorded."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from dragoman.client import Client, Retry
from dragoman.errors import StartRefused

STOP_S = 30.0
LOG_LINES = 10
INHERITED = ("PATH", "PYTHONPATH", "TMPDIR", "TZ")
"""What an agent may need of our environment; nobody's keys, settings or proxies."""
DRAGOMAN = (sys.executable, "-P", "-m", "dragoman.cli.main")


class ConformDaemon:
    """A daemon on a temporary folder. Every process of the agent leaves a recording."""

    def __init__(
        self,
        agent: str,
        command: Sequence[str],
        folder: Path,
        version: str | None = None,
        *,
        serves: bool = False,
    ) -> None:
        self.agent = agent
        self.version = version
        self.tapes = folder / "tapes"
        self._data = folder / "data"
        self._log = folder / "daemon.log"
        self._url = ""
        self._process: subprocess.Popen[str] | None = None
        how = ("--serves",) if serves else ()
        out = ("--no-scrub", "--out", str(self.tapes))
        recorded = (*DRAGOMAN, "record", *how, *out, "--", *command)
        self._environ = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self._environ |= {
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            f"DRAGOMAN_{agent.upper()}_COMMAND": shlex.join(recorded),
        }

    def __enter__(self) -> ConformDaemon:
        """Start, and wait until it serves. Raise StartRefused."""
        self.tapes.mkdir()
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*DRAGOMAN, "serve", "--data-dir", str(self._data), "--port", "0"],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._environ,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if "listens on" not in line:
            self.close()
            raise StartRefused(f"the daemon did not start: {self.last_words()}")
        self._url = line.split()[-1]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Stop."""
        self.close()

    def client(self) -> Client:
        """A client of the daemon."""
        token = (self._data / "token").read_text().strip()
        return Client(self._url, token, retry=Retry(attempts=0))

    def last_words(self) -> str:
        """The end of the daemon's log."""
        return "\n".join(self._log.read_text().splitlines()[-LOG_LINES:]) or "without a word"

    def close(self) -> None:
        """Stop the daemon, and with it every agent."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
