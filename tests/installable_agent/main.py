"""The console script on a machine where a package with one more agent is installed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "plugin"))

from dragoman.cli.main import main

if __name__ == "__main__":
    main()
