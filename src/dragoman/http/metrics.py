"""Prometheus metrics. Nothing is measured for them: what is counted anyway is shown."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from dragoman import __version__
from dragoman.http.crowd import Crowd
from dragoman.http.daemon import Daemon, daemon_of
from dragoman.http.protocol import CONNECTION
from dragoman.schema.http import ProcessList, ServerStatus
from dragoman.store import Vitals
from dragoman.store.tally import BOUNDS_S, Histogram, Tally

if TYPE_CHECKING:
    from prometheus_client.core import Metric

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OUTCOMES = ("completed", "interrupted", "failed")


class _Look(Struct, frozen=True):
    """What is to be told, all of one moment."""

    daemon: Daemon
    vitals: Vitals
    processes: ProcessList
    servers: dict[str, ServerStatus]
    crowd: Crowd


async def get_metrics(request: Request) -> Response:
    """What Prometheus wants to know."""
    daemon = daemon_of(request.scope)
    look = _Look(
        daemon,
        await daemon.store.vitals(),
        await daemon.sessions.processes(),
        {
            adapter.id: status
            for adapter in daemon.agents.all()
            if (status := daemon.agents.servers.status(adapter)) is not None
        },
        request.scope[CONNECTION].crowd,
    )
    # Off the loop: the library takes a tenth of a second to load, the first time.
    return Response(await asyncio.to_thread(_render, look), media_type=MEDIA_TYPE)


def _render(look: _Look) -> bytes:
    # Loaded late: a daemon that nobody scrapes starts without it.
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Collector(look))
    return generate_latest(registry)


class _Collector:
    """A look, as the library wants it."""

    def __init__(self, look: _Look) -> None:
        self._look = look

    def collect(self) -> Iterator[Metric]:
        """Every metric of ours."""
        look = self._look
        yield _gauge("info", "The daemon's version.", {__version__: 1}, "version")
        started_at = look.daemon.traffic.started_at_ms / 1000
        yield _gauge("start_time_seconds", "When the daemon started.", {"": started_at})
        yield from _about_store(look.vitals)
        yield from _about_log(look.daemon.store.tally)
        yield from _about_agents(look)
        yield from _about_http(look)


def _about_store(vitals: Vitals) -> Iterator[Metric]:
    sessions = {str(status): count for status, count in vitals.sessions.items()}
    yield _gauge("sessions", "Sessions by status.", sessions, "status")
    yield _gauge("stored_events", "Events in the store.", {"": vitals.events})
    yield _gauge("queued_messages", "Messages that wait for a turn.", {"": vitals.queued})
    parts = {"database": vitals.database_bytes, "log": vitals.log_bytes}
    yield _gauge("store_bytes", "The store on disk, by part.", parts, "part")
    yield _gauge("store_free_bytes", "Room inside the database.", {"": vitals.free_bytes})
    yield _gauge("store_degraded", "1 where the last write failed.", {"": vitals.degraded})
    yield _gauge("waiting_writes", "Writes that wait for the disk.", {"": vitals.writing})
    readers = {"session": vitals.readers, "all": vitals.all_readers}
    yield _gauge("readers", "Who follows a stream of events, by what it shows.", readers, "of")


def _about_log(tally: Tally) -> Iterator[Metric]:
    yield _counter("events", "Events committed.", {"": tally.events})
    yield _counter("turns_started", "Turns begun.", {"": tally.turns_started})
    ended = {outcome: tally.turns_ended[outcome] for outcome in _OUTCOMES}
    yield _counter("turns_ended", "Turns ended, by outcome.", ended, "outcome")
    yield _counter("unparsed", "Messages of agents that were not understood.", {"": tally.unparsed})
    yield _histogram("commit_seconds", "From a write's request to its commit.", tally.commit)
    yield _histogram(
        "fanout_seconds",
        "From a commit until all readers that keep up were handed it.",
        tally.fanout,
    )


def _about_agents(look: _Look) -> Iterator[Metric]:
    counts, memory = Counter[str](), Counter[str]()
    for process in look.processes.processes:
        counts[process.purpose] += len(process.tree)
        memory[process.purpose] += process.memory_bytes
    purposes = ("session", "shared", "other")
    for name, help, found in (
        ("processes", "Processes of agents and all they started, by purpose.", counts),
        ("processes_memory_bytes", "Their resident memory.", memory),
    ):
        yield _gauge(name, help, {purpose: found[purpose] for purpose in purposes}, "purpose")
    servers = look.servers.items()
    up = {agent: server.status == "running" for agent, server in servers}
    yield _gauge("servers_up", "1 where an agent's shared process runs.", up, "agent")
    restarts = {agent: server.restart_count for agent, server in servers}
    yield _counter("server_restarts", "Restarts of shared processes.", restarts, "agent")
    unrouted = {agent: server.unrouted for agent, server in servers}
    yield _counter("unrouted", "Messages of shared processes for no session.", unrouted, "agent")


def _about_http(look: _Look) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily

    requests = CounterMetricFamily(
        "dragoman_http_requests",
        "Requests answered, by method, route and status.",
        labels=("method", "route", "status"),
    )
    for (method, route, status), count in list(look.daemon.traffic.requests.items()):
        requests.add_metric((method, route, str(status)), count)
    yield requests
    yield _counter(
        "refused", "Requests refused for a limit.", dict(look.daemon.traffic.refused), "limit"
    )
    yield _counter("turned_away", "Connections and streams turned away.", {"": look.crowd.refused})
    yield _gauge("http_connections", "Open connections.", {"": look.crowd.connections})
    yield _gauge("http_streams", "Open streams.", {"": look.crowd.streams})


def _gauge(name: str, help: str, values: Mapping[str, float], label: str | None = None) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"dragoman_{name}", help, labels=(label,) if label else ())
    for key, value in values.items():
        family.add_metric((key,) if label else (), float(value))
    return family


def _counter(name: str, help: str, values: Mapping[str, float], label: str | None = None) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"dragoman_{name}", help, labels=(label,) if label else ())
    for key, value in values.items():
        family.add_metric((key,) if label else (), float(value))
    return family


def _histogram(name: str, help: str, found: Histogram) -> Metric:
    from prometheus_client.core import HistogramMetricFamily

    # The buckets of Prometheus hold what is in the smaller ones too.
    bounds = [*map(str, BOUNDS_S), "+Inf"]
    buckets = list(zip(bounds, accumulate(found.counts), strict=True))
    family = HistogramMetricFamily(f"dragoman_{name}", help)
    family.add_metric((), buckets, found.sum_s)
    return family
