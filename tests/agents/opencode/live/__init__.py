"""The real OpenCode."""
