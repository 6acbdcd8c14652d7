"""The benchmark suite works, at any speed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.__main__ import WORKLOADS, run
from benchmarks.bench import Bench
from benchmarks.load import Load
from benchmarks.pages import pages
from benchmarks.streams import fanout, latency
from benchmarks.table import HEADINGS, Row, markdown, plain

ROWS = {
    "pages": 5, "replay": 1, "fanout": 2, "latency": 1, "ingest": 3, "redaction": 1, "idle": 1,
    "start": 2, "endings": 1, "store": 2, "inspector": 8,
}  # fmt: skip


@pytest.mark.parametrize("name", WORKLOADS)
def test_each_workload_is_measured_and_loses_nothing(name: str, tmp_path: Path) -> None:
    rows = run([name], tmp_path, quick=True)
    assert len(rows) == ROWS[name]
    assert all(row.workload and row.ours for row in rows)
    assert not any(row.lost for row in rows)
    left = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert left == [], "a measurement left its data behind"
    assert all(row.workload in plain(rows) for row in rows)
    assert markdown(rows).count("\n") == len(rows) + 1
    assert HEADINGS[0] in markdown(rows)


@pytest.mark.parametrize("workload", [pages, fanout, latency])
def test_without_a_compiler_the_load_comes_from_python(
    workload: Callable[[Bench], list[Row]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    plain_load = Load(tmp_path)
    assert plain_load.language == "Python"
    rows = workload(Bench(tmp_path, plain_load, quick=True))
    assert rows
    assert not any(row.lost for row in rows)
