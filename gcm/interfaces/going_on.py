"""The rest of a multicast goes on in another thread as soon as one of its calls has to wait.

Passive components are called one after the other in the thread of the caller. If one of them waits
for something that only a later call can bring about, such as the round of a gathercast that all of
them take part in, that call must not come too late. So whoever begins to wait first hands on what
the multicasts of its thread have not called yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from gcm.interfaces.future import Future, fulfil

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Rest(Generic[Item, Outcome]):
    """The calls of one multicast that were not made yet.

    Iterating over `items` makes them; `go_on` makes those that were handed on, and its outcome
    comes from `taken_over`.
    """

    __slots__ = ("_go_on", "_taken", "items")

    def __init__(self, items: Iterable[Item], go_on: Callable[[list[Item]], Outcome]) -> None:
        self.items = iter(items)
        self._go_on = go_on
        self._taken: Future[Outcome] | None = None

    def hand_on(self) -> None:
        """Let another thread make the calls that are left, if there are any."""
        left = list(self.items)
        if left:
            self._taken = Future("the rest of a multicast")
            threading.Thread(
                target=fulfil, args=(self._taken, self._go_on, (left,), {}), name="multicast"
            ).start()

    def taken_over(self) -> Outcome | None:
        """Wait for the calls that were handed on and return their outcome; None without any."""
        return None if self._taken is None else self._taken.result()


class _Running(threading.local):
    """The multicasts that are under way in each thread, the innermost last."""

    def __init__(self) -> None:
        self.rests: list[Rest[Any, Any]] = []


_running = _Running()


def begin(items: Iterable[Item], go_on: Callable[[list[Item]], Outcome]) -> Rest[Item, Outcome]:
    """Note that this thread begins to make the calls of `items`; `end` has to follow."""
    rest = Rest(items, go_on)
    _running.rests.append(rest)
    return rest


def end() -> None:
    """Note that this thread has made the calls of its innermost multicast."""
    _running.rests.pop()


def hand_on_the_rest() -> None:
    """Let others make the calls that this thread cannot make while it waits."""
    for rest in _running.rests:
        rest.hand_on()
