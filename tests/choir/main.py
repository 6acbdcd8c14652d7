"""The console script, in a house with a few more agents."""

from __future__ import annotations

from pathlib import Path

import dragoman.agents
from dragoman.cli.main import main

dragoman.agents.__path__.append(str(Path(__file__).parent / "folder"))

if __name__ == "__main__":
    main()
