"""Damaged databases: noticed, saved as far as they can be read, and replaced as a whole."""
