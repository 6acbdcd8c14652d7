"""Records an agent that speaks over stdin and stdout.

Every byte goes on as it comes, in both directions and on stderr; signals and the end of the
input are passed on. The recording has no say: if it cannot be written, the agent still runs.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from dragoman.testing.recordings.framing import Framer
from dragoman.testing.recordings.secret_variables import parents_environ, secrets_of
from dragoman.testing.recordings.transcript import (
    Dir,
    Ending,
    Eof,
    Line,
    Meta,
    PassedSignal,
    dump,
    load,
)
from dragoman.testing.recordings.writer import Tape

READ_BYTES = 1 << 18
GRACE_S = 1.0
"""How long to read on when the agent is gone but something it started holds its pipes."""
PASSED_ON = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCONT,
)
_ADDRESS = re.compile(rb"http://(?:127\.0\.0\.1|localhost|\[::1\]):\d+")


class Recorder:
    """One agent's process, and the tape of it."""

    def __init__(
        self,
        argv: Sequence[str],
        out: Path,
        *,
        agent: str | None = None,
        scrubbed: bool = True,
        serves: bool = False,
    ) -> None:
        """Start the agent. Raise OSError where it, or the file, cannot be opened."""
        self._serves = serves
        self.tape = Tape(out, secrets_of(os.environ, parents_environ()) if scrubbed else ())
        self._pipes = [os.pipe() for _ in range(3)]
        (in_read, _), (_, out_write), (_, err_write) = self._pipes
        try:
            # A group of its own: a signal to ours would reach it twice, by itself and by us.
            self._process = subprocess.Popen(
                argv, stdin=in_read, stdout=out_write, stderr=err_write, process_group=0
            )
        finally:
            for fd in (in_read, out_write, err_write):
                os.close(fd)
        for number in PASSED_ON:
            signal.signal(number, self._pass_on)
        name = agent or os.path.basename(argv[0])
        self.tape.write(Meta(agent=name, argv=tuple(argv), cwd=os.getcwd()))

    def run(self) -> Ending:
        """Pass everything on until the agent is gone."""
        (_, in_write), (out_read, _), (err_read, _) = self._pipes
        self._pump("in", 0, in_write)
        pumps = [self._pump("out", out_read, 1), self._pump("err", err_read, 2)]
        code = self._process.wait()
        for pump in pumps:
            pump.join(GRACE_S)
        died = code < 0
        ending = Ending(
            t=self.tape.now(), code=None if died else code, signal=-code if died else None
        )
        self.tape.write(ending)
        return ending

    def _pass_on(self, number: int, frame: object) -> None:
        self.tape.write(PassedSignal(t=self.tape.now(), number=number))
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def _pump(self, dir: Dir, source: int, target: int) -> threading.Thread:
        # Blocking, one thread for each: whoever does not read holds up only those who write.
        thread = threading.Thread(target=self._pass, args=(dir, source, target), daemon=True)
        thread.start()
        return thread

    def _pass(self, dir: Dir, source: int, target: int) -> None:
        framer = Framer()
        while chunk := _read(source):
            # First, so that no answer to a line is ever written down before it.
            lines = framer.feed(chunk)
            for line in lines:
                self.tape.write(Line(t=self.tape.now(), dir=dir, data=line))
            if dir == "out" and self._serves:
                chunk = b"".join(self._fronted(line) + b"\n" for line in lines)
            if not _write(target, chunk):
                break
        if rest := framer.close():
            self.tape.write(Line(t=self.tape.now(), dir=dir, data=rest, open=True))
        if dir == "in":
            self.tape.write(Eof(t=self.tape.now()))
        for fd in {source, target} - {2}:  # whoever is at the other end shall notice
            os.close(fd)

    def _fronted(self, line: bytes) -> bytes:
        """The line, with the address of a proxy of ours in the place of the agent's own."""
        found = _ADDRESS.search(line)
        if found is None:
            return line
        from dragoman.testing.recordings.record_http import stand_before

        url = stand_before(found[0].decode(), self.tape)
        self._serves = False
        return line.replace(found[0], url.encode())


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, READ_BYTES)
    except OSError:
        return b""


def _write(fd: int, chunk: bytes) -> bool:
    """Write all of it; False: nobody reads any more."""
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError:
        return False
    return True


def finish(tape: Tape, *, scrubbed: bool) -> str | None:
    """Close the recording, fit to commit if wanted; what went wrong with it, if anything."""
    try:
        if scrubbed and tape.failure is None:
            tape.replace(_scrubbed(tape))
    except OSError as error:
        tape.failure = error
    except msgspec.DecodeError as error:
        return f"not scrubbed, because it was there before and cannot be read: {error}"
    finally:
        tape.close()
    return None if tape.failure is None else f"incomplete: {tape.failure}"


def _scrubbed(tape: Tape) -> bytes:
    # Imported late: an agent should not wait for what is needed after it.
    import platform

    from dragoman.testing.recordings.scrub import machine_of, scrub

    machine = machine_of(os.environ, platform.node(), tape.secrets)
    return dump(scrub(load(tape.path.read_bytes()), machine))
