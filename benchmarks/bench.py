"""What every measurement is given."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from benchmarks.load import Load


class Bench(Struct, frozen=True):
    """A folder for data, a load generator, and how much is wanted."""

    folder: Path
    load: Load
    quick: bool

    def size(self, full: int, quick: int) -> int:
        """How much to measure with."""
        return quick if self.quick else full

    @property
    def repeats(self) -> int:
        """How often what is cheap is repeated."""
        return self.size(5, 1)
