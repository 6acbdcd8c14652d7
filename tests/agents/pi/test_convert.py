"""Pi's converter, where the real agent cannot be brought to it."""

from __future__ import annotations

from dragoman.adapter import Spec
from dragoman.agents.pi.convert import PiConverter

SPEC = Spec(session_id="s1", agent="pi", agent_mode="build", directory="/project")


def test_no_message_joins_a_turn_while_pi_compacts() -> None:
    converter = PiConverter(SPEC)
    steers = []
    for line in (
        b'{"type":"agent_start"}',
        b'{"type":"compaction_start","reason":"threshold"}',
        b'{"type":"compaction_end","reason":"threshold","aborted":false,"willRetry":false}',
    ):
        list(converter.receive(line))
        steers.append(converter.steers())
    assert steers == [True, False, True]
