"""Whether files are inside a directory, links followed."""

from __future__ import annotations

import os
from collections.abc import Sequence


def is_beneath(directory: str, files: Sequence[str]) -> bool:
    """Whether all of these, there or not yet, are in a directory, wherever links may lead."""
    try:
        root = os.path.realpath(directory)
        found = (os.path.realpath(os.path.join(root, file)) for file in files)
        return all(os.path.commonpath([root, path]) == root for path in found)
    except (ValueError, OSError):  # what no file can be called, e.g. with a NUL in it
        return False
