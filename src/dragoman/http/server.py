"""`dragoman serve`: listens, handles signals, stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import uvicorn
import uvloop

from dragoman import logs
from dragoman.errors import StartRefused
from dragoman.http.app import DragomanApp, create_app, stop
from dragoman.http.auth.tickets import TICKET_S
from dragoman.http.auth.tokens import token_path
from dragoman.http.sockets import holder_of
from dragoman.http.uvicorn_protocol import Protocol
from dragoman.runtime.processes import linux
from dragoman.runtime.processes.process_tree import process_tree
from dragoman.settings import Settings

log = logging.getLogger(__name__)

GRACEFUL_S = 2
"""How long answers that are under way may take once the daemon stops."""
BACKLOG = 4096
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGXCPU, signal.SIGPWR)
"""These stop the daemon, and so does SIGHUP, unless it was ignored at the start."""
IGNORED_SIGNALS = (
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGIO,
    signal.SIGSTKFLT,
    *range(signal.SIGRTMIN, signal.SIGRTMAX + 1),
)
"""These would end a process by default, and mean nothing to us."""
SWITCH_INTERVAL_S = 0.0001
"""How soon a thread of the store may interrupt the loop: Python's default adds milliseconds."""


def run(settings: Settings) -> int:
    """Run the daemon until it is told to stop; the exit code."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        Path(settings.data_dir).mkdir(parents=True, exist_ok=True, mode=0o700)
        log_file = Path(settings.data_dir) / "logs" / "daemon.log"
        logs.configure(settings.log_level, log_file, settings.debug)
    except OSError as error:
        raise StartRefused(
            f"cannot write to the data folder {settings.data_dir}: {error.strerror}; make it "
            "writable, or choose another one with --data-dir"
        ) from None
    app = create_app(settings)
    process_tree.adopt()
    linux.free_large_blocks()
    _tune_collector()
    uvloop.run(_serve(app))
    return 0


def _tune_collector() -> None:
    """A busy session makes a million short-lived objects a second, and hardly a cycle."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


async def _serve(app: DragomanApp) -> None:
    listener = _listen(app.settings)
    app.port = listener.getsockname()[1]
    stop_signal = _stop_signal()  # agents may run before the daemon serves: what waits is delivered
    async with app.running() as daemon:
        server = _Server(_config(app))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        with _announced(app.settings, app.port, app.authenticator.ticket()):
            await asyncio.wait((serving, stop_signal), return_when=asyncio.FIRST_COMPLETED)
            log.info("stopping")
            await stop(daemon)
        server.leave()
        await serving


def _config(app: DragomanApp) -> uvicorn.Config:
    protocol = partial(Protocol, connection_limits=app.connection_limits)
    return uvicorn.Config(
        app,
        # A cast, because uvicorn asks for a class and only ever calls it.
        http=cast("type[asyncio.Protocol]", protocol),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=cast("int", app.settings.idle_timeout_s),
        timeout_graceful_shutdown=GRACEFUL_S,
        backlog=BACKLOG,
    )


class _Server(uvicorn.Server):
    """Uvicorn, with the signals left to us: agents and streams end before it does."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._leaving = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for the end. Uvicorn looks ten times a second, for a date that we do not send."""
        await self._leaving.wait()

    def leave(self) -> None:
        """Stop serving."""
        self.should_exit = True
        self._leaving.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signal."""
        yield


def _stop_signal() -> asyncio.Task[object]:
    """Wait for a signal that stops the daemon; no other signal may end it, and leave its agents."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in IGNORED_SIGNALS:
        # A handler, not SIG_IGN: what is ignored stays ignored in every agent that is started.
        loop.add_signal_handler(number, _ignore_signal, number)
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # else it runs under nohup
        loop.add_signal_handler(signal.SIGHUP, stop.set)
    return asyncio.create_task(stop.wait())


def _ignore_signal(number: int) -> None:
    name = signal.strsignal(number) or "unknown"
    log.warning("signal %d (%s) is ignored; SIGTERM stops the daemon", number, name)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        why = f"the port is taken by {holder_of(settings.port)}" if taken else error.strerror
        not_ours = error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror)
        advice = "port with --port, or 0 for a free one"
        advice = "address with --host" if not_ours else advice
        raise StartRefused(
            f"cannot listen on {settings.host}:{settings.port}: {why}; choose another {advice}"
        ) from None
    listener.setblocking(False)
    return listener


def _token_hint(settings: Settings) -> dict[str, object]:
    """Where our own tools find the token, if not where they look anyway; never the token."""
    if settings.no_token:
        return {}
    if settings.token is not None:
        return {"tokenGiven": True}
    return {"tokenFile": str(token_path(settings).absolute())} if settings.token_file else {}


@contextlib.contextmanager
def _announced(settings: Settings, port: int, ticket: str | None) -> Iterator[None]:
    """Say where the daemon is: to a person on stdout, to our own tools in a file."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    url = f"http://{host}:{port}"
    path = Path(settings.data_dir) / "daemon.json"
    partial = path.with_suffix(".partial")
    try:
        partial.touch(mode=0o600)
        known = {"url": url, "pid": os.getpid(), "agentsDir": settings.agents_dir}
        partial.write_text(json.dumps({**known, **_token_hint(settings)}))
        partial.replace(path)
    except OSError as error:
        raise StartRefused(
            f"cannot write {path}, which tells where the daemon is: {error.strerror} ({partial})"
        ) from None
    sys.stdout.write(f"Dragoman listens on {url}\n")
    if ticket is None:
        sys.stdout.write(f"Open {url}/ui/\n")
    else:
        sys.stdout.write(
            f"Open {url}/ui/?ticket={ticket} (once, within {TICKET_S} s; later: dragoman ui)\n"
        )
    sys.stdout.flush()
    log.info("listening", extra={"url": url, "pid": os.getpid()})
    try:
        yield
    finally:
        if _names_us(path):
            path.unlink(missing_ok=True)


def _names_us(path: Path) -> bool:
    """Whether a file tells where this daemon is; in a folder that was made anew it may not."""
    try:
        return bool(json.loads(path.read_bytes())["pid"] == os.getpid())
    except (OSError, ValueError, KeyError, TypeError):
        return False
