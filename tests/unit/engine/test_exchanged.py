"""What ranks sent, added up by pairs of clusters whoever of the two tells it."""

from __future__ import annotations

from runtime.engine.exchanged import Exchanged
from runtime.engine.outcome import Traffic

PATHS = {"0:0": "a", "0:1": "b", "0:2": "c", "0:10": "d"}


def test_both_directions_of_a_pair_are_one_line() -> None:
    exchanged = Exchanged()
    exchanged.tell("0:0:0", [("0:1", "direct", 3, 30)])
    exchanged.tell("0:1:1", [("0:0", "", 2, 7)])
    exchanged.tell("0:1:0", [("0:0", "", 1, 1)])
    assert list(exchanged.traffic(PATHS)) == [Traffic("ranks of a - b, direct", 6, 30, 8)]


def test_all_kinds_of_routes_of_a_pair_are_named() -> None:
    exchanged = Exchanged()
    exchanged.tell("0:0:0", [("0:1", "forwarded", 1, 1), ("0:1", "direct", 1, 2)])
    (line,) = exchanged.traffic(PATHS)
    assert (line.route, line.messages, line.sent) == ("ranks of a - b, direct and forwarded", 2, 3)


def test_clusters_are_in_the_order_of_their_numbers() -> None:
    exchanged = Exchanged()
    exchanged.tell("0:10:0", [("0:2", "direct", 1, 5)])
    assert list(exchanged.traffic(PATHS)) == [Traffic("ranks of c - d, direct", 1, 0, 5)]


def test_who_sent_nothing_is_not_mentioned() -> None:
    exchanged = Exchanged()
    exchanged.tell("0:0:0", [("0:1", "direct", 0, 0)])
    assert not list(exchanged.traffic(PATHS))
