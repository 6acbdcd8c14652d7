"""Scrubs a recording: no paths, keys or long prose. Pure and idempotent.

Paths of the machine become stable ones, in both directions, also where an agent streamed them
in pieces. Secrets, addresses, hostnames and pids go. Vendors' prose, e.g. what their tools are
described with, is cut to its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.testing.recordings.secret_variables import secrets_of
from dragoman.testing.recordings.transcript import Entry, Line, Meta, Run, Transcript
from dragoman.wire.key_patterns import without_keys
from dragoman.wire.redactor import Secret

WORKSPACE, HOME, BIN, TMP = "/workspace", "/home/user", "/usr/local/bin", "/tmp"
MAX_PROSE = 120
PROSE_KEYS = frozenset(
    ("description", "prompt", "whenToUse", "when_to_use", "systemPrompt", "system_prompt",
     "instructions", "base_instructions", "developer_instructions")
)  # fmt: skip
"""What stands under these, and is long, is a vendor's, unless it is in a message."""
_OF_PEOPLE = frozenset(("input", "content", "message", "messages", "arguments"))
_SECRET_LEAF = re.compile(
    r"^(api_?key|access_?token|refresh_?token|authorization|password|secret)$", re.IGNORECASE
)
_SECRET = "<secret>"
_MIN_SECRET = 8
_MAX_PASSES = 8
"""What one replacement puts beside another may be found by the next; it soon comes to rest."""
_TRIVIAL = {
    "",
    "/root/",
    "/usr",
    "/usr/bin",
    "/bin",
    "/opt",
    "/var",
    "/home",
    WORKSPACE,
    HOME,
    TMP,
}
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"),
     "user@example.com"),
    (re.compile(r"/\d+\.(sock|pid)\b"), r"/1.\1"),
)  # fmt: skip
_PID = re.compile(r"(^|_)p?pid$|Pid$")

Path = tuple[str | int, ...]


class Machine(Struct, frozen=True, kw_only=True):
    """What must not be told about a machine."""

    paths: Mapping[str, str] = {}
    """Path → the stable one in its place."""
    secrets: tuple[str, ...] = ()
    host: str | None = None


def machine_of(
    environ: Mapping[str, str], host: str | None = None, secrets: Iterable[Secret] = ()
) -> Machine:
    """What the environment of an agent says about its machine."""
    home = environ.get("HOME", "")
    paths = {home: HOME, environ.get("TMPDIR", ""): TMP}
    for name, value in environ.items():
        if name.endswith(("_HOME", "_CONFIG_DIR")) and not value.startswith(f"{home}/"):
            paths.setdefault(value, f"{HOME}/.{name.lower()}")
    return Machine(
        paths={path: stable for path, stable in paths.items() if path.startswith("/")},
        secrets=tuple(value for _, value in (*secrets_of(environ), *secrets)),
        host=host,
    )


def scrub(
    transcript: Transcript, machine: Machine | None = None, prose: Sequence[str] = ()
) -> Transcript:
    """A recording without what nobody else should read.

    `prose` names further leaves to cut, by dotted path; `*` stands for any one step.
    """
    machine = machine or Machine()
    words = _Words(machine, [run.meta for run in transcript], _told_folders(transcript))
    cut = [tuple(each.split(".")) for each in prose]
    for _ in range(_MAX_PASSES):
        before = transcript
        transcript = tuple(_scrub_run(run, words, cut) for run in transcript)
        if transcript == before:
            break
    return transcript


def _scrub_run(run: Run, words: _Words, prose: list[tuple[str, ...]]) -> Run:
    sheets = [
        _Sheet(entry, words, prose) if isinstance(entry, Line) else None for entry in run.entries
    ]
    _mend_streams((sheet for sheet in sheets if sheet is not None), words)
    entries: tuple[Entry, ...] = tuple(
        entry if sheet is None else sheet.line()
        for entry, sheet in zip(run.entries, sheets, strict=True)
    )
    meta = msgspec.structs.replace(
        run.meta,
        argv=tuple(map(words.replace, run.meta.argv)),
        cwd=None if run.meta.cwd is None else words.replace(run.meta.cwd),
    )
    return msgspec.structs.replace(run, meta=meta, entries=entries)


