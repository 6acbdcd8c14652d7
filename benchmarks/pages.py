"""Pages from the middle of short and long sessions."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.daemon import running
from benchmarks.limits import static_server
from benchmarks.table import Row, amount

PAGE = 100
SHARE = 0.2
FLAT = 1.5


def pages(bench: Bench) -> list[Row]:
    """GET 100 events at random offsets, and at one, while sessions grow."""
    sizes = (200, 400) if bench.quick else (1_000, 10_000, 100_000, 1_000_000)
    seconds = bench.size(4, 1) * (0.2 if bench.quick else 1.0)
    repeat = bench.size(3, 1)
    rows: list[Row] = []
    rates: list[float] = []
    with running(bench.folder) as daemon:
        for events in sizes:
            daemon.fill(f"s{events}", events)
        middle = sizes[1] // 2
        path = f"/sessions/s{sizes[1]}/events"
        body = daemon.request("GET", f"{path}?offset={middle}&limit={PAGE}")
        with static_server(bench, body) as (name, port, target):
            limit = bench.load.pages(
                port, "none", target, (middle, middle), seconds=seconds, repeat=repeat
            )
        for events in sizes:
            low, high = events // 4, max(events // 4 + 1, events * 3 // 4 - PAGE)
            for offsets, where in (((low, high), "random"), ((events // 2, events // 2), "one")):
                found = bench.load.pages(
                    daemon.port, daemon.token, f"/v1/sessions/s{events}/events", offsets,
                    seconds=seconds, repeat=repeat,
                )  # fmt: skip
                if where == "random":
                    rates.append(found.rate)
                judged = events == sizes[1]
                ratio = found.rate / limit.rate
                rows.append(
                    Row(
                        workload=f"page of {PAGE} of {amount(events, '')}, {where} offset",
                        ours=f"{amount(found.rate)}, p99 {found.p99_ms:.2f} ms",
                        limit=f"{name}, {len(body) // 1000} KB: {amount(limit.rate)}",
                        ratio=ratio,
                        goal=f"≥ {SHARE:.0%} of the limit" if judged else "",
                        reached=ratio >= SHARE if judged else None,
                        lost=0,
                    )
                )
    slowdown = max(rates) / min(rates)
    rows.append(
        Row(
            workload=f"pages, {amount(sizes[0], '')} to {amount(sizes[-1], '')} events",
            ours=f"{slowdown:.2f}× apart",
            goal=f"≤ {FLAT}×",
            reached=slowdown <= FLAT,
        )
    )
    return rows
