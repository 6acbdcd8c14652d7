"""Pages without the deltas that an item's completion repeats."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.schema.events import Draft, ItemCompleted, ItemDelta, ItemStarted
from dragoman.schema.items import Item, Json, Text
from dragoman.store import Append
from dragoman.store.sqlite import SqliteStore
from tests.store.shelf import create, using

# What an agent says may look like a line of ours.
WORDS = st.sampled_from(
    ["", "words", '","type":"item.delta","data":{"item_id":"itm_1"', '"item_id":"itm_0"', '\\"']
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["start", "delta", "delta", "complete"]), st.integers(0, 3), WORDS)
)


def drafts(steps: list[tuple[str, int, str]]) -> list[Draft]:
    """Items that start, grow and are completed, as a session may have them."""
    open_now: dict[int, Item] = {}
    found = []
    for number, (step, n, words) in enumerate(steps):
        match step:
            case "start" if n not in open_now:
                item_id = f"itm_{number}"
                content = (Json(json={"type": "item.delta", "data": {"item_id": words}}),)
                open_now[n] = Item(
                    item_id=item_id,
                    native_item_id=words or None,
                    parent_id=None,
                    kind="message",
                    role="assistant",
                    content=content,
                    status="in_progress",
                )
                found.append(Draft(ItemStarted(item=open_now[n])))
            case "delta" if n in open_now:
                item = open_now[n]
                found.append(
                    Draft(
                        ItemDelta(
                            item_id=item.item_id, native_item_id=item.native_item_id, delta=words
                        ),
                        "agent",
                        words,
                    )
                )
            case "complete" if n in open_now:
                done = msgspec.structs.replace(
                    open_now.pop(n), status="completed", content=(Text(text=words),)
                )
                found.append(Draft(ItemCompleted(item=done)))
    return found


async def pages(store: SqliteStore, limit: int, *, compact: bool) -> list[tuple[list[Any], Any]]:
    """All pages of the session, each with what it says of itself."""
    found, after, more = [], 0, True
    while more:
        page = await store.read("s", after, limit, raw=False, compact=compact)
        events = msgspec.json.decode(b"[%b]" % page.events)
        found.append((events, (page.last, page.has_more, page.link)))
        assert events[-1]["sequence"] == page.last
        after, more = page.last, page.has_more
    return found


def without_deltas(events: list[Any]) -> list[Any]:
    """A page without the deltas of what is completed on it."""
    done = {e["data"]["item"]["item_id"] for e in events if e["type"] == "item.completed"}
    return [e for e in events if e["type"] != "item.delta" or e["data"]["item_id"] not in done]


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, limit=st.integers(1, 30))
def test_a_compact_page_leaves_out_the_deltas_of_what_is_completed_on_it(
    steps: list[tuple[str, int, str]], limit: int
) -> None:
    """Before, who opened a long session read every word of it twice, in 900 KB for 25."""

    async def work(store: SqliteStore) -> None:
        await create(store, "s")
        if written := drafts(steps):
            await store.append(Append("s", written))
        whole = await pages(store, limit, compact=False)
        compact = await pages(store, limit, compact=True)
        assert compact == [(without_deltas(events), about) for events, about in whole]

    with tempfile.TemporaryDirectory() as folder:
        using(Path(folder), work)
