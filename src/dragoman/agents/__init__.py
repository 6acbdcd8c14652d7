"""Dialects, one folder each, and how adapters are found: by entry point, also in other packages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from dragoman.adapter import Adapter

GROUP = "dragoman.agents"
"""The entry points of a package that has adapters, e.g. `mine = "my_package:ADAPTER"`."""


def adapters() -> dict[str, Adapter]:
    """Every agent that there is an adapter for, by its id."""
    return dict(_load()[0])


def load_problems() -> tuple[str, ...]:
    """Why adapters that are installed cannot be used."""
    return _load()[1]


def packaged() -> frozenset[str]:
    """The ids of those that come with other packages."""
    return _load()[2]


@cache
def _load() -> tuple[dict[str, Adapter], tuple[str, ...], frozenset[str]]:
    found: dict[str, Adapter] = {}
    others: set[str] = set()
    problems: list[str] = []
    # Ours first: nobody takes the place of a built-in one by accident.
    for point in sorted(entry_points(group=GROUP), key=lambda each: (not _is_ours(each), each)):
        where = f"the adapter {point.name} ({point.value})"
        try:
            adapter = point.load()
        except Exception as error:  # noqa: BLE001 - somebody else's package costs only itself
            problems.append(f"{where} cannot be loaded: {type(error).__name__}: {error}")
            continue
        if not isinstance(adapter, Adapter):
            problems.append(f"{where} is no Adapter, but of the type {type(adapter).__name__}")
        elif adapter.id in found:
            problems.append(f"{where} has the id {adapter.id!r}, which another one has already")
        else:
            found[adapter.id] = adapter
            if not _is_ours(point):
                others.add(adapter.id)
    return {name: found[name] for name in sorted(found)}, tuple(problems), frozenset(others)


def _is_ours(point: EntryPoint) -> bool:
    return point.value.startswith(f"{__name__}.")
