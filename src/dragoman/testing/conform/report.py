"""The report of a run: what was declared against what was observed. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from dragoman.facts import Capabilities, Feature
from dragoman.testing.conform.probe import Probe
from dragoman.testing.unaccounted import Share

Verdict = Literal["as declared", "drift", "undeclared"]
"""`undeclared`: more was seen than is declared, which harms nobody."""


class Finding(Struct, frozen=True, kw_only=True):
    """What a probe saw; `observed` None: it could not be tried."""

    probe: str
    observed: bool | None
    expected: str = ""
    observation: str = ""
    seconds: float = 0.0


class Row(Struct, frozen=True, kw_only=True, rename={"observation": "seen"}):
    """A line of the table."""

    probe: str
    feature: Feature | None
    """None: every agent must pass."""
    native: bool
    shown: bool
    observed: bool | None
    verdict: Verdict
    expected: str
    observation: str
    seconds: float


class Breach(Struct, frozen=True, kw_only=True):
    """A rule of the stream that a session broke."""

    probe: str
    rule: str
    sequence: int
    message: str


class UnaccountedMessage(Struct, frozen=True, kw_only=True):
    """A native message that left no event, and is not known as noise."""

    probe: str
    line: str


class ConformReport(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"unaccounted": "vanished", "evidence_folder": "kept"},
):
    """All that the probes of one agent have found."""

    agent: str
    version: str | None
    rows: tuple[Row, ...]
    share: Share
    unaccounted: tuple[UnaccountedMessage, ...]
    unparsed: int
    breaches: tuple[Breach, ...]
    seconds: float
    evidence_folder: str | None
    """The folder with the transcripts and events of the probes that failed."""

    @property
    def drifts(self) -> list[Row]:
        """What is declared, and was not seen."""
        return [row for row in self.rows if row.verdict == "drift"]

    @property
    def ok(self) -> bool:
        """Whether the agent is as it was."""
        return not (self.drifts or self.breaches or self.unparsed or self.share.unaccounted)


def row(probe: Probe, found: Finding, declared: Capabilities) -> Row:
    """Set what was seen against what is declared."""
    native = probe.feature is None or probe.feature in declared.native
    shown = probe.feature is None or probe.feature in declared.shown
    return Row(
        probe=probe.name,
        feature=probe.feature,
        native=native,
        shown=shown,
        observed=found.observed,
        verdict=_verdict(shown, found.observed),
        expected=found.expected,
        observation=found.observation,
        seconds=found.seconds,
    )


def _verdict(shown: bool, observed: bool | None) -> Verdict:
    if shown:
        return "as declared" if observed else "drift"
    return "undeclared" if observed else "as declared"


def total(shares: Iterable[Share]) -> Share:
    """Several shares as one."""
    listed = list(shares)
    return Share(
        shown=sum(share.shown for share in listed),
        ignored=sum(share.ignored for share in listed),
        unaccounted=sum(share.unaccounted for share in listed),
    )
