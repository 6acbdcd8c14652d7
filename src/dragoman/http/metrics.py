"""Prometheus metrics, made from what is counted anyway."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from dragoman import __version__
from dragoman.http.connection_limits import ConnectionLimits
from dragoman.http.context import Daemon, daemon_of, limits_of
from dragoman.runtime.processes.process_tree import process_tree
from dragoman.schema.http import ProcessList, ServerStatus
from dragoman.store import StoreStats
from dragoman.store.counters import BOUNDS_S, Histogram

if TYPE_CHECKING:
    from prometheus_client.core import Metric

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OUTCOMES = ("completed", "interrupted", "failed")
_PURPOSES = ("session", "shared", "other")
_WEBHOOK_STATES = ("delivering", "failing", "disabled")
_WEBHOOK_OUTCOMES = ("delivered", "failed")

Values = Mapping[tuple[str, ...], float]
"""The values of a metric, by those of its labels."""


class MetricInfo(Struct, frozen=True):
    """A metric: what it is called, how it is told apart, and what it is."""

    kind: Literal["gauge", "counter", "histogram"]
    name: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """Its name, as it is asked for."""
        return f"dragoman_{self.name}" + ("_total" if self.kind == "counter" else "")


_M = MetricInfo
METRICS: tuple[MetricInfo, ...] = (
    _M("gauge", "info", "always 1", ("version",)),
    _M("gauge", "start_time_seconds", "when the daemon started"),
    _M("gauge", "sessions", "sessions that are `idle`, `starting`, `running`, `waiting` for a "
          "person, `ended`", ("status",)),
    _M("counter", "turns_started", "turns begun"),
    _M("counter", "turns_ended", "turns `completed`, `interrupted`, `failed`", ("outcome",)),
    _M("counter", "events", "events committed"),
    _M("gauge", "stored_events", "events in the store"),
    _M("counter", "unparsed", "messages of agents that were not understood; each is an "
          "`agent.unparsed` event"),
    _M("gauge", "queued_messages", "messages that wait for a turn"),
    _M("histogram", "commit_seconds", "from a write's request to its commit"),
    _M("histogram", "fanout_seconds", "from a commit until it was handed to all readers that "
          "keep up"),
    _M("gauge", "waiting_writes", "writes that wait for the disk"),
    _M("gauge", "readers", "who follows a stream, of one `session` or of `all`", ("of",)),
    _M("gauge", "store_bytes", "the `database` on disk, and the `log` written ahead of it",
          ("part",)),
    _M("gauge", "store_free_bytes", "room inside the database"),
    _M("gauge", "store_degraded", "1 where nothing can be written"),
    _M("gauge", "processes", "processes of agents with all that they started: for one "
          "`session`, `shared`, `other`", ("purpose",)),
    _M("gauge", "processes_memory_bytes", "the memory of these processes", ("purpose",)),
    _M("counter", "process_starts", "processes that were started for sessions, their own and "
          "shared ones", ("agent",)),
    _M("counter", "process_exits", "processes of sessions that have ended, in whatever "
          "way", ("agent",)),
    _M("counter", "process_looks", "looks at every process of the machine, to find what belongs "
          "to agents"),
    _M("gauge", "servers_up", "1 where an agent's shared process runs", ("agent",)),
    _M("counter", "server_restarts", "restarts of shared processes after a failure",
          ("agent",)),
    _M("counter", "unrouted", "messages of shared processes for no session", ("agent",)),
    _M("counter", "http_requests", "requests answered; a stream counts when it ends",
          ("method", "route", "status")),
    _M("gauge", "http_connections", "open connections"),
    _M("gauge", "http_streams", "open streams"),
    _M("counter", "refused", "requests refused for a limit, by its setting", ("limit",)),
    _M("gauge", "webhooks", "webhooks that are `delivering`, `failing`, `disabled`", ("state",)),
    _M("counter", "webhook_requests", "events sent to receivers that were `delivered`, or "
          "`failed` and are sent again", ("outcome",)),
    _M("counter", "turned_away", "connections and streams that there was no room for"),
)  # fmt: skip
"""Every metric of ours. What is told and what is documented are both made from it."""


class _Look(Struct, frozen=True):
    """What is to be told, all of one moment."""

    daemon: Daemon
    stats: StoreStats
    processes: ProcessList
    servers: dict[str, ServerStatus]
    connection_limits: ConnectionLimits


async def get_metrics(request: Request) -> Response:
    """What Prometheus wants to know."""
    daemon = daemon_of(request.scope)
    look = _Look(
        daemon,
        await daemon.sessions.stats(),
        await daemon.sessions.processes(),
        {
            adapter.id: status
            for adapter in daemon.agents.all()
            if (status := daemon.agents.servers.status(adapter)) is not None
        },
        limits_of(request.scope),
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
        found = {**_about_store(look), **_about_agents(look), **_about_http(look)}
        for known in METRICS:
            yield _family(known, found[known.name])


def _about_store(look: _Look) -> dict[str, Values | Histogram]:
    stats, counters = look.stats, look.daemon.store.counters
    return {
        "info": _by({__version__: 1}),
        "start_time_seconds": _one(look.daemon.traffic.started_at_ms / 1000),
        "sessions": _by({str(status): count for status, count in stats.sessions.items()}),
        "stored_events": _one(stats.events),
        "queued_messages": _one(stats.queued),
        "store_bytes": _by({"database": stats.database_bytes, "log": stats.log_bytes}),
        "store_free_bytes": _one(stats.free_bytes),
        "store_degraded": _one(stats.problem is not None),
        "waiting_writes": _one(stats.writing),
        "readers": _by({"session": stats.readers, "all": stats.all_readers}),
        "events": _one(counters.events),
        "turns_started": _one(counters.turns_started),
        "turns_ended": _by({outcome: counters.turns_ended[outcome] for outcome in _OUTCOMES}),
        "unparsed": _one(counters.unparsed),
        "commit_seconds": counters.commit,
        "fanout_seconds": counters.fanout,
    }


def _about_agents(look: _Look) -> dict[str, Values | Histogram]:
    counts, memory = Counter[str](), Counter[str]()
    for process in look.processes.processes:
        counts[process.purpose] += len(process.tree)
        memory[process.purpose] += process.memory_bytes
    lives, servers = look.daemon.agents.lives.items(), look.servers.items()
    return {
        "processes": _by({purpose: counts[purpose] for purpose in _PURPOSES}),
        "processes_memory_bytes": _by({purpose: memory[purpose] for purpose in _PURPOSES}),
        "process_starts": _by({agent: each.starts for agent, each in lives}),
        "process_exits": _by({agent: each.exits for agent, each in lives}),
        "process_looks": _one(process_tree.looks),
        "servers_up": _by({agent: server.status == "running" for agent, server in servers}),
        "server_restarts": _by({agent: server.restart_count for agent, server in servers}),
        "unrouted": _by({agent: server.unrouted for agent, server in servers}),
    }


def _about_http(look: _Look) -> dict[str, Values | Histogram]:
    traffic, connection_limits = look.daemon.traffic, look.connection_limits
    states, sent = look.daemon.webhooks.states(), look.daemon.webhooks.counters
    return {
        "webhooks": _by({state: states[state] for state in _WEBHOOK_STATES}),
        "webhook_requests": _by({outcome: sent[outcome] for outcome in _WEBHOOK_OUTCOMES}),
        "http_requests": {
            (method, route, str(status)): count
            for (method, route, status), count in list(traffic.requests.items())
        },
        "refused": _by(dict(traffic.refused)),
        "turned_away": _one(connection_limits.refused),
        "http_connections": _one(connection_limits.connections),
        "http_streams": _one(connection_limits.streams),
    }


def _one(value: float) -> Values:
    return {(): value}


def _by(values: Mapping[str, float]) -> Values:
    return {(label,): value for label, value in values.items()}


def _family(known: MetricInfo, found: Values | Histogram) -> Metric:
    from prometheus_client import core

    name = f"dragoman_{known.name}"
    if isinstance(found, Histogram):
        # The buckets of Prometheus hold what is in the smaller ones too.
        bounds = [*map(str, BOUNDS_S), "+Inf"]
        buckets = list(zip(bounds, accumulate(found.counts), strict=True))
        histogram = core.HistogramMetricFamily(name, known.help)
        histogram.add_metric((), buckets, found.sum_s)
        return histogram
    kind = core.CounterMetricFamily if known.kind == "counter" else core.GaugeMetricFamily
    family = kind(name, known.help, labels=known.labels)
    for labels, value in found.items():
        family.add_metric(labels, float(value))
    return family
