"""Runs the probes against an agent."""

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
from dragoman.testing.conform.context import ProbeContext, runs_in
from dragoman.testing.conform.daemon import ConformDaemon
from dragoman.testing.conform.evidence import Evidence
from dragoman.testing.conform.probe import NoRecipe, Probe, ProbeFailure
from dragoman.testing.conform.probes import select
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
    if adapter.probe_recipes is None:
        raise InvalidRequest(f"agent {adapter.id!r} has no drill, so nothing can be tried")
    probes = select(only)
    began = time.monotonic()
    bench = _Bench(adapter, adapter.probe_recipes, folder, watch)
    with ExitStack() as stack:
        # The daemon goes first: without it, probes that still run end at once.
        pool = ThreadPoolExecutor(AT_ONCE)
        stack.callback(pool.shutdown, cancel_futures=True)
        daemon = stack.enter_context(
            ConformDaemon(adapter.id, command, folder, version, serves=adapter.http is not None)
        )
        running = [pool.submit(bench.try_out, daemon, probe) for probe in probes]
        try:
            for future in as_completed(running):
                future.result()
        except Unreachable as error:
            error.add_note(f"The probes' own daemon failed: {daemon.last_words()}")
            raise
    seconds = time.monotonic() - began
    return bench.report([probe.name for probe in probes], daemon.tapes, version, seconds)


class _Bench:
    """What was found so far."""

    def __init__(
        self, adapter: Adapter, probe_recipes: ProbeRecipes, folder: Path, watch: Watch
    ) -> None:
        self._adapter = adapter
        self._probe_recipes = probe_recipes
        self._folder = folder
        self._watch = watch
        self._rows: dict[str, Row] = {}
        self._contexts: dict[str, ProbeContext] = {}

    def try_out(self, daemon: ConformDaemon, probe: Probe) -> None:
        """Run one probe."""
        self._watch(probe.name, None)
        context = ProbeContext(
            daemon, self._adapter, self._probe_recipes, self._folder / "probes" / probe.name
        )
        self._contexts[probe.name] = context
        declared = self._adapter.capabilities.of_version(daemon.version)
        found = row(probe, _find(context, probe), declared)
        self._rows[probe.name] = found
        self._watch(probe.name, found)

    def report(
        self, names: Sequence[str], tapes: Path, version: str | None, seconds: float
    ) -> ConformReport:
        """Judge what the probes left behind, and keep what is needed to understand a failure."""
        rows = tuple(self._rows[name] for name in names)
        evidence = [self._evidence(name, tapes) for name in names]
        unaccounted = [lost for each in evidence for lost in each.unaccounted(self._adapter)]
        breaches = [breach for each in evidence for breach in each.breaches()]
        failed = {found.probe for found in rows if found.verdict == "drift"}
        failed |= {lost.probe for lost in unaccounted} | {breach.probe for breach in breaches}
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
            unaccounted=tuple(unaccounted),
            unparsed=sum(each.unparsed() for each in evidence),
            breaches=tuple(breaches),
            seconds=round(seconds, 1),
            evidence_folder=str(self._folder) if failed else None,
        )

    def _evidence(self, name: str, tapes: Path) -> Evidence:
        context = self._contexts[name]
        return Evidence(
            probe=name,
            streams=tuple(tuple(talk.events) for talk in context.talks),
            runs=tuple(runs_in(tapes, context.workspace)),
        )


def _find(context: ProbeContext, probe: Probe) -> Finding:
    began = time.monotonic()
    observed: bool | None = True
    expected = observation = ""
    try:
        with context:
            probe.trial(context)
    except ProbeFailure as missed:
        observed, expected, observation = False, missed.expected, missed.observation
    except NoRecipe as untried:
        observed, observation = None, str(untried)
    except Unreachable:
        raise  # a defect of ours, and nothing about the agent
    except DragomanError as error:
        observed, expected, observation = False, "an agent that works", str(error)
    except Exception as error:  # noqa: BLE001 - a probe that breaks is a row, never the end
        observed, expected, observation = False, "a probe that ends", f"it broke: {error!r}"
    seconds = round(time.monotonic() - began, 2)
    return Finding(
        probe=probe.name,
        observed=observed,
        expected=expected,
        observation=observation,
        seconds=seconds,
    )
