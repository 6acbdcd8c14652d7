"""Which environment variables of an agent are secret."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from dragoman.wire.redactor import MIN_CHARACTERS, Secret

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_OURS = "DRAGOMAN_"


def secrets_of(environ: Mapping[str, str], others: Mapping[str, str] | None = None) -> list[Secret]:
    """What is called a secret, or was given to this process and not to `others`, its parent's."""
    found = (
        (name, value)
        for name, value in environ.items()
        if _SECRET_NAME.search(name) or (others is not None and _is_given(name, value, others))
    )
    return [secret for secret in found if len(secret[1]) >= MIN_CHARACTERS]


def _is_given(name: str, value: str, others: Mapping[str, str]) -> bool:
    is_place = value.startswith("/") and os.path.lexists(value)
    return others.get(name) != value and not name.startswith(_OURS) and not is_place


def parents_environ() -> dict[str, str] | None:
    """The environment that our parent was started with; None: it cannot be seen.

    The daemon gives an agent its own variables, and those of the session: the latter are secret.
    """
    try:
        entries = Path(f"/proc/{os.getppid()}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if entry)
    return {name: value for name, _, value in pairs}
