"""`dragoman ps`: what runs now, and for whom."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli import table
from dragoman.cli.connect import AsJson, DataDir, Url, daemon, say

if TYPE_CHECKING:
    from dragoman.schema.http import AgentProcess, ProcessInfo

HEADS = ("PID", "AGENT", "UP", "CPU", "MEMORY", "SESSION")
TREE_HEADS = ("PID", "AGENT", "UP", "CPU", "MEMORY", "COMMAND")
MIB = 1 << 20


def ps(
    tree: Annotated[
        bool, typer.Option("--tree", "-t", help="Show each process below, and its command.")
    ] = False,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the processes that run for agents."""
    with daemon(url, data_dir, as_json) as client:
        found = client.processes()
    if as_json:
        say(found)
        return
    if not found.processes:
        typer.echo("nothing runs")
        return
    now_ms = int(time.time() * 1000)
    rows = _tree if tree else _row
    shown = [row for process in found.processes for row in rows(process, now_ms)]
    table.show(TREE_HEADS if tree else HEADS, shown, cut_last=True)


def _row(process: AgentProcess, now_ms: int) -> Iterator[tuple[str, ...]]:
    whose = ", ".join(process.session_ids) or process.purpose
    yield *_columns(process.pid, process, now_ms, process.agent or ""), whose


def _tree(process: AgentProcess, now_ms: int) -> Iterator[tuple[str, ...]]:
    for info in process.tree:
        agent = process.agent or "" if info.pid == process.pid else ""
        yield *_columns(info.pid, info, now_ms, agent), info.command


def _columns(
    pid: int, about: AgentProcess | ProcessInfo, now_ms: int, agent: str
) -> tuple[str, ...]:
    from dragoman.cli.sessions import age

    cpu = f"{about.cpu_ms / 1000:.1f} s"
    memory = f"{about.memory_bytes / MIB:.0f} MiB"
    return str(pid), agent, age(about.started_at, now_ms), cpu, memory
