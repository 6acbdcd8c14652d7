"""An agent's folder, as the real ones have theirs."""

from tests.parrot import ADAPTER

__all__ = ["ADAPTER"]
