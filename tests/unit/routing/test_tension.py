"""Tensioning: what failed is left alone for a while, what was learned holds for the cluster."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.rank_name import RankName
from runtime.routing import Experience, Route, Tension, routes
from runtime.routing.tension import LONGEST_PAUSE, RETRY_AFTER
from runtime.topology import Cluster, Grid, Node, Site

GRID = Grid(tuple(Site(f"s{n}", (Cluster("c", (Node("n", ranks=2),)),)) for n in range(3)))


def ways(source: int = 0, target: int = 0) -> list[Route]:
    return routes(GRID, RankName(0, 0, source), RankName(1, 0, target))


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
    elsewhere = routes(GRID, RankName(0, 0, 0), RankName(2, 0, 0))
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


def test_a_shorter_route_is_tried_again_only_after_its_pause(tension: Tension) -> None:
    direct, called, forwarded, *_ = ways()
    assert tension.shorter(ways(), forwarded, 0.0) == [direct, called]
    tension.failed(called, 1.0)
    assert tension.shorter(ways(), direct, 0.0) == []
    tension.failed(direct, 0.0)
    assert tension.shorter(ways(), forwarded, 1.0) == []
    assert tension.shorter(ways(), forwarded, RETRY_AFTER) == [direct]


def test_a_route_is_open_once_it_has_worked_until_it_fails(tension: Tension) -> None:
    direct = ways()[0]
    assert not tension.is_open(direct)
    tension.worked(direct, 1.0)
    assert tension.is_open(direct)
    tension.failed(direct, 2.0)
    assert not tension.is_open(direct)


def test_a_failure_is_told_once_and_saves_others_the_try(tension: Tension) -> None:
    direct, forwarded, *_ = ways()
    tension.failed(direct, 5.0)
    tension.worked(forwarded, 6.0)
    news = tension.news(7.0)
    assert [(one.worked, one.age, one.failures) for one in news] == [(False, 2.0, 1)]
    assert tension.news(7.0) == []
    other = Tension()
    assert other.hear(news, 1000.0) == news
    assert other.order(ways(1, 1), 1000.0)[-1] == ways(1, 1)[0]
    assert other.news(1000.0) == []


def test_what_works_is_news_only_where_it_was_believed_not_to(tension: Tension) -> None:
    direct = ways()[0]
    tension.worked(direct, 1.0)
    assert tension.news(1.0) == []
    tension.failed(direct, 2.0)
    tension.worked(direct, 3.0)
    assert [one.worked for one in tension.news(3.0)] == [True]


def test_the_pause_that_is_left_does_not_depend_on_whose_clock_it_is(tension: Tension) -> None:
    direct = ways()[0]
    tension.failed(direct, 5.0)
    (told,) = tension.news(15.0)
    assert told.pause == RETRY_AFTER - 10.0
    other = Tension()
    other.hear([told], 7000.0)
    assert other.order(ways(), 7000.0 + told.pause - 0.1)[-1] == direct
    assert other.order(ways(), 7000.0 + told.pause)[0] == direct
    assert Experience(told.way, True, 0.0).pause == 0.0
    assert Experience(told.way, False, 31.0, 1).pause == 0.0


def test_failures_of_several_ranks_add_up(tension: Tension) -> None:
    direct = ways()[0]
    other = Tension()
    other.failed(direct, 0.0)
    tension.hear(other.news(0.0), 100.0)
    tension.failed(direct, 100.0 + RETRY_AFTER)
    assert [one.failures for one in tension.news(200.0)] == [2]


def test_older_news_does_not_undo_what_is_known(tension: Tension) -> None:
    direct = ways()[0]
    late = Tension()
    late.failed(direct, 1.0)
    tension.worked(direct, 2.0)
    assert tension.hear(late.news(2.0), 2.0) == []
    assert tension.order(ways(), 2.0)[0] == direct


def test_of_many_who_find_a_route_closed_at_the_same_time_one_has_news(tension: Tension) -> None:
    ranks = [Tension() for _ in range(3)]
    for at, rank in enumerate(ranks):
        rank.failed(ways()[0], float(at))
    assert [len(tension.hear(one.news(10.0), 10.0)) for one in ranks] == [1, 0, 0]
    ranks[1].failed(ways()[0], 11.0)
    ranks[2].worked(ways()[0], 12.0)
    assert [len(tension.hear(one.news(13.0), 13.0)) for one in ranks] == [0, 1, 1]


def test_who_comes_later_is_told_what_does_not_work_now(tension: Tension) -> None:
    direct, forwarded, *_ = ways()
    tension.failed(direct, 1.0)
    tension.failed(forwarded, 1.0)
    tension.worked(forwarded, 2.0)
    late = Tension()
    late.hear(pickle.loads(pickle.dumps(tension.experiences(3.0))), 50.0)
    assert late.order(ways(), 50.0)[0] == forwarded
    assert late.order(ways(), 50.0)[-1] == direct


tried = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.booleans()), max_size=30)


@given(tried)
def test_ranks_that_tell_each_other_everything_try_in_the_same_order(
    happened: list[tuple[int, int, bool]],
) -> None:
    ranks = Tension(), Tension()
    shift = (0.0, 5000.0)  # their clocks have nothing in common
    for now, (who, way, does_work) in enumerate(happened):
        route = ways()[way]
        (ranks[who].worked if does_work else ranks[who].failed)(route, now + shift[who])
        news = ranks[who].news(now + shift[who])
        ranks[1 - who].hear(news, now + shift[1 - who])
    end = len(happened)
    assert ranks[0].order(ways(), end) == ranks[1].order(ways(), end + shift[1])
    assert set(ranks[0].order(ways(), end)) == set(ways())
