"""What was measured, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

HEADINGS = ("workload", "ours", "limit in this run", "ratio", "goal", "reached", "lost")


class Row(Struct, frozen=True, kw_only=True):
    """One line: what we reach, what the machine could, and what we want."""

    workload: str
    ours: str
    limit: str = ""
    ratio: float | None = None
    """Ours as a part of the limit."""
    goal: str = ""
    reached: bool | None = None
    lost: int | None = None

    def cells(self) -> tuple[str, ...]:
        """The line as texts."""
        return (
            self.workload,
            self.ours,
            self.limit,
            "" if self.ratio is None else f"{self.ratio:.1%}",
            self.goal,
            {True: "yes", False: "no", None: ""}[self.reached],
            "" if self.lost is None else str(self.lost),
        )


def plain(rows: Sequence[Row]) -> str:
    """Columns, aligned."""
    cells = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def markdown(rows: Sequence[Row]) -> str:
    """The same for a document."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (HEADINGS, *(r.cells() for r in rows))]
    return "\n".join([lines[0], "|" + "---|" * len(HEADINGS), *lines[1:]])


def amount(value: float, unit: str = "/s") -> str:
    """A number as people say it: 73.1k/s, 3.15M/s."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}{unit}"
    return f"{value:.3g}{unit}"
