"""A small agent that speaks ACP, for tests: it answers, waits, and tells its environment."""

from __future__ import annotations

import sys
from pathlib import Path

COMMAND = [sys.executable, "-S", "-E", str(Path(__file__).with_name("agent.py"))]
"""How it is started."""
ODD = [sys.executable, "-S", "-E", str(Path(__file__).with_name("odd.py"))]
"""How one is started that does what real ones do seldom."""
