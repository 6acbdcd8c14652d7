"""Installs and removes agents from npm, whole or not at all.

`<folder>/<id>/<version>/` is what npm made: `node_modules/<package>/<executable>` and its lock
file. What is being made or removed has a name that begins with `.partial-`; only who holds the
agent's `.lock` touches those, so whatever has that name at the start was left by the dead.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Literal

from msgspec import Struct

from dragoman.adapter import Adapter
from dragoman.errors import Conflict, InstallFailed, NotInstallable, Unavailable
from dragoman.facts import Package, version_order
from dragoman.runtime.processes import linux
from dragoman.runtime.processes.process_tree import process_tree
from dragoman.runtime.provision import npm
from dragoman.runtime.provision.versions import Versions, ensure_version

DEADLINE_S = 600.0
_PARTIAL = ".partial-"
_LOCK_POLL_S = 0.1
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}

Phase = Literal["waiting", "resolving", "downloading", "checking", "done"]


class InstallProgress(Struct, frozen=True):
    """How far an installation is."""

    phase: Phase
    size_bytes: int = 0
    """What is on the disk so far."""


Report = Callable[[InstallProgress], None]


def platform_name() -> str:
    """This machine, as npm's packages are named after it: `linux-x64` and the like."""
    machine = platform.machine().lower()
    name = f"{sys.platform}-{_MACHINES.get(machine, machine)}"
    musl = sys.platform == "linux" and platform.libc_ver()[0] != "glibc"
    return f"{name}-musl" if musl else name