def _told_folders(transcript: Transcript) -> list[str]:
    """Where a process that many share was told to work, in the order of the sessions."""
    told: dict[str, None] = {}
    for line in (line for run in transcript for line in run.lines("in")):
        match _json(line.data)[1]:
            case {"params": {"cwd": str(folder)}}:
                told[folder] = None
    return list(told)


# --- Words ---


class _Words:
    """Everything that is replaced wherever it stands in a text."""

    def __init__(self, machine: Machine, metas: Iterable[Meta], folders: Sequence[str]) -> None:
        paths = dict(machine.paths)
        for meta in metas:
            for program in _programs(meta.argv):
                paths[program] = f"{BIN}/{program.rpartition('/')[2]}"
            if (folder := _script_folder(meta.argv)) is not None:
                paths[folder] = BIN
            if meta.cwd is not None:
                paths[meta.cwd] = WORKSPACE
        for number, folder in enumerate(folders, 1):
            paths.setdefault(folder, WORKSPACE if number == 1 else f"{WORKSPACE}-{number}")
        self._stable = {
            path.rstrip("/"): stable
            for path, stable in paths.items()
            if path.startswith("/") and path.rstrip("/") not in _TRIVIAL and path != stable
        }
        # Some agents name a folder after a path, with everything else made a hyphen.
        slugs = {_slug(path): _slug(stable) for path, stable in self._stable.items()}
        self._stable |= {slug: stable for slug, stable in slugs.items() if slug.count("-") > 1}
        self._paths = _any_of(self._stable, r"(?<![\w.])(?:{})(?![A-Za-z0-9_])")
        self._secrets = _any_of(machine.secrets, "{}")
        self.long = re.compile(f"{self._secrets.pattern}|{self._paths.pattern}")
        """What may be streamed in pieces."""
        told = machine.host and len(machine.host) > 5 and re.search(r"[\d.-]", machine.host)
        self._hosts = _any_of([machine.host or ""] if told else [], r"(?<!\w)(?:{})(?!\w)")

    def replace(self, text: str) -> str:
        """A text without them."""
        text = self._secrets.sub(_SECRET, text)
        text = self._paths.sub(self.stable, text)
        text = self._hosts.sub("host", text)
        text = without_keys(text, _SECRET)
        for pattern, stable in _PATTERNS:
            text = pattern.sub(stable, text)
        return text

    def stable(self, found: re.Match[str]) -> str:
        """What stands in the place of a path, or of a secret."""
        return self._stable.get(found[0], _SECRET)


def _programs(argv: Sequence[str]) -> list[str]:
    """The executable, and what it runs where it is an interpreter; those that tell a place."""
    script = next((word for word in argv[1:] if not word.startswith("-")), "")
    return [word for word in (*argv[:1], script) if word.startswith("/")]


def _script_folder(argv: Sequence[str]) -> str | None:
    """Where the script behind an interpreter is installed: it names its other files."""
    if len(programs := _programs(argv)) < 2:
        return None
    above, found, _ = programs[1].partition("/node_modules/")
    folder = above if found else programs[1].rpartition("/")[0]
    return folder if folder.count("/") > 1 else None  # no folder of the system


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def _any_of(words: Iterable[str], around: str) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    # A pattern that matches nothing, where there is nothing to find.
    return re.compile(around.format("|".join(map(re.escape, longest_first)) or r"(?!)"))


# --- Lines ---


