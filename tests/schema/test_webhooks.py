"""Which events a webhook gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.schema.events import BODIES
from dragoman.schema.webhooks import DELTAS, ensure_types, matching_types


@given(st.lists(st.sampled_from(sorted(BODIES)), min_size=1))
def test_names_match_themselves(names: list[str]) -> None:
    assert matching_types(names) == frozenset(names)


@given(st.sampled_from(sorted(BODIES)))
def test_a_kind_matches_all_of_it_and_nothing_else(name: str) -> None:
    kind = name.partition(".")[0]
    if kind == name:
        return
    found = matching_types([f"{kind}.*"])
    assert name in found
    assert found == {each for each in BODIES if each.startswith(f"{kind}.")}


def test_everything_and_everything_but_deltas() -> None:
    assert matching_types(["*"]) == BODIES.keys()
    assert matching_types([]) == BODIES.keys() - {DELTAS}


@pytest.mark.parametrize("name", ["", "turn", "turn.", "turn*", "*.*", "turn.begun", ".*", "**"])
def test_what_matches_nothing_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(ValueError, match=r"known: session\.started, .*turn\.\*"):
        ensure_types(["error", name])
