"""The base of all structs of the HTTP contract: camelCase."""

from __future__ import annotations

from msgspec import Struct


class Http(Struct, kw_only=True, rename="camel", omit_defaults=True, frozen=True):
    """Base of requests and responses."""
