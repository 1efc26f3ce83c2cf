"""How the ranks of one code of several number those that take the places of lost ones."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runtime.machine.rank_settings import RankSettings
from runtime.machine.table import encoded
from runtime.membership.everybody import everybody, replacing
from runtime.membership.whereabouts import RankArrival, Report, replacement, report
from runtime.mpi.process.place import Place, place_of_rank
from runtime.mpi.progress.newcomers import Newcomers
from runtime.rank_name import RankName
from runtime.topology import Cluster, Grid, Node, Site

TWO = Cluster("two", (Node("n", "n", 2),))
OWN = Grid((Site("s", (Cluster("one", ()), TWO)),))
"""What ranks of the second code know: the first one has one rank, which has no place in it."""
SURVIVOR, LOST = RankName(0, 1, 0), "0:1:1"


def arrival(life: int) -> RankArrival:
    return RankArrival("n", 7, doors=("m", (f"n:{life}",)), incarnation=life)


FIRST = [report(one, arrival(1)) for one in ("0:0:0", "0:1:0", LOST)]
# as the launcher counts: three ranks in all, and one of the first code was started again between
AGAIN = [
    replacement(3, LOST, 2, arrival(2)),
    replacement(4, "0:0:0", 2, arrival(2)),
    replacement(5, LOST, 3, arrival(3)),
]


def new(place: Place) -> Newcomers:
    driver, link = SimpleNamespace(connections=None), SimpleNamespace(is_again=True)
    return Newcomers(place, cast("Any", driver), cast("Any", link))


def started_again(table: list[Report]) -> Place:
    settings = RankSettings(grid=pickle.dumps(OWN), failures="return", recovery="rebuild")
    wrapper = SimpleNamespace(settings=settings, table=encoded(table))
    link = cast("Any", SimpleNamespace(wrapper=wrapper, name=LOST, is_again=True))
    return place_of_rank(link, everybody(link))


def lives(place: Place) -> list[tuple[RankName, int]]:
    return [(one, place.incarnation_of(at)) for at, one in enumerate(place.everybody)]


def test_those_of_other_codes_are_nobody_and_who_is_known_comes_once() -> None:
    table = [*FIRST, *AGAIN]
    found = [(str(one.identifier), one.incarnation) for one in replacing(table, OWN)]
    assert found == [(LOST, 2), (LOST, 3)]
    assert replacing(table, OWN, 1) == replacing(table, OWN)[1:]
    assert replacing(table, OWN, 2) == []


@pytest.mark.parametrize("losses", [1, 3])
def test_all_ranks_of_a_code_number_its_replacements_alike(losses: int) -> None:
    survivor = Place(OWN, SURVIVOR, ["n", "n"], is_isolated=True)
    hears = new(survivor)
    for told in range(1, losses + 1):
        for _ in range(2):  # a loss of another code has the table told again
            hears.handle_view(encoded([*FIRST, *AGAIN[:told]]))
    table = [*FIRST, *AGAIN[:losses]]
    newcomer = started_again(table)
    new(newcomer).handle_view(encoded(table))  # as `RankWrapper.on_views` does at once
    assert lives(newcomer) == lives(survivor)
    assert newcomer.index == survivor.newest(1) == len(survivor.everybody) - 1
