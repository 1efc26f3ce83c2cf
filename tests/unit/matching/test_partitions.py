"""Partitioned messages: the parts of a sender that a part of the receiver consists of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.matching.partitions import Partitioning

cuts = st.builds(Partitioning, st.integers(1, 12), st.integers(0, 12))


@given(cuts, cuts)
def test_a_part_needs_the_parts_that_have_its_bytes_and_no_other_ones(
    sent: Partitioning, wanted: Partitioning
) -> None:
    of_byte = [part for part in range(sent.parts) for _ in range(sent.size)]
    for part in range(wanted.parts):
        needed = sent.needed_for(wanted, part)
        bytes_there = of_byte[wanted.place(part)]
        if bytes_there:
            assert set(needed) == set(bytes_there)
        elif sent == wanted:
            assert [*needed] == [part]
        else:
            assert needed == range(sent.parts)


@given(cuts)
def test_parts_cover_the_message_and_nothing_twice(cut: Partitioning) -> None:
    covered = [at for part in range(cut.parts) for at in range(cut.nbytes)[cut.place(part)]]
    assert covered == [*range(cut.nbytes)]
