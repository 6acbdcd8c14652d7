"""Agents that speak the Agent Client Protocol: an adapter for each, from facts instead of code."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.adapter import Adapter, Spec
from dragoman.agents.acp.convert import AcpConverter
from dragoman.facts import Capabilities, Feature, Launch, Package
from dragoman.schema.http import ModeInfo

_FEATURES: frozenset[Feature] = frozenset(
    ("textMessages", "streamingDeltas", "itemStarted", "interrupt", "errorEvents")
)


def configured(
    id: str,
    *,
    name: str,
    command: tuple[str, ...],
    env: Mapping[str, str] = {},
    package: Package | None = None,
    credentials: tuple[str, ...] = (),
    verified: str | None = None,
    fs: bool = False,
    terminal: bool = False,
    auth_method: str | None = None,
) -> Adapter:
    """The adapter of an agent of which nothing is known but how it is started."""

    def launch(spec: Spec, words: tuple[str, ...]) -> Launch:
        return Launch(argv=words, env={**env, **spec.env}, cwd=spec.directory, wire="jsonrpc")

    return Adapter(
        id=id,
        name=name,
        event_prefix=id,
        capabilities=Capabilities(native=_FEATURES, shown=_FEATURES),
        dialect="acp",
        verified=verified,
        command=command,
        package=package,
        credentials=credentials,
        modes=(ModeInfo(id="default", name="Default", description="As the agent is."),),
        takes_model=False,
        launch=launch,
        converter=AcpConverter,
        terms={},
    )
