"""What a front-end knows of where ranks are, when some of them start later or again."""

from __future__ import annotations

from runtime.membership.doorstep import NOT_FOUND, Found
from runtime.membership.whereabouts import Whereabouts, front_end_report, replacement, report

FORWARDER: Found = ("machine", ("host:1",))


def facts(port: int) -> dict[str, object]:
    return {"pid": 7, "host": "far", "doors": ("machine", (f"far:{port}",)), "incarnation": 2}


def test_a_report_holds_only_what_others_need() -> None:
    assert report("0:1:2", facts(5)) == {
        "rank": "0:1:2",
        "host": "far",
        "doors": ("machine", ("far:5",)),
        "incarnation": 2,
    }
    nowhere = {"rank": "0:1:2", "host": "", "doors": NOT_FOUND, "incarnation": 0}
    assert report("0:1:2", None) == nowhere


def test_ranks_that_started_again_are_found_where_they_are_now_and_front_ends_where_they_were() -> (
    None
):
    known = Whereabouts()
    relay = front_end_report("1:0", FORWARDER)
    known.told([report("0:0:0", facts(1)), report("0:1:0", facts(2)), relay])
    known.moved([report("0:0:0", facts(3))])
    known.moved([report("0:0:0", facts(4))])
    assert known.everybody == [report("0:0:0", facts(4)), report("0:1:0", facts(2)), relay]


def test_who_has_moved_is_known_although_the_handshake_is_heard_of_later() -> None:
    known = Whereabouts()
    known.moved([report("0:0:0", facts(3))])
    assert known.everybody == []
    known.told([report("0:0:0", None), report("0:0:1", None)])
    assert known.everybody == [report("0:0:0", facts(3)), report("0:0:1", None)]


def test_the_first_rank_of_a_cluster_tells_which_tags_its_mpi_has() -> None:
    told = {**facts(5), "tags": 32767}
    assert report("0:1:0", told)["tags"] == 32767
    assert "tags" not in report("0:1:1", told)


def test_those_that_take_the_places_of_lost_ones_come_behind_all_others() -> None:
    known = Whereabouts()
    known.told([report("0:0:0", facts(1)), report("0:1:0", facts(2))])
    known.moved([replacement(2, "0:0:0", 3, facts(7))])
    known.moved([replacement(3, "0:1:0", 3, None)])
    found = [(one["rank"], one["incarnation"], one["doors"]) for one in known.everybody]
    assert found == [
        ("0:0:0", 2, ("machine", ("far:1",))),
        ("0:1:0", 2, ("machine", ("far:2",))),
        ("0:0:0", 3, ("machine", ("far:7",))),
        ("0:1:0", 3, NOT_FOUND),
    ]
    assert known.epoch == 2
