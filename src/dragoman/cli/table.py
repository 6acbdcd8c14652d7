"""Tables for people and for pipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import typer

from dragoman.cli.connect import console
from dragoman.cli.sanitize import line

GAP = "  "
LEAST_LAST, LEAST_CUT = 12, 5
"""A last column with less room than this is no column: then rows become blocks."""
LONGEST = 10_000


def show(heads: Sequence[str], rows: Sequence[Sequence[str]], *, cut_last: bool = False) -> None:
    """Print a table. The last column runs on into the next line, unless it may be cut."""
    terminal = console()
    room = terminal.width if terminal.is_terminal else None
    cells = [[line(cell, LONGEST) for cell in row] for row in rows]
    for shown in lines(heads, cells, room, cut_last=cut_last):
        typer.echo(shown)


def lines(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    room: int | None,
    *,
    cut_last: bool = False,
) -> Iterator[str]:
    """The lines of a table for a terminal of this width; None: there is no edge."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    before = sum(widths[:-1]) + len(GAP) * (len(heads) - 1)
    least = min(widths[-1], LEAST_CUT if cut_last else LEAST_LAST)
    if room is not None and before + least > room:
        yield from _blocks(heads, rows)
        return
    last = room - before if room is not None and cut_last else LONGEST
    for row in (heads, *rows):
        cells = [
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
        ]
        yield GAP.join([*cells[:-1], line(row[-1], last)]).rstrip()


def _blocks(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each row under its first cell; what is empty is left out."""
    width = max(map(len, heads[1:]))
    for first, *rest in rows:
        yield first
        for head, cell in zip(heads[1:], rest, strict=True):
            if cell:
                yield f"{GAP}{head.lower():<{width}}  {cell}"
