"""What ranks sent and how they found each other, added up whoever of two clusters tells it."""

from __future__ import annotations

from runtime.lifecycle.exchanged import Exchanged, Row
from runtime.lifecycle.outcome import Connections, RouteTraffic, Ways

PATHS = {"0:0": "a", "0:1": "b", "0:2": "c", "0:10": "d"}


def exchanged(*told: tuple[str, list[Row]]) -> Exchanged:
    made = Exchanged()
    for rank, rows in told:
        made.add(rank, rows, {})
    return made


def test_both_directions_of_a_pair_are_one_line() -> None:
    made = exchanged(
        ("0:0:0", [("0:1", (), 1, 3, 30)]),
        ("0:1:1", [("0:0", None, 1, 2, 7)]),
        ("0:1:0", [("0:0", None, 1, 1, 1)]),
    )
    assert list(made.traffic(PATHS)) == [RouteTraffic("ranks of a - b, direct", 6, 30, 8)]


def test_all_routes_of_a_pair_are_named_with_the_clusters_that_forward() -> None:
    made = exchanged(
        ("0:0:0", [("0:1", ("0:0", "0:1"), 2, 1, 1), ("0:1", (), 1, 1, 2)]),
        ("0:1:0", [("0:0", ("0:1", "0:0"), 1, 0, 0)]),
    )
    (line,) = made.traffic(PATHS)
    assert (line.route, line.messages, line.sent) == (
        "ranks of a - b, direct and through a, b", 2, 3,
    )  # fmt: skip
    ways = (Ways(("a", "b"), {"through a, b": 3, "direct": 1}),)
    assert made.connections(PATHS) == Connections(ways=ways)


def test_what_ranks_of_one_cluster_sent_each_other_is_a_line_of_its_own() -> None:
    made = exchanged(
        ("0:0:0", [("0:0", (), 1, 3, 30)]),
        ("0:0:1", [("0:0", None, 1, 2, 7), ("0:1", (), 1, 1, 1)]),
    )
    assert list(made.traffic(PATHS)) == [
        RouteTraffic("ranks within a", 5, 37, 0),
        RouteTraffic("ranks of a - b, direct", 1, 1, 0),
    ]
    assert made.connections(PATHS) == Connections(ways=(Ways(("a", "b"), {"direct": 1}),))


def test_clusters_are_in_the_order_of_their_numbers() -> None:
    made = exchanged(("0:10:0", [("0:2", (), 1, 1, 5)]))
    assert list(made.traffic(PATHS)) == [RouteTraffic("ranks of c - d, direct", 1, 0, 5)]


def test_who_sent_nothing_is_not_mentioned() -> None:
    made = exchanged(("0:0:0", [("0:1", None, 1, 0, 0)]))
    assert not list(made.traffic(PATHS))
    assert made.connections(PATHS) == Connections()


def test_the_figures_of_all_ranks_are_added() -> None:
    made = Exchanged()
    made.add("0:0:0", [], {"tries": 3, "failures": 1, "hits": 10, "misses": 2})
    made.add("0:1:0", [], {"tries": 1, "hits": 5, "evictions": 4})
    assert made.connections(PATHS) == Connections(
        tries=4, failures=1, hits=15, misses=2, evictions=4
    )
