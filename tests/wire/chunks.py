"""Strategies shared by the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st


def cut(stream: bytes, places: list[int]) -> Iterator[bytes]:
    """Cut a stream at these places, wherever they fall."""
    edges = sorted(place % (len(stream) + 1) for place in places)
    for start, end in zip([0, *edges], [*edges, len(stream)], strict=True):
        yield stream[start:end]


places = st.lists(st.integers(min_value=0, max_value=10_000), max_size=12)
