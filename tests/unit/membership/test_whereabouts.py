"""What a front-end knows of where ranks are, when some of them start later or again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runtime.machine.deaths import UnreadableReport
from runtime.membership.bind_address import NOT_ADVERTISED, AdvertisedAddresses
from runtime.membership.whereabouts import (
    RankArrival,
    Whereabouts,
    front_end_report,
    replacement,
    report,
)

FORWARDER: AdvertisedAddresses = ("machine", ("host:1",))


def arrival(port: int) -> RankArrival:
    return RankArrival("far", 7, doors=("machine", (f"far:{port}",)), incarnation=2)


def test_a_report_holds_only_what_others_need() -> None:
    assert report("0:1:2", arrival(5)) == {
        "rank": "0:1:2",
        "host": "far",
        "doors": ("machine", ("far:5",)),
        "incarnation": 2,
    }
    nowhere = {"rank": "0:1:2", "host": "", "doors": NOT_ADVERTISED, "incarnation": 0}
    assert report("0:1:2", None) == nowhere


def test_ranks_that_started_again_are_found_where_they_are_now_and_front_ends_where_they_were() -> (
    None
):
    known = Whereabouts()
    relay = front_end_report("1:0", FORWARDER)
    known.handshake([report("0:0:0", arrival(1)), report("0:1:0", arrival(2)), relay])
    known.moved([report("0:0:0", arrival(3))])
    known.moved([report("0:0:0", arrival(4))])
    assert known.everybody == [report("0:0:0", arrival(4)), report("0:1:0", arrival(2)), relay]


def test_who_has_moved_is_known_although_the_handshake_is_heard_of_later() -> None:
    known = Whereabouts()
    known.moved([report("0:0:0", arrival(3))])
    assert known.everybody == []
    known.handshake([report("0:0:0", None), report("0:0:1", None)])
    assert known.everybody == [report("0:0:0", arrival(3)), report("0:0:1", None)]


def test_the_first_rank_of_a_cluster_tells_which_tags_its_mpi_has() -> None:
    told = replace(arrival(5), tags=32767)
    assert report("0:1:0", told)["tags"] == 32767
    assert "tags" not in report("0:1:1", told)


def test_those_that_take_the_places_of_lost_ones_come_behind_all_others() -> None:
    known = Whereabouts()
    known.handshake([report("0:0:0", arrival(1)), report("0:1:0", arrival(2))])
    known.moved([replacement(2, "0:0:0", 3, arrival(7))])
    known.moved([replacement(3, "0:1:0", 3, None)])
    found = [(one["rank"], one["incarnation"], one["doors"]) for one in known.everybody]
    assert found == [
        ("0:0:0", 2, ("machine", ("far:1",))),
        ("0:1:0", 2, ("machine", ("far:2",))),
        ("0:0:0", 3, ("machine", ("far:7",))),
        ("0:1:0", 3, NOT_ADVERTISED),
    ]


def test_what_a_rank_tells_of_itself_arrives_as_it_was_sent() -> None:
    told = replace(arrival(5), rank=1, size=4, mpi="MPICH", tags=9, segments=("/dev/shm/x",))
    assert RankArrival.parse(told.plain) == told


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pid": "7"}, "its 'pid' is a str"),
        ({"size": 1.5}, "its 'size' is a float"),
        ({"doors": ("machine",)}, "its 'doors' are no machine and addresses"),
        ({"doors": ("machine", "far:5")}, "the addresses of its 'doors' are no list"),
        ({"doors": ("machine", [5])}, "a int stands where a text belongs"),
        ({"segments": [None]}, "a NoneType stands where a text belongs"),
    ],
)
def test_what_makes_no_sense_of_a_rank_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableReport) as raised:
        RankArrival.parse(arrival(5).plain | change)
    assert str(raised.value) == why
