"""Identifiers of processes: reading, writing, order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import GridError
from runtime.topology.identifiers import Identifier

numbers = st.integers(min_value=0, max_value=10**9)
identifiers = st.builds(Identifier, numbers, numbers, numbers)


@given(identifiers)
def test_what_is_written_reads_back_the_same(identifier: Identifier) -> None:
    assert Identifier.parse(str(identifier)) == identifier


@given(identifiers, identifiers)
def test_identifiers_sort_by_site_then_cluster_then_rank(a: Identifier, b: Identifier) -> None:
    assert (a < b) == ((a.site, a.cluster, a.rank) < (b.site, b.cluster, b.rank))


@pytest.mark.parametrize(
    "wrong", ["", "1", "0:1", "0:1:2:3", "a:b:c", "-1:0:0", "0:1: 2", "\u0660:0:0"]
)
def test_anything_else_is_refused_with_the_form_to_write(wrong: str) -> None:
    with pytest.raises(GridError) as caught:
        Identifier.parse(wrong)
    assert str(caught.value) == (
        f"'{wrong}' is not an identifier. "
        "Write site:cluster:rank with three numbers from 0, such as 0:1:2."
    )


@pytest.mark.parametrize("parts", [(-1, 0, 0), (0, -1, 0), (0, 0, -1)])
def test_numbers_below_zero_are_refused(parts: tuple[int, int, int]) -> None:
    with pytest.raises(GridError, match="below zero"):
        Identifier(*parts)


def test_a_cluster_is_the_same_only_within_the_same_site() -> None:
    assert Identifier(0, 1, 0).same_cluster(Identifier(0, 1, 9))
    assert not Identifier(0, 1, 0).same_cluster(Identifier(1, 1, 0))
    assert not Identifier(0, 1, 0).same_cluster(Identifier(0, 2, 0))
    assert Identifier(0, 1, 0).same_site(Identifier(0, 2, 0))
    assert not Identifier(0, 1, 0).same_site(Identifier(1, 1, 0))
