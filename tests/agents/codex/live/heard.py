"""What to read from the events of a session, and from what its model was told."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.live import Live
from tests.testing.story import Event, of_type


def told(live: Live) -> str:
    """What the model was told last: all that came after its own last words."""
    given: list[dict[str, Any]] = live.model.mains[-1].body["input"]
    own = [n for n, each in enumerate(given) if each.get("type", "").endswith("_call")]
    return json.dumps(given[own[-1] + 1 if own else 0 :], ensure_ascii=False)


def asked_for(events: list[Event]) -> list[Any]:
    """What a person was asked for, and no rule has answered."""
    ours = {each["permission_id"] for each in of_type(events, "permission.resolved")
            if (each.get("approver") or {}).get("rule")}  # fmt: skip
    return [each for each in of_type(events, "permission.requested")
            if each["permission_id"] not in ours]  # fmt: skip


def rules(events: list[Event]) -> list[str | None]:
    """The rule that answered each request; None: a person did."""
    return [each["approver"].get("rule") for each in of_type(events, "permission.resolved")]
