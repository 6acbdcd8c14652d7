"""Which paths somebody does not want to hear of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate


class IgnoreRules:
    """Patterns of paths, relative to a directory.

    One without a slash is for a file or folder of that name anywhere, one with a slash begins at
    the directory. What is in a folder that is left out is left out, too.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        trimmed = [pattern.rstrip("/") for pattern in patterns]
        self._names = _any([each for each in trimmed if each and "/" not in each])
        self._paths = _any([each.lstrip("/") for each in trimmed if "/" in each])

    def match(self, path: str) -> bool:
        """Whether a relative path is left out."""
        parts = path.split("/")
        if self._names is not None and any(map(self._names.match, parts)):
            return True
        if self._paths is None:
            return False
        return any(self._paths.match("/".join(parts[: depth + 1])) for depth in range(len(parts)))


def _any(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(translate, patterns))) if patterns else None
