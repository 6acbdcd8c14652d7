"""`python -m benchmarks`: run the suite and print one table."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench import Bench
from benchmarks.endings import endings
from benchmarks.ingest import ingest, store
from benchmarks.inspector import inspector
from benchmarks.load import Load
from benchmarks.pages import pages
from benchmarks.redaction import redaction
from benchmarks.resident import idle, startup
from benchmarks.streams import fanout, latency, replay
from benchmarks.table import Row, markdown, plain

WORKLOADS: dict[str, Callable[[Bench], list[Row]]] = {
    "pages": pages,
    "replay": replay,
    "fanout": fanout,
    "latency": latency,
    "ingest": ingest,
    "redaction": redaction,
    "idle": idle,
    "start": startup,
    "endings": endings,
    "store": store,
    "inspector": inspector,
}


def run(names: Sequence[str], folder: Path, *, quick: bool) -> list[Row]:
    """Measure these workloads, one after the other."""
    bench = Bench(folder, Load(folder), quick)
    rows: list[Row] = []
    for name in names:
        began = time.monotonic()
        rows += WORKLOADS[name](bench)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return rows


def machine(folder: Path) -> str:
    """What it was measured on."""
    filesystem = subprocess.run(
        ["stat", "-f", "-c", "%T", folder], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    return (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{platform.system()} {platform.release()}, {filesystem}; "
        f"load before the run: {os.getloadavg()[0]:.1f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print the table; the exit code is 1 where an event was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work at all")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="repeatable")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--folder", type=Path, help="where data goes; a temporary folder")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory(dir=chosen.folder) as made:
        about = machine(Path(made))
        rows = run(chosen.only or list(WORKLOADS), Path(made), quick=chosen.quick)
    print(about + "\n")
    print(markdown(rows) if chosen.markdown else plain(rows))
    return 1 if any(row.lost for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
