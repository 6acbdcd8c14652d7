"""The numbered cases of fault and attack: what each is about, and which tests stand for it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TITLES: dict[int, str] = {
    1: "A web page that pretends to be localhost (DNS rebinding)",
    2: "A form on another site that posts here",
    3: "A page of another origin that reads streams",
    4: "A missing or wrong token",
    5: "A token in a URL",
    6: "No token on an address that others reach",
    7: "An agent that tries to approve itself",
    8: "Hostile text in what an agent says",
    9: "Paths that lead out of a root",
    10: "Symbolic links that lead out of a root",
    11: "Archives that explode",
    12: "Arguments that pose as options",
    13: "Secrets in logs and events",
    14: "A line without end",
    15: "Bytes that are not text",
    16: "Lines that are almost JSON",
    17: "An agent that never reads its input",
    18: "A flood on stderr",
    19: "An agent that dies in the middle",
    20: "A request of an agent that nobody knows",
    21: "Processes that an agent leaves behind",
    22: "SIGKILL of the daemon, at any moment",
    23: "A disk that is full, or fails",
    24: "A damaged database",
    25: "A clock that jumps",
    26: "A reader that is slow, or stalls",
    27: "Very many connections",
    28: "A resume from an impossible position",
    29: "Two answers to one request",
    30: "Many messages at once",
    31: "Two daemons on one folder",
    32: "HTTP that is slow, huge or malformed",
    33: "A database of another version",
    34: "Work that could hold up everybody else",
    35: "A hostile transcript to import",
    36: "An older copy of the log that was put back",
    37: "A signal that is not the usual one",
    38: "A process that many sessions share",
}

_NAME = re.compile(r"test_case_(\d\d)_(\w+)")


def covered(folder: Path) -> dict[int, dict[Path, list[str]]]:
    """For each case that has tests: their files, and what each test says."""
    found: dict[int, dict[Path, list[str]]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if named := _NAME.fullmatch(node.name):
                sentences = found.setdefault(int(named[1]), {}).setdefault(path, [])
                sentences.append(named[2].replace("_", " "))
    return {number: found[number] for number in sorted(found)}
