"""Pages that were read lately. What is not at the end of a log never changes."""

from __future__ import annotations

from collections import OrderedDict

from dragoman.store.base import Page

MAX_BYTES = 8 << 20
MAX_PAGE_BYTES = 256 << 10

Key = tuple[int, int, int, bool]
"""session, after, limit, raw."""


class Pages:
    """The most recently used pages, up to a bound."""

    def __init__(self) -> None:
        self._pages: OrderedDict[Key, Page] = OrderedDict()
        self._bytes = 0

    def get(self, key: Key) -> Page | None:
        """A page that was kept."""
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def keep(self, key: Key, page: Page) -> None:
        """Keep a page, unless it is the last, which grows, or large."""
        if page.has_more and len(page.events) <= MAX_PAGE_BYTES and key not in self._pages:
            self._pages[key] = page
            self._bytes += len(page.events)
            while self._bytes > MAX_BYTES:
                self._bytes -= len(self._pages.popitem(last=False)[1].events)
