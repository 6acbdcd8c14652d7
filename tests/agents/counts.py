"""What no agent can have counted, whatever its dialect."""

from __future__ import annotations

from typing import Any

NO_COUNTS: tuple[Any, ...] = (-1, -(10**9), 1.5, 1e30, 10**30, 2**63, True, "7", None, [], {})
"""Below zero, no whole number, too many, or no number at all."""
NO_COSTS: tuple[Any, ...] = (-0.5, -1, 1e30, -1e300, 10**30, True, "0.5", None, [], {})
