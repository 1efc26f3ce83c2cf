"""Who is where, and how one reaches another."""

from __future__ import annotations

import pytest

from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.errors import WireError

DIRECTORY = RankDirectory(
    (
        Party("0:0:0", "alpha", "m1", ("unix:/a", "alpha:1")),
        Party("0:1:0", "alpha", "m1", ("127.0.0.1:7", "alpha:2")),
        Party("1:0:0", "beta", "m2", ("unix:/b", "beta:3")),
        Party("1:0:1"),
    )
)


def test_near_addresses_come_first_and_only_on_the_same_machine() -> None:
    assert DIRECTORY.ways(1, 0) == ("unix:/a", "alpha:1")
    assert DIRECTORY.ways(0, 1) == ("127.0.0.1:7", "alpha:2")
    assert DIRECTORY.ways(2, 0) == ("alpha:1",)
    assert DIRECTORY.ways(0, 2) == ("beta:3",)


def test_who_was_not_there_has_no_way_and_shares_no_machine() -> None:
    assert DIRECTORY.ways(0, 3) == ()
    assert DIRECTORY.ways(3, 2) == ("beta:3",)


def test_ranks_are_found_by_name_and_by_index() -> None:
    assert len(DIRECTORY) == 4
    assert DIRECTORY.index("1:0:0") == 2
    assert DIRECTORY.index("7:7:7") is None
    assert DIRECTORY.party(3).name == "1:0:1"
    assert str(DIRECTORY.party(3)) == "rank 1:0:1"


@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_that_nobody_has_is_refused(index: int) -> None:
    with pytest.raises(WireError, match=f"there is no rank {index} among 4"):
        DIRECTORY.party(index)


def test_the_name_of_a_rank_that_was_replaced_means_the_new_one_and_its_index_the_lost_one() -> (
    None
):
    directory = RankDirectory((Party("0:0:0", incarnation=1), Party("0:1:0", "far", incarnation=1)))
    directory.add(Party("0:1:0", "near", "m1", ("unix:/c",), incarnation=2))
    assert directory.index("0:1:0") == 2
    assert [directory.party(index).member for index in (1, 2)] == ["0:1:0#1", "0:1:0#2"]
    assert directory.ways(0, 1) == ()
