"""The reference cache against a plain model, and its bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import GridError
from runtime.routing import ReferenceCache
from runtime.routing.cache import Uncached


def always(_: object) -> bool:
    return True


def test_the_least_recently_used_has_to_rest() -> None:
    cache = ReferenceCache(2)
    assert cache.make_room({1: 1, 2: 1}, always) == []
    assert cache.make_room({1: 2, 2: 1, 3: 0}, always) == [2]
    assert cache.make_room({1: 2, 3: 0, 4: 0}, always) == [1]


def test_room_for_what_is_about_to_be_opened_is_made_before() -> None:
    cache = ReferenceCache(2)
    assert cache.make_room({1: 1}, always, more=1) == []
    assert cache.make_room({1: 1, 2: 1}, always, more=1) == [1]


def test_what_is_in_use_stays_and_the_next_one_rests_instead() -> None:
    cache = ReferenceCache(1)
    assert cache.make_room({1: 1, 2: 1, 3: 1}, lambda key: key == 2) == [2]
    assert cache.make_room({1: 1, 3: 1}, lambda key: False) == []
    assert cache.make_room({1: 1, 3: 1}, always) == [1]


def test_a_connection_that_ended_is_forgotten() -> None:
    cache = ReferenceCache(2)
    cache.make_room({1: 1, 2: 1}, always)
    assert cache.make_room({2: 1, 3: 1}, always) == []
    assert cache.make_room({1: 1, 2: 1, 3: 1}, always) == [2]


def test_a_cache_without_room_is_a_mistake() -> None:
    with pytest.raises(GridError, match="at least 1 connection, not 0"):
        ReferenceCache(0)


steps = st.lists(
    st.tuples(st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)), st.integers(0, 1)),
    max_size=20,
)


@given(st.integers(1, 4), steps)
def test_the_longest_unused_of_those_that_can_rest_always_go_first(
    most: int, happened: list[tuple[set[int], set[int], int]]
) -> None:
    """Each step uses some connections, of which some are still in use when there is a look."""
    cache = ReferenceCache(most)
    carried: dict[int, int] = {}
    used_at: dict[int, int] = {}
    for now, (used, busy, more) in enumerate(happened):
        for key in used:
            carried[key] = carried.get(key, 0) + 1
            used_at[key] = now
        rested = cache.make_room(carried, (carried.keys() - busy).__contains__, more=more)
        left = carried.keys() - set(rested)
        idle = left - busy
        assert not set(rested) & busy
        assert len(left) + more <= most or not idle
        assert not rested or len(left) + more >= most
        for kept in idle:
            assert all(used_at[one] <= used_at[kept] for one in rested)
        for key in rested:
            del carried[key]


def test_without_a_cache_all_idle_connections_are_closed() -> None:
    bound = Uncached(ReferenceCache(32))
    assert bound.make_room({7: 1, 8: 0, 9: 4}, lambda peer: peer != 8, more=1) == [7, 9]
