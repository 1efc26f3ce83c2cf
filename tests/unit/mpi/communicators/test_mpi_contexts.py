"""Calls with equal values are counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.mpi.communicators.leaders import CallCounts


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2))))
def test_every_turn_is_told_from_those_before(calls: list[tuple[str, int]]) -> None:
    turns = CallCounts()
    for position, call in enumerate(calls):
        assert turns.next(*call) == calls[: position + 1].count(call)


def test_one_process_counts_for_itself() -> None:
    assert [CallCounts().next("a"), CallCounts().next("a")] == [1, 1]
