"""What Claude Code remarks beside its turns."""

from __future__ import annotations

from typing import Any

from tests.agents.claude.lines import Heard


def test_a_server_that_has_not_come_up_is_told_whatever_becomes_of_it() -> None:
    """Before, one that was pending when its turn began was never told of."""
    heard = Heard()

    def labels(status: str) -> list[str]:
        server = {"name": "deaf", "status": status}
        init: dict[str, Any] = {"type": "system", "subtype": "init", "mcp_servers": [server]}
        told = heard.hear(init)
        done = [data["item"] for type, data in told if type == "item.completed"]
        return [part["label"] for item in done for part in item["content"]]

    statuses = ("connected", "pending", "pending", "failed", "failed", "connected", "connected")
    assert [labels(status) for status in statuses] == [
        [], ["mcp.pending"], [], ["mcp.failed"], [], ["mcp.connected"], [],
    ]  # fmt: skip
