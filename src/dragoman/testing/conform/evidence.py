"""What a probe leaves: its events and its agent's lines, checked and kept."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from dragoman.adapter import Adapter
from dragoman.client import encode_event
from dragoman.schema.events import AgentUnparsed, Event
from dragoman.testing.conform.report import Breach, UnaccountedMessage
from dragoman.testing.conformance import check
from dragoman.testing.recordings.transcript import Run, dump
from dragoman.testing.unaccounted import Share, said_in, share_in, unaccounted_in

PARSED = "everything_parsed"
"""The rule whose breaches are counted by themselves."""


class Evidence(Struct, frozen=True, kw_only=True):
    """The sessions of a probe, event by event, and the processes behind them."""

    probe: str
    streams: tuple[tuple[Event, ...], ...]
    runs: tuple[Run, ...]

    def breaches(self) -> list[Breach]:
        """The rules that a session broke."""
        return [
            Breach(
                probe=self.probe,
                rule=found.rule,
                sequence=found.sequence,
                message=found.message,
            )
            for stream in self.streams
            for found in check(stream, strict=True)
            if found.rule != PARSED
        ]

    def unparsed(self) -> int:
        """How many messages were not understood."""
        return sum(isinstance(event.data, AgentUnparsed) for event in self._events())

    def share(self, adapter: Adapter) -> Share:
        """How many native messages are shown, are noise, or are lost."""
        return share_in(adapter, self._raws(), self._lines(adapter))

    def unaccounted(self, adapter: Adapter) -> list[UnaccountedMessage]:
        """The native messages that are lost."""
        lines = unaccounted_in(adapter, self._raws(), self._lines(adapter))
        return [
            UnaccountedMessage(probe=self.probe, line=line.decode(errors="replace"))
            for line in lines
        ]

    def keep(self, folder: Path) -> None:
        """Write down the events of each session, and all that its agents heard and said."""
        folder.mkdir(parents=True, exist_ok=True)
        for number, stream in enumerate(self.streams, 1):
            name = "events.jsonl" if number == 1 else f"events-{number}.jsonl"
            lines = (encode_event(event) + b"\n" for event in stream)
            (folder / name).write_bytes(b"".join(lines))
        (folder / "transcript.jsonl").write_bytes(dump(self.runs))

    def _events(self) -> list[Event]:
        return [event for stream in self.streams for event in stream]

    def _raws(self) -> list[dict[str, object]]:
        return [{"raw": event.raw} for event in self._events()]

    def _lines(self, adapter: Adapter) -> list[bytes]:
        return [line for run in self.runs for line in said_in(adapter, run)]
