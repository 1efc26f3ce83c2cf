"""Which hosts a supernode tells somebody of where it cannot tell all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def near_and_others(
    hosts: Sequence[T],
    is_near: Callable[[T], bool],
    most: int,
    sample: Callable[[Sequence[T], int], list[T]],
) -> list[T]:
    """Return `most` of the hosts: up to half of them near ones, the others by chance.

    Without the near ones somebody in a lab of 10⁵ would hear of one host of its own network; those
    that are drawn by chance show it other networks that may be near. `sample` is `random.sample`.

    >>> near_and_others(range(100), lambda one: one < 30, 4, lambda some, count: list(some)[:count])
    [0, 1, 30, 31]
    """
    if len(hosts) <= most:
        return list(hosts)
    near = [one for one in hosts if is_near(one)]
    others = [one for one in hosts if not is_near(one)]
    count = max(min(len(near), most // 2), most - len(others))
    return [*sample(near, count), *sample(others, most - count)]
