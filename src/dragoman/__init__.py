"""Dragoman: the interpreter between people and coding agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.client import Client as Client
    from dragoman.http.app import create_app as create_app
    from dragoman.schema.callbacks import Callbacks as Callbacks
    from dragoman.settings import Settings as Settings
    from dragoman.workspace.watch import watch as watch

__version__ = "0.1.0"

_PUBLIC = {
    "Callbacks": "dragoman.schema.callbacks",
    "Client": "dragoman.client",
    "Settings": "dragoman.settings",
    "create_app": "dragoman.http.app",
    "watch": "dragoman.workspace.watch",
}
"""What can be imported from here, and where it is: loaded when it is used."""


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
