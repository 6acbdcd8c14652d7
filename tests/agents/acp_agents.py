"""Adapters of known agents that speak ACP, as the daemon makes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import gettempdir

from dragoman.adapter import Adapter
from dragoman.agents import adapters
from dragoman.runtime.provision.registry import AgentRegistry
from dragoman.settings import Settings


@cache
def _registry() -> AgentRegistry:
    nowhere = Path(gettempdir()) / "dragoman-no-such-folder"
    return AgentRegistry(adapters(), Settings(data_dir=str(nowhere)))


def folder_of(agent: str) -> str:
    """The folder of an agent's tests, which is a package: it has no dash."""
    return agent.replace("-", "_")


def known_adapter(agent: str) -> Adapter:
    """The adapter of an agent of the catalogue."""
    return _registry().get(agent).adapter


def all_adapters() -> dict[str, Adapter]:
    """Every agent that there is, also those of the catalogue."""
    return {each.adapter.id: each.adapter for each in _registry().all()}
