"""Tensioning: what failed is left alone for a while, what was learned holds for the cluster."""

from __future__ import annotations

import pytest

from runtime.routing import Route, Tension, routes
from runtime.routing.tension import LONGEST_PAUSE, RETRY_AFTER
from runtime.topology import Cluster, Grid, Identifier, Node, Site

GRID = Grid(tuple(Site(f"s{n}", (Cluster("c", (Node("n", ranks=2),)),)) for n in range(3)))


def ways(source: int = 0, target: int = 0) -> list[Route]:
    return routes(GRID, Identifier(0, 0, source), Identifier(1, 0, target))


@pytest.fixture
def tension() -> Tension:
    return Tension()


def test_nothing_known_leaves_the_shortest_first(tension: Tension) -> None:
    assert tension.order(ways(), 0.0) == ways()


def test_what_failed_comes_last_for_a_while(tension: Tension) -> None:
    direct, *others = ways()
    tension.failed(direct, 100.0)
    assert tension.order(ways(), 100.0) == [*others, direct]
    assert tension.order(ways(), 100.0 + RETRY_AFTER - 0.1) == [*others, direct]
    assert tension.order(ways(), 100.0 + RETRY_AFTER) == [direct, *others]


def test_what_failed_for_one_rank_is_known_for_all_of_its_cluster(tension: Tension) -> None:
    tension.failed(ways()[0], 0.0)
    assert tension.order(ways(1, 1), 1.0)[-1] == ways(1, 1)[0]
    elsewhere = routes(GRID, Identifier(0, 0, 0), Identifier(2, 0, 0))
    assert tension.order(elsewhere, 1.0) == elsewhere


def test_each_failure_doubles_the_pause_up_to_a_bound(tension: Tension) -> None:
    direct = ways()[0]
    now = 0.0
    for expected in (RETRY_AFTER, 2 * RETRY_AFTER, 4 * RETRY_AFTER):
        tension.failed(direct, now)
        assert tension.order(ways(), now + expected - 0.1)[-1] == direct
        now += expected
        assert tension.order(ways(), now)[0] == direct
    for _ in range(20):
        tension.failed(direct, now)
    assert tension.order(ways(), now + LONGEST_PAUSE - 0.1)[-1] == direct
    assert tension.order(ways(), now + LONGEST_PAUSE)[0] == direct


def test_success_ends_the_pause(tension: Tension) -> None:
    direct = ways()[0]
    for _ in range(3):
        tension.failed(direct, 0.0)
    tension.worked(direct, 1.0)
    assert tension.order(ways(), 1.0)[0] == direct
    tension.failed(direct, 2.0)
    assert tension.order(ways(), 2.0 + RETRY_AFTER)[0] == direct
    assert (tension.tries, tension.failures) == (5, 4)


def test_a_shorter_route_is_tried_again_only_after_its_pause(tension: Tension) -> None:
    direct, forwarded, *_ = ways()
    assert tension.shorter(ways(), forwarded, 0.0) == [direct]
    assert tension.shorter(ways(), direct, 0.0) == []
    tension.failed(direct, 0.0)
    assert tension.shorter(ways(), forwarded, 1.0) == []
    assert tension.shorter(ways(), forwarded, RETRY_AFTER) == [direct]


def test_news_is_told_once_and_saves_others_the_try(tension: Tension) -> None:
    direct, forwarded, *_ = ways()
    tension.failed(direct, 5.0)
    tension.worked(forwarded, 6.0)
    news = tension.news()
    assert [(one.worked, one.at, one.failures) for one in news] == [(False, 5.0, 1), (True, 6.0, 0)]
    assert tension.news() == []
    tension.worked(forwarded, 7.0)
    assert tension.news() == []
    other = Tension()
    other.hear(news)
    assert other.order(ways(1, 1), 6.0)[-1] == ways(1, 1)[0]
    assert other.news() == []


def test_older_news_does_not_undo_what_is_known(tension: Tension) -> None:
    direct = ways()[0]
    late = Tension()
    late.failed(direct, 1.0)
    tension.worked(direct, 2.0)
    tension.hear(late.news())
    assert tension.order(ways(), 2.0)[0] == direct
