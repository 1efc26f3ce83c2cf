"""Where a process is in the machine, and who has which place when lost ones are replaced."""

from __future__ import annotations

from runtime.mpi.process.place import Place, nodes_of
from runtime.rank_name import RankName
from runtime.topology import Cluster, Grid, Site

GRID = Grid((Site("s", tuple(Cluster(name, nodes_of([name])) for name in "abc")),))
FIRST, LOST, LAST = (RankName(0, cluster, 0) for cluster in range(3))


def place(me: RankName = FIRST) -> Place:
    return Place(GRID, me, ["a", "b", "c"], is_isolated=True)


def test_one_that_takes_a_place_has_an_index_of_its_own_and_the_lost_one_keeps_its_own() -> None:
    here = place()
    assert here.replace(LOST, 2, "d") == 3
    assert (here.index_of(LOST), here.newest(1), here.newest(3), here.newest(0)) == (3, 3, 3, 0)
    assert [here.name_of(index) for index in (1, 3)] == [
        "rank 1 (s/b 0) on b",
        "rank 1 (s/b 0) on d",
    ]
    assert [here.incarnation_of(index) for index in (0, 1, 3)] == [1, 1, 2]
    assert (here.index_in(LOST, 1), here.index_in(LOST, 2), here.index_in(LOST, 3)) == (1, 3, None)


def test_the_own_index_stays_whoever_takes_which_place() -> None:
    here = place(LOST)
    here.replace(LOST, 2, "d")
    assert (here.index, here.first, here.last) == (1, 1, 2)


def test_one_that_was_started_again_knows_who_has_taken_places_before_it() -> None:
    here = Place(
        GRID, LOST, ["a", "b", "c", "d", "e"], is_isolated=True, replacing=[(LAST, 2), (LOST, 2)]
    )
    assert (here.index, here.first, here.last) == (4, 4, 5)
    assert [here.index_of(one) for one in (FIRST, LOST, LAST)] == [0, 4, 3]
    assert here.name_of(4) == "rank 1 (s/b 0) on e"
    assert here.neighbourhood_of(4) != here.neighbourhood_of(1)


def test_one_that_has_not_come_has_a_name_without_a_host() -> None:
    here = place()
    assert here.name_of(here.replace(LAST, 2, "")) == "rank 2 (s/c 0)"
