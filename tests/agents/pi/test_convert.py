"""Pi's converter, where the real agent cannot be brought to it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from dragoman.adapter import Spec
from dragoman.agents.pi import ADAPTER
from dragoman.agents.pi.convert import PiConverter
from dragoman.agents.pi.launch import launch
from dragoman.agents.pi.numbered_diff import hunks_of
from dragoman.schema.commands import Configure
from dragoman.steps import EndTurn, Send, Step
from dragoman.wire.diff import headed
from tests.agents.patches import applied

SPEC = Spec(session_id="s1", agent="pi", agent_mode="build", directory="/project")
OLD = replace(SPEC, agent_version="0.73.1")


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


def test_a_compaction_after_a_run_of_an_older_pi_does_not_hold_the_turn() -> None:
    """Before, 0.73.1 was asked once, while it compacted, and never again: the turn had no end."""
    converter, sent = PiConverter(OLD), []
    state = b'{"type":"response","id":"dragoman-probe","command":"get_state","success":true,"data":'
    ends = 0
    for line in (
        b'{"type":"agent_start"}',
        b'{"type":"agent_end"}',
        b'{"type":"compaction_start","reason":"threshold"}',
        state + b'{"isCompacting":true}}',
        b'{"type":"compaction_end","reason":"threshold","aborted":false,"willRetry":false}',
        state + b"{}}",
    ):
        steps = list(converter.receive(line))
        sent += [line for step in steps if isinstance(step, Send)]
        ends += sum(isinstance(step, EndTurn) for step in steps)
    assert (len(sent), ends) == (2, 1)


@pytest.mark.parametrize(("stop_reason", "ends"), [("error", 0), ("stop", 1)])
def test_an_older_pi_goes_on_after_a_compaction_only_where_an_answer_failed(
    stop_reason: str, ends: int
) -> None:
    """Before, 0.73.1 was waited for without end: it says that it will try again, and does not."""
    converter = PiConverter(OLD)
    steps: list[Step] = []
    for line in (
        b'{"type":"agent_start"}',
        b'{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"%b"}}'
        % stop_reason.encode(),
        b'{"type":"agent_end"}',
        b'{"type":"compaction_start","reason":"overflow"}',
        b'{"type":"compaction_end","reason":"overflow","aborted":false,"willRetry":true}',
        b'{"type":"response","id":"dragoman-probe","command":"get_state","success":true,"data":{}}',
    ):
        steps += converter.receive(line)
    assert sum(isinstance(step, EndTurn) for step in steps) == ends


def test_an_error_before_a_compaction_fails_the_turn() -> None:
    """Before, a compaction made the turn `completed`, although its last answer had failed."""
    converter = PiConverter(SPEC)
    steps: list[Step] = []
    for line in (
        b'{"type":"agent_start"}',
        b'{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error",'
        b'"errorMessage":"400: no"}}',
        b'{"type":"agent_end","willRetry":false}',
        b'{"type":"compaction_start","reason":"threshold"}',
        b'{"type":"compaction_end","reason":"threshold","aborted":false,"willRetry":false}',
        b'{"type":"agent_settled"}',
    ):
        steps += converter.receive(line)
    assert [step.outcome for step in steps if isinstance(step, EndTurn)] == ["failed"]


@pytest.mark.parametrize(("version", "joins"), [("0.84.3", False), ("0.84.4", True)])
def test_no_message_joins_where_an_interrupt_would_lose_it(version: str, joins: bool) -> None:
    converter = PiConverter(replace(SPEC, agent_version=version))
    list(converter.receive(b'{"type":"agent_start"}'))
    assert converter.steers() is joins
    assert ("steer" in ADAPTER.capabilities.of_version(version).shown) is joins


@pytest.mark.parametrize(("version", "level"), [("0.80.5", "xhigh"), ("0.80.6", "max")])
def test_the_highest_level_has_the_name_that_a_version_knows(version: str, level: str) -> None:
    """Before, 0.73.1 ignored `max`, and thought at its default level."""
    spec = replace(SPEC, agent_version=version, variant="max")
    argv = launch(spec, ("pi",)).argv
    assert argv[argv.index("--thinking") + 1] == level
    (change, *_) = PiConverter(spec).command(Configure(variant="max"))
    assert isinstance(change, Send)
    assert json.loads(change.data)["level"] == level


# --- Diffs before 0.75.5, as 0.73.1 makes them ---

LONG = [f"line {number}" for number in range(1, 21)]
NUMBERED = """\
    ...
 14 line 14
-15 line 15
+15 fifteen
+16 and a half
 16 line 16
    ..."""


@pytest.mark.parametrize(
    ("numbered", "before", "after"),
    [
        (" 1 one\n-2 two\n+2 TWO", "one\ntwo\n", "one\nTWO\n"),
        ("+1 one", "", "one\n"),
        ("-1 one", "one\n", ""),
        ("-1 \n+1  3 4", "\n", " 3 4\n"),
        (
            "-1 one\n 2 two\n   ...\n 9 nine\n+9 ten\n+10 eleven",
            "one\ntwo\n3\n4\n5\n6\n7\n8\nnine\n",
            "two\n3\n4\n5\n6\n7\n8\nnine\nten\neleven\n",
        ),
        (
            NUMBERED,
            "\n".join([*LONG, ""]),
            "\n".join([*LONG[:14], "fifteen", "and a half", *LONG[15:], ""]),
        ),
    ],
)
def test_a_numbered_diff_is_a_unified_one(numbered: str, before: str, after: str) -> None:
    """Before, an edit of 0.73.1 had no diff."""
    hunks = hunks_of(numbered)
    assert hunks is not None
    assert applied(headed("/a.txt", hunks), before) == after


def test_what_is_no_numbered_diff_is_none() -> None:
    assert hunks_of("@@ -1 +1 @@\n-a\n+b") is None
