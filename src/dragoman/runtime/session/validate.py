"""Checks what a new session asks for against what its agent can do.

What it cannot is refused, and never silently without effect. Where an adapter says that a session
may go on without, a status item tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dragoman.adapter import Adapter, Unused
from dragoman.errors import InvalidRequest, ModeNotSupported
from dragoman.schema.http import CreateSession, ModelInfo, PatchSession
from dragoman.schema.items import Status
from dragoman.steps import StartItem, Step, whole

LABEL = "not_applied"
"""Of the status item that tells of it."""
_NAMES: dict[Unused, str] = {
    "model": "models",
    "mcp": "MCP servers",
    "skills": "skills",
    "variant": "variants",
}


def ensure_supported(
    adapter: Adapter, wanted: CreateSession | PatchSession, known: Iterable[Adapter]
) -> None:
    """Raise InvalidRequest for what the agent cannot honour; `known` are all there are."""
    modes = [mode.id for mode in adapter.modes]
    # A project may have modes of its own: only the agent knows them, and says so if it does not.
    has_more = adapter.catalogue is not None and adapter.catalogue.tells_modes
    if wanted.agent_mode is not None and wanted.agent_mode not in modes and not has_more:
        raise ModeNotSupported(adapter.id, "agentMode", wanted.agent_mode, modes)
    mode = wanted.permission_mode
    if mode is not None and mode not in adapter.permission_modes:
        raise ModeNotSupported(adapter.id, "permissionMode", mode, adapter.permission_modes)
    for field in _vain(adapter, wanted):
        if field not in adapter.unused:
            others = [each.name for each in known if _takes(each, field)]
            instead = f", or use an agent that takes them: {', '.join(others)}" if others else ""
            raise InvalidRequest(
                f"{adapter.name} takes no {_NAMES[field]}; leave out `{field}`{instead}",
                field=field,
            )


def ensure_variant(
    adapter: Adapter, variant: str, model: str | None, models: Sequence[ModelInfo]
) -> None:
    """Raise InvalidRequest for a variant that the agent does not tell of, where it tells of any.

    An agent takes models that it does not list; those may have any variant that some model has.
    """
    chosen = [each for each in models if each.id == model and each.variants] or models
    known = list(dict.fromkeys(name for each in chosen for name in each.variants or ()))
    known = known or list(adapter.variants)
    if known and variant not in known:
        model_name = f" {chosen[0].id}" if len(chosen) == 1 else ""
        raise InvalidRequest(
            f"{adapter.name}{model_name} has no variant {variant!r}; known: {', '.join(known)}",
            field="variant",
        )


def notes_of(adapter: Adapter, wanted: CreateSession) -> list[Step]:
    """The status item that says what is not applied, where anything is not."""
    vain = list(_vain(adapter, wanted))
    if not vain:
        return []
    names = " and ".join(_NAMES[field] for field in vain)
    status = Status(
        label=LABEL, detail=f"{adapter.name} makes no use of {names}; they have no effect"
    )
    item = StartItem(key=LABEL, kind="status", content=(status,), source="daemon")
    return list(whole(item))


def _vain(adapter: Adapter, wanted: CreateSession | PatchSession) -> Iterator[Unused]:
    """What is wanted, and the agent does not take."""
    if wanted.model is not None and not _takes(adapter, "model"):
        yield "model"
    if wanted.variant is not None and not _takes(adapter, "variant"):
        yield "variant"
    if isinstance(wanted, PatchSession):
        return
    servers = (wanted.mcp or {}).values()
    if any(server.enabled is not False for server in servers) and not _takes(adapter, "mcp"):
        yield "mcp"
    if wanted.skills is not None and wanted.skills.sources and not _takes(adapter, "skills"):
        yield "skills"


def _takes(adapter: Adapter, field: Unused) -> bool:
    match field:
        case "model":
            return adapter.takes_model
        case "mcp":
            return adapter.takes_mcp
        case "skills":
            return adapter.takes_skills
        case "variant":
            return "variants" in adapter.capabilities.native
