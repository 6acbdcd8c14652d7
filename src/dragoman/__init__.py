"""Dragoman: the interpreter between people and coding agents."""

__version__ = "0.1.0"
