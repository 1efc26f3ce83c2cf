"""Which bytes of a payload have come, in whatever order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.wire.errors import BadFrame
from runtime.wire.stream import byte_ranges as parts
from runtime.wire.stream.byte_ranges import add_range, remove_range

RANGES = st.tuples(st.booleans(), st.integers(0, 30), st.integers(1, 12))


@given(st.lists(RANGES, max_size=40))
def test_claims_are_the_ranges_of_what_was_claimed_and_not_given_back(
    steps: list[tuple[bool, int, int]],
) -> None:
    ranges: list[int] = []
    held: set[int] = set()
    for gives_back, begin, size in steps:
        wanted = set(range(begin, begin + size))
        if gives_back and wanted <= held:
            remove_range(ranges, begin, begin + size)
            held -= wanted
        elif wanted & held:
            with pytest.raises(BadFrame, match="some came twice"):
                add_range(ranges, begin, begin + size)
        else:
            add_range(ranges, begin, begin + size)
            held |= wanted
        edges = [at for at in range(44) if (at in held) is not (at - 1 in held)]
        assert ranges == edges


def test_there_are_not_more_gaps_than_anybody_needs() -> None:
    ranges: list[int] = []
    for number in range(parts.MOST // 2):
        add_range(ranges, 2 * number, 2 * number + 1)
    with pytest.raises(BadFrame, match="too many parts"):
        add_range(ranges, parts.MOST, parts.MOST + 1)
