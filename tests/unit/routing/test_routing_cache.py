"""The reference cache against a plain model, and its bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import GridError
from runtime.routing import ReferenceCache


def test_the_least_recently_used_is_what_has_to_go() -> None:
    cache = ReferenceCache[str, int](2)
    assert cache.put("a", 1) == []
    assert cache.put("b", 2) == []
    assert cache.get("a") == 1
    assert cache.put("c", 3) == [("b", 2)]
    assert list(cache) == ["a", "c"]
    assert (cache.hits, cache.misses, cache.evictions) == (1, 0, 1)


def test_what_is_busy_stays_and_goes_when_it_is_released() -> None:
    cache = ReferenceCache[str, int](1)
    cache.put("a", 1)
    cache.hold("a")
    cache.hold("a")
    assert cache.put("b", 2) == []
    assert cache.release("a") == []
    assert cache.release("a") == [("a", 1)]
    assert list(cache) == ["b"]


def test_what_was_just_put_stays_even_if_all_else_is_busy() -> None:
    cache = ReferenceCache[str, int](1)
    cache.put("a", 1)
    cache.hold("a")
    assert cache.put("b", 2) == []
    assert len(cache) == 2


def test_a_miss_is_counted_and_a_dropped_entry_is_gone() -> None:
    cache = ReferenceCache[str, int](1)
    assert cache.get("a") is None
    cache.put("a", 1)
    cache.hold("a")
    assert cache.drop("a") == 1
    assert cache.drop("a") is None
    assert cache.misses == 1
    cache.put("a", 2)
    assert cache.put("b", 3) == [("a", 2)]


def test_a_cache_without_room_is_a_mistake() -> None:
    with pytest.raises(GridError, match="at least 1 entry, not 0"):
        ReferenceCache[str, int](0)


@given(st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 6))))
def test_it_behaves_like_a_list_in_order_of_use(most: int, actions: list[tuple[bool, int]]) -> None:
    cache = ReferenceCache[int, int](most)
    model: list[int] = []
    for is_put, key in actions:
        if is_put:
            model = [one for one in model if one != key] + [key]
            gone, model = model[:-most], model[-most:]
            assert cache.put(key, key) == [(one, one) for one in gone]
        else:
            assert cache.get(key) == (key if key in model else None)
            if key in model:
                model = [one for one in model if one != key] + [key]
        assert list(cache) == model
