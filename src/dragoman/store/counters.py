"""Counters and histograms of the store."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from dragoman.schema.events import AgentUnparsed, Body, TurnEnded, TurnStarted

BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Histogram:
    """How often something took how long."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        """So many up to each of `BOUNDS_S`, and beyond the last."""
        self.sum_s = 0.0

    def observe(self, seconds: float) -> None:
        """It took so long once more."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class Counters:
    """What was committed since the start, and how long that took."""

    def __init__(self) -> None:
        self.events = 0
        self.unparsed = 0
        self.turns_started = 0
        self.turns_ended: Counter[str] = Counter()
        self.commit = Histogram()
        """From being handed over to being committed."""
        self.fanout = Histogram()
        """From being committed to being handed to all readers that keep up."""

    def count(self, events: int, notable: Iterable[Body]) -> None:
        """So many events were committed; `notable` are those that are no pieces of an item."""
        self.events += events
        for body in notable:
            match body:
                case TurnStarted():
                    self.turns_started += 1
                case TurnEnded(outcome=str(outcome)):
                    self.turns_ended[outcome] += 1
                case AgentUnparsed():
                    self.unparsed += 1
