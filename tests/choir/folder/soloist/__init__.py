"""An agent's folder, as the real ones have theirs."""

from tests.choir import SOLOIST as ADAPTER

__all__ = ["ADAPTER"]