class _Sheet:
    """A line as the leaves of its JSON, which can be changed one by one."""

    def __init__(self, line: Line, words: _Words, prose: list[tuple[str, ...]]) -> None:
        self._line = line
        self._prefix, self._value = _json(line.data)
        self._words = words
        self.leaves: dict[Path, str | int] = {
            path: self._scrub_leaf(path, leaf, prose) for path, leaf in _leaves(self._value, ())
        }
        """Strings and numbers, by where they stand. May be changed."""

    def _scrub_leaf(self, path: Path, leaf: str | int, prose: list[tuple[str, ...]]) -> str | int:
        key = next((step for step in reversed(path) if isinstance(step, str)), "")
        if isinstance(leaf, int):
            return 1 if _PID.search(key) and not isinstance(leaf, bool) else leaf
        if self._line.dir == "out" and len(leaf) > MAX_PROSE and _is_prose(path, key, prose):
            return f"<{len(leaf)} characters>"
        if _SECRET_LEAF.match(key) and len(leaf) >= _MIN_SECRET:
            return _SECRET
        return self._words.replace(leaf)

    def line(self) -> Line:
        """The line as it is now; the very same where nothing changed."""
        if self._value is None:
            text = self._words.replace(self._line.data.decode(errors="surrogateescape"))
            data = text.encode(errors="surrogateescape")
            return msgspec.structs.replace(self._line, data=data)
        value = self._written(self._value, ())
        if value == self._value:
            return self._line
        return msgspec.structs.replace(self._line, data=self._prefix + msgspec.json.encode(value))

    def _written(self, value: Any, path: Path) -> Any:
        match value:
            case dict():
                return {
                    self._words.replace(name): self._written(inner, (*path, name))
                    for name, inner in value.items()
                }
            case list():
                return [self._written(inner, (*path, at)) for at, inner in enumerate(value)]
            case _:
                return self.leaves.get(path, value)


def _is_prose(path: Path, key: str, prose: list[tuple[str, ...]]) -> bool:
    if key in PROSE_KEYS and not _OF_PEOPLE & set(path[:-1]):
        return True
    steps = tuple(map(str, path))
    return any(
        len(each) == len(steps)
        and all(want in ("*", step) for want, step in zip(each, steps, strict=True))
        for each in prose
    )


def _json(data: bytes) -> tuple[bytes, Any]:
    """What stands before the JSON of a line (`data: ` of an event stream), and the JSON."""
    prefix = b"data: " if data.startswith(b"data: ") else b""
    try:
        value = msgspec.json.decode(data[len(prefix) :])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return b"", None
    return prefix, value if isinstance(value, dict | list) else None


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    match value:
        case dict():
            for name, inner in value.items():
                yield from _leaves(inner, (*path, name))
        case list():
            for index, inner in enumerate(value):
                yield from _leaves(inner, (*path, index))
        case str() | int():
            yield path, value


# --- Streams ---


def _mend_streams(sheets: Iterable[_Sheet], words: _Words) -> None:
    """Replace what is spread over the pieces of a stream: lines of the same shape."""
    columns: dict[tuple[Path, frozenset[Path]], list[_Sheet]] = {}
    for sheet in sheets:
        shape = frozenset(sheet.leaves)
        for path, leaf in sheet.leaves.items():
            if isinstance(leaf, str):
                columns.setdefault((path, shape), []).append(sheet)
    for (path, _), column in columns.items():
        if len(column) > 1:
            _mend_column(path, column, words)


def _mend_column(path: Path, column: list[_Sheet], words: _Words) -> None:
    pieces = [str(sheet.leaves[path]) for sheet in column]
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece))
    found = list(words.long.finditer("".join(pieces)))
    for match in reversed(found):  # from the right, so that what is left of it stays in place
        begin, end = match.span()
        touched = [n for n in range(len(pieces)) if starts[n] < end and begin < starts[n + 1]]
        for n in touched if len(touched) > 1 else ():
            low, high = max(begin - starts[n], 0), min(end, starts[n + 1]) - starts[n]
            stable = words.stable(match) if n == touched[0] else ""
            pieces[n] = pieces[n][:low] + stable + pieces[n][high:]
    for sheet, piece in zip(column, pieces, strict=True):
        sheet.leaves[path] = piece
