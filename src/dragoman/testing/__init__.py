"""For tests and adapter authors. Kept empty: the mock agent's process starts through it."""
