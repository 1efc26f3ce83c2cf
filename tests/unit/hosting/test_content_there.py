"""What is seen of an object that stays in another process."""

from __future__ import annotations

import copy
import pickle
import threading
from collections import Counter, deque
from functools import partial
from typing import Any

import numpy as np
import pytest

from runtime.hosting.content_there import ContentThere, touched


class Content:
    def __init__(self) -> None:
        self.field = np.arange(3)
        self.queue = deque([1])
        self.counted = Counter("aab")
        self.event = threading.Event()
        self._names = "mine"

    def add(self, number: int, *, twice: bool = False) -> int:
        return number + number * twice


@pytest.fixture
def seen() -> Any:
    content = Content()

    def touch(*what: Any) -> Any:
        found = touched(content, *what)
        return found if isinstance(found, type) else copy.deepcopy(found)

    return ContentThere(touch)


def test_data_is_copied(seen: Any) -> None:
    assert (seen.field == np.arange(3)).all()
    assert (seen.queue, seen.counted["a"], seen._names) == (deque([1]), 2, "mine")
    seen.queue.append(2)
    assert seen.queue == deque([1])
    seen.queue = deque([3])
    assert seen.queue == deque([3])


def test_all_else_is_used_where_it_is(seen: Any) -> None:
    seen.event.set()
    assert (seen.event.is_set(), seen.add(2, twice=True)) == (True, 4)
    assert repr(seen.event).startswith("<elsewhere: <threading.Event at")
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        seen.missing  # noqa: B018


@pytest.mark.parametrize(
    "use",
    [
        *(bool, len, list, np.asarray, partial(lambda one, other: one == other, 3), hash),
        *(copy.copy, copy.deepcopy, pickle.dumps),
    ],
)
def test_what_stays_there_is_no_value(seen: Any, use: Any) -> None:
    with pytest.raises(TypeError, match=r"is no value here\. Call a method of it|unhashable"):
        use(seen.event)
