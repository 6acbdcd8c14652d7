"""An agent's folder, as the real ones have theirs."""

from tests.choir import MODEST as ADAPTER

__all__ = ["ADAPTER"]
