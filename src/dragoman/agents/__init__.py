"""Dialects. Each folder here is an agent; none knows another, and nobody knows them by name."""

from __future__ import annotations

import importlib
import pkgutil

from dragoman.adapter import Adapter


def adapters() -> dict[str, Adapter]:
    """Every agent that has a folder here, by its id."""
    found = [
        importlib.import_module(f"{__name__}.{module.name}").ADAPTER
        for module in pkgutil.iter_modules(__path__)
        if module.ispkg
    ]
    return {adapter.id: adapter for adapter in sorted(found, key=lambda adapter: adapter.id)}
