"""Recordings in which something is wrong: whatever an agent says, the stream keeps its promises.

The set of examples is the same in every run. `DRAGOMAN_MUTATIONS=20000` tries so many others.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.agents.mutations import Defect, Mutation, faults, mutate, mutations, said
from tests.agents.recordings import Case, cases

CASES = {str(case): case for case in cases() if said(case).lines}
AGENTS = sorted({case.agent for case in CASES.values()})
WANTED = os.environ.get("DRAGOMAN_MUTATIONS")
EXAMPLES = int(WANTED or 2400) // len(AGENTS)


def check(case: Case, *wrong: Mutation) -> None:
    """Assert that a recording with this wrong in it still becomes a proper stream."""
    try:
        found = faults(case, mutate(case, *wrong))
    except Defect as defect:
        raise AssertionError(f"the converter fails by itself: {defect}") from defect
    assert found == []


@pytest.mark.parametrize("agent", AGENTS)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=WANTED is None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_case_16_a_recording_in_which_something_is_wrong(agent: str, data: st.DataObject) -> None:
    """Before, messages came after their answers, lines vanished, and converters failed."""
    ours = [case for case in CASES.values() if case.agent == agent]
    case = data.draw(st.sampled_from(ours))
    wrong = data.draw(mutations(case))
    note(f'("{case}", {", ".join(map(str, wrong))}),')
    check(case, *wrong)


FOUND = [
    # An answer before any word about the message that it answers: lifecycle, init lost.
    ("claude-a_file_is_read", Mutation("swap", 0, value=4)),
    (
        "claude-a_file_is_read",
        Mutation("garble", 1, value=0),
        Mutation("garble", 2, value=0),
        Mutation("late", 4, value=3),
    ),
    (
        "claude-every_turn_has_its_own_usage",
        Mutation("lose", 1, every=True),
        Mutation("retype", 2, ("subtype",), 7, every=True),
        Mutation("late", 4, value=3, every=True),
    ),
    # Pieces of a message whose start was lost, and an end that came twice.
    ("claude-interrupt_while_streaming", Mutation("lose", 5, every=True)),
    ("claude-a_file_without_a_last_newline_is_edited", Mutation("again", 49, value=0)),
    ("claude-a_command_of_the_workspace", Mutation("rename", 3, ("status",))),
]


@pytest.mark.parametrize(("name", "wrong"), [(name, wrong) for name, *wrong in FOUND])
def test_case_16_what_was_found_once(name: str, wrong: list[Mutation]) -> None:
    """Before, each of these broke a rule, or was lost."""
    check(CASES[name], *wrong)
