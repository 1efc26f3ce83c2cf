"""Names of ranks and clusters: reading, writing, order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.rank_name import ClusterName, RankName

numbers = st.integers(min_value=0, max_value=10**9)
names = st.builds(RankName, numbers, numbers, numbers, numbers)


@given(names)
def test_what_is_written_reads_back_the_same(name: RankName) -> None:
    assert RankName.parse(str(name)) == name
    assert str(ClusterName.parse(name.cluster)) == name.cluster


@given(names, names)
def test_names_sort_by_site_then_cluster_then_rank(a: RankName, b: RankName) -> None:
    keys = [(one.site, one.number, one.rank, one.incarnation) for one in (a, b)]
    assert (a < b) == (keys[0] < keys[1])


@pytest.mark.parametrize(
    "wrong", ["", "1", "0:1", "0:1:2:3", "a:b:c", "-1:0:0", "0:1: 2", "0:1:2#", "\u0660:0:0"]
)
def test_anything_else_is_no_rank(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a rank, such as 0:1:2"):
        RankName.parse(wrong)


@pytest.mark.parametrize("wrong", ["", "1", "0:", ":1", "0:1:2", "a:b", "-1:0", "0: 1"])
def test_anything_else_is_no_cluster(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a cluster, such as 0:1"):
        ClusterName.parse(wrong)


def test_a_cluster_is_the_same_only_within_the_same_site() -> None:
    assert RankName(0, 1, 0).same_cluster(RankName(0, 1, 9))
    assert not RankName(0, 1, 0).same_cluster(RankName(1, 1, 0))
    assert not RankName(0, 1, 0).same_cluster(RankName(0, 2, 0))
    assert RankName(0, 1, 0).same_site(RankName(0, 2, 0))
    assert not RankName(0, 1, 0).same_site(RankName(1, 1, 0))
