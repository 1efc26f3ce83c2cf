"""Drafts random programs of windows, and says what each rank's memory and results have to be.

A program is a list of rounds, one after the other at all ranks. In a round each element of a window
belongs to one rank, or is a sum to which all add; so no two ranks conflict, and the model can carry
out one rank after the other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

FENCE, LOCK, LOCK_ALL, GROUPS = "fence", "lock", "lock all", "groups"
PUT, GET, ADD, TAKE_AND_ADD, SWAP = "put", "get", "add", "take and add", "swap"

SUMS = 2
"""So many elements at the beginning of each window are sums."""


@dataclass
class Access:
    """One access of a rank: `count` elements of a target, `step` apart."""

    kind: str
    target: int
    at: int
    count: int
    step: int
    values: list[int]
    with_request: bool = False
    flush: bool = False
    """Whether it is flushed before the next one."""

    @property
    def places(self) -> list[int]:
        """The elements of the target."""
        return [self.at + self.step * one for one in range(self.count)]


@dataclass
class Round:
    """What all ranks do in one epoch."""

    epoch: str
    accesses: list[list[Access]]
    """By rank; in the order in which each makes them."""


@dataclass
class Draft:
    """A program for so many ranks."""

    seed: int
    sizes: list[int]
    """How many elements each window has."""
    units: list[int]
    """The size of the units in which displacements to it are counted."""
    rounds: list[Round] = field(default_factory=list)


def draft(seed: int, ranks: int) -> Draft:
    """Return the program of a seed."""
    rng = random.Random(seed)
    made = Draft(
        seed,
        [SUMS + rng.choice((0, 4, 9, 40)) for _ in range(ranks)],
        [rng.choice((1, 4, 8)) for _ in range(ranks)],
    )
    for _ in range(rng.randrange(2, 6)):
        epoch = rng.choice((FENCE, LOCK, LOCK_ALL, GROUPS))
        made.rounds.append(Round(epoch, _accesses(rng, made.sizes, epoch)))
    return made


def _accesses(rng: random.Random, sizes: list[int], epoch: str) -> list[list[Access]]:
    ranks = len(sizes)
    owned: list[dict[int, list[int]]] = [{} for _ in sizes]
    for target, size in enumerate(sizes):
        for at in range(SUMS, size):
            owner = rng.randrange(ranks) if rng.random() < 0.2 else (at // 4 + target) % ranks
            owned[owner].setdefault(target, []).append(at)
    found: list[list[Access]] = []
    for rank in range(ranks):
        mine: list[Access] = []
        for target, places in owned[rank].items():
            left = sorted(places)
            while left:
                one = _access(rng, target, left, epoch)
                left = [at for at in left if at > one.places[-1]]
                mine.append(one)
                while epoch in (LOCK, LOCK_ALL) and rng.random() < 0.4:
                    mine[-1].flush = True  # so that the next one may have the same elements
                    mine.append(_again(rng, one))
        for _ in range(rng.randrange(3)):
            kind = rng.choice((ADD, TAKE_AND_ADD))
            at, target = rng.randrange(SUMS), rng.randrange(ranks)
            mine.append(Access(kind, target, at, 1, 1, [rng.randrange(1, 100)]))
        if epoch in (FENCE, GROUPS):
            rng.shuffle(mine)
        else:
            targets = rng.sample(range(ranks), ranks)
            mine.sort(key=lambda one: targets.index(one.target))
        found.append(mine)
    return found


def _access(rng: random.Random, target: int, left: list[int], epoch: str) -> Access:
    """Return an access to the first elements that are left."""
    at, step, count = left[0], 1, 1
    if len(left) > 1:
        step = left[1] - left[0]
        while count < len(left) and left[count] == at + step * count and rng.random() < 0.9:
            count += 1
    one = Access(PUT, target, at, count, step if count > 1 else 1, [])
    _choose(rng, one)
    one.with_request = epoch in (LOCK, LOCK_ALL) and one.kind != SWAP and rng.random() < 0.3
    return one


def _again(rng: random.Random, like: Access) -> Access:
    one = Access(PUT, like.target, like.at, like.count, like.step, [])
    _choose(rng, one)
    return one


def _choose(rng: random.Random, one: Access) -> None:
    kinds = [PUT, GET, ADD, TAKE_AND_ADD, *([SWAP] if one.count == 1 else [])]
    one.kind = rng.choice(kinds)
    one.values = [rng.randrange(-1000, 1000) for _ in range(one.count)]
    if one.kind == SWAP:
        one.values = [rng.randrange(-1, 2), rng.randrange(1000)]


@dataclass
class Expected:
    """What a program leaves."""

    windows: list[list[int]]
    results: list[list[list[int]]]
    """By rank, what each of its accesses has got, in order; empty for one that gets nothing, and
    for one of a sum, which depends on who came first."""


def carry_out(program: Draft) -> Expected:
    """Carry a program out in one process."""
    windows = [[0] * size for size in program.sizes]
    results: list[list[list[int]]] = [[] for _ in program.sizes]
    for made in program.rounds:
        for rank, accesses in enumerate(made.accesses):
            for one in accesses:
                got = _carry_out(windows[one.target], one)
                results[rank].append([] if one.at < SUMS else got)
    return Expected(windows, results)


def _carry_out(window: list[int], one: Access) -> list[int]:
    before = [window[at] for at in one.places]
    if one.kind == SWAP:
        expected, new = one.values
        if before[0] == expected:
            window[one.at] = new
        return before
    for at, value in zip(one.places, one.values, strict=True):
        if one.kind == PUT:
            window[at] = value
        elif one.kind in (ADD, TAKE_AND_ADD):
            window[at] += value
    return before if one.kind in (GET, TAKE_AND_ADD) else []