class Installer:
    """The agents in one folder. For threads, never for the event loop."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        stop: Event | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.folder = folder
        self._environ = environ
        self._stop = stop or Event()
        self._deadline_s = deadline_s
        self._platform = platform_name()

    # --- What is there ---

    def versions(self, adapter: Adapter) -> list[str]:
        """The versions that are installed, the oldest first."""
        try:
            names = os.listdir(self._home(adapter))
        except OSError:
            return []
        there = [name for name in names if name[0] != "." and self.executable(adapter, name)]
        return sorted(there, key=version_order)

    def best(self, adapter: Adapter) -> str | None:
        """The version to use where none is asked for: the proven one, else the newest."""
        there = self.versions(adapter)
        if adapter.package is not None and adapter.package.version in there:
            return adapter.package.version
        return there[-1] if there else None

    def executable(self, adapter: Adapter, version: str) -> Path | None:
        """Where an installed version can be run."""
        if not self.can_install(adapter):
            return None
        path = self._executable(adapter, version, self._home(adapter) / version)
        return path if os.access(path, os.X_OK) and path.is_file() else None

    def command(self, adapter: Adapter, version: str) -> tuple[str, ...] | None:
        """How an installed version is run: its executable, perhaps behind its interpreter."""
        path = self.executable(adapter, version)
        return None if path is None else self._command(adapter, path, version)

    def _command(
        self, adapter: Adapter, path: Path, version: str, home: Path | None = None
    ) -> tuple[str, ...]:
        interpreter = self._package(adapter).interpreter
        if interpreter is None:
            return (str(path),)
        home = home or self._home(adapter) / version
        return (str(self._program(interpreter, interpreter.version, home)), str(path))

    def can_install(self, adapter: Adapter) -> bool:
        """There is a package of this agent for this machine."""
        return adapter.package is not None and self._platform in adapter.package.names

    def _home(self, adapter: Adapter) -> Path:
        """Where its versions are: perhaps beneath the agent that comes from the same package."""
        package = adapter.package
        return self.folder / ((package.installed_as if package else "") or adapter.id)

    def _executable(self, adapter: Adapter, version: str, home: Path) -> Path:
        return self._program(self._package(adapter), version, home)

    def _program(self, package: Package, version: str, home: Path) -> Path:
        inside = home / "node_modules" / package.name(version, self._platform)
        places = [inside / program for program in package.programs(version, self._platform)]
        return next((path for path in places if path.is_file()), places[0])

    def _package(self, adapter: Adapter) -> Package:
        if adapter.package is None:
            raise NotInstallable(
                f"{adapter.name} is not something that Dragoman can install; install it yourself"
            )
        if self._platform not in adapter.package.names:
            known = ", ".join(sorted(adapter.package.names))
            raise NotInstallable(
                f"there is no package of {adapter.name} for {self._platform}, only for {known}; "
                "install it yourself"
            )
        return adapter.package

    # --- Putting there ---

    def install(
        self,
        adapter: Adapter,
        version: str | None = None,
        *,
        reinstall: bool = False,
        report: Report = lambda progress: None,
    ) -> Path:
        """Install a version, the proven one by default; its executable. Raise InstallFailed."""
        version = version or self._package(adapter).version
        ensure_version(version)
        self._package(adapter)
        if reinstall or not self.executable(adapter, version):
            try:
                with self._locked(adapter, report):
                    # Another one may have done it while we waited.
                    if reinstall or not self.executable(adapter, version):
                        self._install(adapter, version, report)
            except OSError as error:
                raise InstallFailed(f"cannot install into {self.folder}: {error}") from None
        report(InstallProgress("done"))
        return self._executable(adapter, version, self._home(adapter) / version)

    def _install(self, adapter: Adapter, version: str, report: Report) -> None:
        package, home = self._package(adapter), self._home(adapter)
        with _partial(home) as partial:
            report(InstallProgress("resolving"))
            fetch = npm.Fetch(
                folder=partial,
                environ=self._environ,
                mark=self._mark(adapter),
                deadline_s=self._deadline_s,
                stop=self._stop,
                tick=_Meter(partial / "node_modules", report).tick,
            )
            name, release = self._names(package, version)
            beside = self._beside(package, version)
            if package.is_bundle(version):
                found = {**fetch.install(beside), name: fetch.unpack(name, release)}
            else:
                found = fetch.install({name: release, **beside})
            report(InstallProgress("checking", size_of(partial)))
            self._check_integrity(package, version, found[name])
            if (interpreter := package.interpreter) is not None:
                name, _ = self._names(interpreter, interpreter.version)
                self._check_integrity(interpreter, interpreter.version, found[name])
            if package.compressed:
                inside = partial / "node_modules" / self._names(package, version)[0]
                fetch.decompress(
                    inside / package.compressed,
                    inside / package.programs(version, self._platform)[0],
                    _Meter(partial, report, "checking").tick,
                )
            self._check_version(adapter, version, partial)
            _put(partial, home / version)

    def _names(self, package: Package, version: str) -> tuple[str, str]:
        """What npm calls a package, and a version of it, for this platform."""
        return package.name(version, self._platform), package.release(version, self._platform)

    def _beside(self, package: Package, version: str) -> dict[str, str]:
        """What is fetched beside a version of a package."""
        beside: dict[str, str] = {}
        if (interpreter := package.interpreter) is not None:
            name, release = self._names(interpreter, interpreter.version)
            beside[name] = release
        if package.bundle is not None and package.is_bundle(version):
            beside.update(package.bundle.beside)
        return beside

    def _check_integrity(self, package: Package, version: str, found: str | None) -> None:
        expected = package.integrity.get(self._platform)
        if version == package.version and expected and found != expected:
            raise InstallFailed(
                f"{package.names[self._platform]}@{version} is not what it was: its integrity is "
                f"{found}, and {expected} is expected; nothing was installed"
            )

    def _check_version(self, adapter: Adapter, version: str, partial: Path) -> None:
        path, package = self._executable(adapter, version, partial), self._package(adapter)
        name = "@".join(self._names(package, version))
        if not os.access(path, os.X_OK):
            raise InstallFailed(
                f"{name} has no executable "
                f"{' or '.join(map(repr, package.programs(version, self._platform)))}; "
                "nothing was installed"
            )
        command = self._command(adapter, path, version, partial)
        found = Versions(self._mark(adapter), self._stop).read(*command)
        if self._stop.is_set():
            raise Unavailable("the daemon is stopping")
        if found != version and (found is None or package.tells_version):
            raise InstallFailed(
                f"{name} says that its version is {found or 'unknown'}; nothing was installed"
            )

    # --- Taking away ---

    def remove(self, adapter: Adapter, version: str | None = None) -> list[str]:
        """Remove one version, or all; which they were. Raise Conflict for another one's."""
        if adapter.package is not None and (owner := adapter.package.installed_as):
            raise Conflict(f"{adapter.name} runs what is installed as {owner!r}; remove that one")
        gone = [each for each in self.versions(adapter) if version in (None, each)]
        if gone:
            home = self._home(adapter)
            try:
                with self._locked(adapter, lambda progress: None):
                    for each in gone:
                        with _partial(home) as partial, contextlib.suppress(FileNotFoundError):
                            (home / each).rename(partial / each)
            except OSError as error:
                raise InstallFailed(f"cannot remove from {self.folder}: {error}") from None
        return gone

    # --- One at a time ---

    def _mark(self, adapter: Adapter) -> str:
        return f"{linux.mark_of(self.folder)}:install-{self._home(adapter).name}"

    @contextlib.contextmanager
    def _locked(self, adapter: Adapter, report: Report) -> Iterator[None]:
        """Be the only installer of an agent; the kernel lets go of the lock of a killed one."""
        home = self._home(adapter)
        # The folder above is the data folder, by default, and that is nobody else's.
        self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.mkdir(parents=True, exist_ok=True)
        lock = os.open(home / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait_for(lock, report)
            # What a killed installer started may still write into what it left.
            process_tree.sweep(self._mark(adapter))
            for left in home.glob(f"{_PARTIAL}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield
        finally:
            os.close(lock)

    def _wait_for(self, lock: int, report: Report) -> None:
        deadline = time.monotonic() + self._deadline_s
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            report(InstallProgress("waiting"))
            if self._stop.wait(_LOCK_POLL_S):
                raise Unavailable("the daemon is stopping")
            if time.monotonic() > deadline:
                raise InstallFailed(
                    f"another installation into {self.folder} did not end in "
                    f"{self._deadline_s:.0f} s"
                )


class _Meter:
    """Tells how much is there, now and then."""

    def __init__(self, folder: Path, report: Report, phase: Phase = "downloading") -> None:
        self._phase = phase
        self._folder = folder
        self._report = report
        self._next = 0.0

    def tick(self) -> None:
        """Look, unless it was just done."""
        if time.monotonic() >= self._next:
            size = size_of(self._folder)
            self._report(InstallProgress(self._phase if size else "resolving", size))
            self._next = time.monotonic() + 0.5


def size_of(folder: Path) -> int:
    """The bytes of all files below, of those that are still there when we look."""
    size = 0
    for root, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(root, name)).st_size
    return size


@contextlib.contextmanager
def _partial(home: Path) -> Iterator[Path]:
    """A folder beside the installed versions, which does not outlive the block."""
    # npm names packages in its lock by where they really are.
    partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=home.resolve()))
    partial.chmod(0o755)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _put(partial: Path, place: Path) -> None:
    """Move a finished folder to its place; there is no moment at which nothing is there."""
    if not place.exists():
        partial.rename(place)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    swapped = hasattr(libc, "renameat2") and not libc.renameat2(
        _AT_FDCWD, os.fsencode(partial), _AT_FDCWD, os.fsencode(place), _RENAME_EXCHANGE
    )
    if not swapped:  # some file systems cannot; two steps are the next best
        old = partial.with_name(f"{partial.name}-old")
        place.rename(old)
        partial.rename(place)
        shutil.rmtree(old, ignore_errors=True)
