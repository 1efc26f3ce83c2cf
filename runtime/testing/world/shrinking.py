"""Finds a smaller scenario that fails in the same way: fewer faults, steps and ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from runtime.testing.world.load import ProgramMessage, Scenario

S = TypeVar("S")


def shrink(
    scenario: S,
    fails: Callable[[S], bool],
    smaller_than: Callable[[S], Iterable[S]],
    *,
    tries: int = 400,
) -> S:
    """Return the smallest scenario found of which it `fails` is true."""
    left = tries
    while True:
        for smaller in smaller_than(scenario):
            left -= 1
            if left < 0:
                return scenario
            if fails(smaller):
                scenario = smaller
                break
        else:
            return scenario


def smaller_messages(scenario: Scenario) -> Iterator[Scenario]:
    """Yield what is smaller, the smallest first."""
    for kind in ("faults", "program"):
        parts = getattr(scenario, kind)
        size = len(parts)
        while size:
            for at in range(0, len(parts), size):
                yield replace(scenario, **{kind: parts[:at] + parts[at + size :]})
            size //= 2
    yield from _fewer_clusters(scenario)
    for number, one in enumerate(scenario.program):
        if isinstance(one, ProgramMessage) and one.size > 1:
            program = list(scenario.program)
            program[number] = replace(one, size=one.size // 8)
            yield replace(scenario, program=tuple(program))


def _fewer_clusters(scenario: Scenario) -> Iterator[Scenario]:
    """Yield it without the last cluster, if nobody there has anything to do."""
    last = scenario.clusters[-1]
    first = scenario.ranks - last.ranks
    used = {
        index
        for one in scenario.program
        for index in ((one.source, one.target) if isinstance(one, ProgramMessage) else (one.rank,))
    }
    if len(scenario.clusters) > 2 and all(index < first for index in used):
        yield replace(scenario, clusters=scenario.clusters[:-1])
