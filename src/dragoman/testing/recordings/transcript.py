"""The file format of a recording. Pure.

One JSON object a line. A process begins with `meta`, has `in` (towards the agent), `out` and
`err` lines, `eof` (its input was closed), `signal` (one was passed on), and ends with `exit`:

    {"t":0.0,"dir":"meta","meta":{"agent":"mock","argv":["mock"],"cwd":"/workspace"}}
    {"t":0.1,"dir":"in","line":"the exact text, without its LF"}
    {"t":0.2,"dir":"out","base64":"/w==","open":true}
    {"t":0.3,"dir":"eof"}
    {"t":0.4,"dir":"exit","exit":{"code":0,"signal":null}}

`base64` stands where the bytes are not UTF-8, `open` where the line had no LF. Several processes
may follow one another. Written by hand, `payload` may stand for `line`, `meta` and `exit`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from dragoman.wire.decode import decode

Dir = Literal["in", "out", "err"]

_FOREIGN_DIRS = {"stderr": "err", "stdout": "out", "stdin": "in"}


class Meta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which process was recorded."""

    agent: str | None = None
    argv: tuple[str, ...] = ()
    cwd: str | None = None
    version: str | None = None
    url: str | None = None
    """Of an agent that speaks HTTP: where it listened."""


class Line(Struct, frozen=True, kw_only=True):
    """A line that went in, or came out."""

    t: float
    """Seconds since the process started."""
    dir: Dir
    data: bytes
    open: bool = False
    """It had no LF."""
    http: dict[str, Any] | None = None
    """Of an agent that speaks HTTP: `id`, and `method` and `path`, `status`, or `end`."""


class Eof(Struct, frozen=True, kw_only=True):
    """The agent's input was closed."""

    t: float


class PassedSignal(Struct, frozen=True, kw_only=True):
    """A signal was passed on to the agent."""

    t: float
    number: int


class Ending(Struct, frozen=True, kw_only=True):
    """How the process ended."""

    t: float
    code: int | None
    signal: int | None


Entry = Line | Eof | PassedSignal


class Run(Struct, frozen=True, kw_only=True):
    """One process, from its start to its end; `ending` None: the recording just stops."""

    meta: Meta
    entries: tuple[Entry, ...]
    ending: Ending | None = None

    def lines(self, dir: Dir) -> list[Line]:
        """The lines of one direction."""
        return [each for each in self.entries if isinstance(each, Line) and each.dir == dir]


Transcript = tuple[Run, ...]


# --- Writing ---


def encode(entry: Meta | Entry | Ending) -> bytes:
    """One line of a recording, with its LF."""
    return _encode(_record(entry)) + b"\n"


def _record(entry: Meta | Entry | Ending) -> dict[str, Any]:
    match entry:
        case Meta():
            return {"t": 0.0, "dir": "meta", "meta": entry}
        case Eof(t=t):
            return {"t": _round(t), "dir": "eof"}
        case PassedSignal(t=t, number=number):
            return {"t": _round(t), "dir": "signal", "signal": number}
        case Ending(t=t, code=code, signal=signal):
            return {"t": _round(t), "dir": "exit", "exit": {"code": code, "signal": signal}}
        case Line(t=t, dir=dir, http=http):
            about = {} if http is None else {"http": http}
            ending = {"open": True} if entry.open else {}
            return {"t": _round(t), "dir": dir, **about, **_content(entry.data), **ending}


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"line": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _round(seconds: float) -> float:
    return round(seconds, 4)


def dump(transcript: Transcript) -> bytes:
    """A whole recording."""
    return b"".join(encode(entry) for run in transcript for entry in _entries(run))


def _entries(run: Run) -> Iterator[Meta | Entry | Ending]:
    yield run.meta
    yield from run.entries
    if run.ending is not None:
        yield run.ending


# --- Reading ---


class _Exit(Struct):
    code: int | None = None
    signal: int | None = None
    rc: int | None = None


class _Record(Struct):
    dir: str
    t: float = 0.0
    line: str | None = None
    base64: str | None = None
    payload: Raw = Raw()
    open: bool = False
    http: dict[str, Any] | None = None
    meta: Meta | None = None
    exit: _Exit | None = None
    signal: int | None = None


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(_Record)


def load(text: bytes) -> Transcript:
    """Read a recording. Raise only msgspec errors, which name the line.

    A last line that was cut short, because the recorder was killed, costs only itself.
    """
    parsed: list[Meta | Entry | Ending] = []
    lines = text.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            entry = _parse(line) if line.strip() else None
        except msgspec.DecodeError as error:
            if number == len(lines):
                break
            raise msgspec.DecodeError(f"line {number}: {error}") from None
        if entry is not None:
            parsed.append(entry)
    return tuple(_runs(parsed))


def _runs(parsed: Iterable[Meta | Entry | Ending]) -> Iterator[Run]:
    meta: Meta | None = None
    entries: list[Entry] = []
    for each in parsed:
        if isinstance(each, Ending):
            yield Run(meta=meta or Meta(), entries=tuple(entries), ending=each)
            meta, entries = None, []
        elif not isinstance(each, Meta):
            entries.append(each)
        else:
            if meta is not None or entries:
                yield Run(meta=meta or Meta(), entries=tuple(entries))
            meta, entries = each, []
    if meta is not None or entries:
        yield Run(meta=meta or Meta(), entries=tuple(entries))


def _parse(line: bytes) -> Meta | Entry | Ending | None:
    record = decode(line, _decoder)
    match _FOREIGN_DIRS.get(record.dir, record.dir):
        case "meta":
            return _meta(record)
        case "exit":
            return _ending(record)
        case "eof":
            return Eof(t=record.t)
        case "signal":
            return PassedSignal(t=record.t, number=record.signal or 0)
        case "in" | "out" | "err" as dir:
            data = _data(record)
            return Line(t=record.t, dir=dir, data=data, open=record.open, http=record.http)
        case "note":
            return None
        case unknown:
            raise msgspec.ValidationError(f"a recording has no dir {unknown!r}")


def _meta(record: _Record) -> Meta | None:
    if record.meta is not None or not bytes(record.payload):
        return record.meta or Meta()
    if not bytes(record.payload).lstrip().startswith(b"{"):
        return None  # a figure that another recorder noted
    meta = msgspec.json.decode(record.payload, type=Meta)
    return None if meta == Meta() else meta


def _ending(record: _Record) -> Ending:
    exit = record.exit or msgspec.json.decode(bytes(record.payload) or b"{}", type=_Exit)
    code = exit.rc if exit.code is None else exit.code
    if code is not None and code < 0:
        return Ending(t=record.t, code=None, signal=-code)
    return Ending(t=record.t, code=code, signal=exit.signal)


def _data(record: _Record) -> bytes:
    if record.line is not None:
        return record.line.encode()
    if record.base64 is not None:
        try:
            return b64decode(record.base64, validate=True)
        except Base64Error as error:
            raise msgspec.ValidationError(f"base64: {error}") from None
    if not bytes(record.payload):
        raise msgspec.ValidationError(f"{record.dir!r} without line, base64 or payload")
    return _compact(bytes(record.payload))


def _compact(payload: bytes) -> bytes:
    """A payload as an agent would have written it; a string is text that was no JSON."""
    value = msgspec.json.decode(payload)
    return value.encode() if isinstance(value, str) else _encode(value)
