"""Runs npm for an agent's packages, and turns its errors into short messages."""

from __future__ import annotations

import re
import shutil
import tarfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

import msgspec
from msgspec import Struct

from dragoman.errors import InstallFailed, NotInstallable, Unavailable
from dragoman.runtime.processes import program

ATTEMPTS = 2
PAUSE_S = 1.0
_FLAGS = (
    "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress",
    "--package-lock=true", "--global=false", "--fetch-retries=2", "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
)  # fmt: skip
_KEPT = {"HOME", "PATH", "LANG", "TMPDIR", "USER", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE",
         "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}  # fmt: skip
_UNREACHABLE = {"EAI_AGAIN", "ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH",
                "EHOSTUNREACH", "ERR_SOCKET_TIMEOUT", "FETCH_ERROR", "EPIPE"}  # fmt: skip
_ABSENT = {
    "ETARGET": "there is no such version; choose another one",
    "E404": "there is no such package; look at npm's registry",
}
_ABSENT_NAME = re.compile(
    r"No (?:matching version found|versions available) for (\S+?)\.?$"
    r"|'(\S+)' (?:is not in this registry|could not be found)"
)
_DECOMPRESS = """\
const { createReadStream, createWriteStream } = require("fs");
const { createBrotliDecompress } = require("zlib");
const [source, target] = process.argv.slice(1);
require("stream").pipeline(
  createReadStream(source), createBrotliDecompress(), createWriteStream(target),
  (error) => { if (error) { console.error(error.message); process.exitCode = 1; } },
);
"""
_ERROR_LINE = re.compile(r"^npm (?:error|ERR!) (.*\S)", re.MULTILINE)


class _LockEntry(Struct):
    version: str = ""
    integrity: str | None = None


class _Packed(Struct):
    filename: str
    integrity: str | None = None


class _Lock(Struct):
    packages: dict[str, _LockEntry] = {}


def environ_of(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment npm needs to know."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in _KEPT or name.lower().startswith("npm_config_")
    }


class Fetch(Struct, frozen=True, kw_only=True):
    """Fetches packages into `folder/node_modules`."""

    folder: Path
    environ: Mapping[str, str]
    mark: str
    deadline_s: float
    stop: Event
    tick: Callable[[], None]

    def install(self, wanted: Mapping[str, str]) -> dict[str, str | None]:
        """Fetch versions of packages, each by its name, with all that they depend on; the
        integrity that npm found each of them to have."""
        specs = [f"{name}@{version}" for name, version in wanted.items()]
        self._run(next(iter(wanted)), ["install", *_FLAGS, "--prefix", str(self.folder)], specs)
        return {name: _integrity(self.folder, name) for name in wanted}

    def unpack(self, name: str, version: str) -> str | None:
        """Fetch one package without what it depends on; the integrity that npm found it to have."""
        words = ["pack", "--json", "--ignore-scripts", "--pack-destination", str(self.folder)]
        ended = self._run(name, words, [f"{name}@{version}"])
        try:
            (packed,) = msgspec.json.decode(ended.stdout, type=tuple[_Packed, ...])
            archive = self.folder / packed.filename
            with tarfile.open(archive) as members:
                # Python 3.11.2 has no filters; the archive is npm's own, and its hash is checked.
                if hasattr(tarfile, "data_filter"):
                    members.extraction_filter = tarfile.data_filter
                members.extractall(self.folder / ".unpacked")
            place = self.folder / "node_modules" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            (self.folder / ".unpacked" / "package").rename(place)
            (self.folder / ".unpacked").rmdir()
            archive.unlink()
        except (ValueError, OSError, tarfile.TarError) as error:
            raise InstallFailed(f"what npm packed of {name} cannot be unpacked: {error}") from None
        return packed.integrity

    def decompress(self, source: Path, target: Path, tick: Callable[[], None]) -> None:
        """Put a program where it is run from. Node.js, which npm needs, can read Brotli."""
        node = shutil.which("node", path=self.environ.get("PATH"))
        if node is None:
            raise NotInstallable("node is not installed; install Node.js 20 or later")
        try:
            ended = program.run(
                [node, "-e", _DECOMPRESS, str(source), str(target)],
                environ=environ_of(self.environ),
                cwd=self.folder,
                mark=self.mark,
                deadline_s=self.deadline_s,
                stop=self.stop,
                tick=tick,
            )
        except (OSError, TimeoutError) as error:
            raise InstallFailed(f"{source.name} cannot be decompressed: {error}") from None
        if ended.code != 0:
            why = ended.stderr.strip().rpartition("\n")[2]
            raise InstallFailed(f"{source.name} cannot be decompressed: {why[:200]}")
        target.chmod(0o755)
        source.unlink()

    def _run(self, name: str, words: list[str], specs: list[str]) -> program.Ended:
        npm = shutil.which("npm", path=self.environ.get("PATH"))
        if npm is None:
            raise NotInstallable("npm is not installed; install Node.js 20 or later")
        deadline = time.monotonic() + self.deadline_s
        for attempt in range(1, ATTEMPTS + 1):
            try:
                ended = program.run(
                    [npm, *words, *specs],
                    environ=environ_of(self.environ),
                    cwd=self.folder,
                    mark=self.mark,
                    deadline_s=deadline - time.monotonic(),
                    stop=self.stop,
                    tick=self.tick,
                )
            except TimeoutError:
                raise InstallFailed(
                    f"npm could not fetch {specs[0]}: it was not done after {self.deadline_s:.0f} s"
                ) from None
            except OSError as error:
                raise InstallFailed(f"npm cannot be run: {error}") from None
            if ended.code == 0:
                return ended
            code, why = _reason(ended, name)
            if code not in _UNREACHABLE or attempt == ATTEMPTS:
                break
            if self.stop.wait(PAUSE_S):
                raise Unavailable("the daemon is stopping")
        failed = NotInstallable if code in _ABSENT else InstallFailed
        raise failed(f"npm could not fetch {specs[0]}: {why}")


def _integrity(folder: Path, name: str) -> str | None:
    try:
        lock = msgspec.json.decode((folder / "package-lock.json").read_bytes(), type=_Lock)
    except (OSError, msgspec.DecodeError) as error:
        raise InstallFailed(f"npm left no package-lock.json to check: {error}") from None
    return lock.packages.get(f"node_modules/{name}", _LockEntry()).integrity


def _reason(ended: program.Ended, name: str) -> tuple[str, str]:
    """npm's error code, and what it means for the package of this name."""
    lines = _ERROR_LINE.findall(ended.stderr)
    code = next((line.split()[1] for line in lines if line.startswith("code ")), "")
    if code in _UNREACHABLE:
        return code, f"the package registry cannot be reached ({code})"
    absent = _absent(lines)
    if code in _ABSENT and absent and absent != name and not absent.startswith(f"{name}@"):
        what = _ABSENT[code].partition(";")[0]
        return code, f"it depends on {absent}, and {what}; choose another version"
    known = {
        **_ABSENT,
        "ENOSPC": "no space is left on the disk",
        "EINTEGRITY": "what was downloaded is damaged (EINTEGRITY)",
    }
    if code in known:
        return code, known[code]
    told = [line for line in lines if not re.match(r"(code|errno|syscall) |A complete log", line)]
    last = ended.stderr.strip().rpartition("\n")[2]
    return code, (told[0] if told else last or f"it ended with code {ended.code}")[:200]


def _absent(lines: list[str]) -> str | None:
    """What npm did not find, as it names it: a package, and mostly a version."""
    found = next(filter(None, map(_ABSENT_NAME.search, lines)), None)
    return None if found is None else found[1] or found[2]
