"""Runs the probes against an agent, through a daemon of their own."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path

from dragoman.adapter import Adapter
from dragoman.client import Unreachable
from dragoman.errors import DragomanError, InvalidRequest
from dragoman.facts import ProbeRecipes
from dragoman.testing.conform.context import Stage, runs_in
from dragoman.testing.conform.daemon import House
from dragoman.testing.conform.evidence import Evidence
from dragoman.testing.conform.probe import NoRecipe, Probe, ProbeFailure
from dragoman.testing.conform.probes import chosen
from dragoman.testing.conform.report import ConformReport, Finding, Row, row, total

AT_ONCE = 2

Watch = Callable[[str, Row | None], None]
"""Told the name of a probe when it begins, and its row when it is done."""


def conform(
    adapter: Adapter,
    command: Sequence[str],
    folder: Path,
    *,
    version: str | None = None,
    only: Sequence[str] = (),
    watch: Watch = lambda probe, row: None,
) -> ConformReport:
    """Try an agent, started by this command; what failed is kept in the folder.

    The daemon runs its own adapter of that id; declared is what the given one says.
    """
    if adapter.drill is None:
        raise InvalidRequest(f"agent {adapter.id!r} has no drill, so nothing can be tried")
    probes = chosen(only)
    began = time.monotonic()
    bench = _Bench(adapter, adapter.drill, folder, watch)
    with ExitStack() as stack:
        # The daemon goes first: without it, probes that still run end at once.
        pool = ThreadPoolExecutor(AT_ONCE)
        stack.callback(pool.shutdown, cancel_futures=True)
        house = stack.enter_context(House(adapter.id, command, folder, version))
        running = [pool.submit(bench.try_out, house, probe) for probe in probes]
        try:
            for future in as_completed(running):
                future.result()
        except Unreachable as error:
            error.add_note(f"The probes' own daemon failed: {house.last_words()}")
            raise
    seconds = time.monotonic() - began
    return bench.report([probe.name for probe in probes], house.tapes, version, seconds)


class _Bench:
    """What was found so far."""

    def __init__(self, adapter: Adapter, drill: ProbeRecipes, folder: Path, watch: Watch) -> None:
        self._adapter = adapter
        self._drill = drill
        self._folder = folder
        self._watch = watch
        self._rows: dict[str, Row] = {}
        self._stages: dict[str, Stage] = {}

    def try_out(self, house: House, probe: Probe) -> None:
        """Run one probe."""
        self._watch(probe.name, None)
        stage = Stage(house, self._adapter, self._drill, self._folder / "probes" / probe.name)
        self._stages[probe.name] = stage
        found = row(probe, _find(stage, probe), self._adapter.capabilities)
        self._rows[probe.name] = found
        self._watch(probe.name, found)

    def report(
        self, names: Sequence[str], tapes: Path, version: str | None, seconds: float
    ) -> ConformReport:
        """Judge what the probes left behind, and keep what is needed to understand a failure."""
        rows = tuple(self._rows[name] for name in names)
        evidence = [self._evidence(name, tapes) for name in names]
        vanished = [lost for each in evidence for lost in each.vanished(self._adapter)]
        breaches = [breach for each in evidence for breach in each.breaches()]
        failed = {found.probe for found in rows if found.verdict == "drift"}
        failed |= {lost.probe for lost in vanished} | {breach.probe for breach in breaches}
        failed |= {each.probe for each in evidence if each.unparsed()}
        for entry in (self._folder / "probes", self._folder / "data", tapes):
            shutil.rmtree(entry, ignore_errors=True)
        for each in evidence:
            if each.probe in failed:
                each.keep(self._folder / each.probe)
        return ConformReport(
            agent=self._adapter.id,
            version=version,
            rows=rows,
            share=total(each.share(self._adapter) for each in evidence),
            vanished=tuple(vanished),
            unparsed=sum(each.unparsed() for each in evidence),
            breaches=tuple(breaches),
            seconds=round(seconds, 1),
            kept=str(self._folder) if failed else None,
        )

    def _evidence(self, name: str, tapes: Path) -> Evidence:
        stage = self._stages[name]
        return Evidence(
            probe=name,
            streams=tuple(tuple(talk.events) for talk in stage.talks),
            runs=tuple(runs_in(tapes, stage.workspace)),
        )


def _find(stage: Stage, probe: Probe) -> Finding:
    began = time.monotonic()
    observed: bool | None = True
    expected = seen = ""
    try:
        with stage:
            probe.trial(stage)
    except ProbeFailure as missed:
        observed, expected, seen = False, missed.expected, missed.seen
    except NoRecipe as untried:
        observed, seen = None, str(untried)
    except Unreachable:
        raise  # a defect of ours, and nothing about the agent
    except DragomanError as error:
        observed, expected, seen = False, "an agent that works", str(error)
    except Exception as error:  # noqa: BLE001 - a probe that breaks is a row, never the end
        observed, expected, seen = False, "a probe that ends", f"it broke: {error!r}"
    seconds = round(time.monotonic() - began, 2)
    return Finding(
        probe=probe.name, observed=observed, expected=expected, seen=seen, seconds=seconds
    )
