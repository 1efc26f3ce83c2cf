"""What a seed draws: a shape, a program, and a subset of the kinds of faults with their times.

A scenario is a value, so that it can be made smaller and run again.
"""

from __future__ import annotations

import random
from dataclasses import replace
from enum import StrEnum

from gcm.records import dataclass


class FaultKind(StrEnum):
    """What can be done to a world."""

    RESET = "reset"
    """Something between ends a connection, and tells both ends."""
    SWALLOW = "swallow"
    """Something between forgets a connection, and tells nobody."""
    CUT = "cut"
    """A line lets nothing through, in both directions."""
    CUT_ONE_WAY = "cut one way"
    """A line lets nothing through in one direction."""
    PAUSE = "pause"
    """A process is stopped for a while."""
    KILL = "kill"
    """A process is killed; its system goes on."""
    HOST_DOWN = "host down"
    """A host loses its power."""
    CTRL_C = "Ctrl-C"
    """The user presses it."""


LOSSY = frozenset({FaultKind.KILL, FaultKind.HOST_DOWN, FaultKind.CTRL_C})
"""After these something is missing in any case."""

LONGEST_OUTAGE = 12.0
"""Seconds for which a line may be cut without a loss."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: at which time, what it meets by its number, and for how many seconds."""

    kind: FaultKind
    at: float
    target: int
    seconds: float = 0.0
    other: int = 0


@dataclass(frozen=True, slots=True)
class ProgramMessage:
    """One message of the program; `is_awaited` says that its sender waits for the match.

    One that is a `notice` nobody receives: its target may have ended before it comes.
    """

    source: int
    target: int
    size: int
    is_awaited: bool = False
    is_notice: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """A rank computes; if it `is_deaf` it does not look after its connections meanwhile."""

    rank: int
    seconds: float
    is_deaf: bool = False


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """One cluster: its ranks, its host, and whether it can only connect outwards."""

    ranks: int
    host: int
    is_outwards: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """All that is done in a world; `seed` decides what is left to chance."""

    seed: int
    clusters: tuple[ClusterShape, ...]
    program: tuple[ProgramMessage | Pause, ...]
    faults: tuple[Fault, ...]
    latency: float
    rate: float
    room: int

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return sum(one.ranks for one in self.clusters)

    @property
    def healed_at(self) -> float:
        """When the last fault is over."""
        return max((one.at + one.seconds for one in self.faults), default=0.0)

    @property
    def may_lose(self) -> bool:
        """Whether something may be lost; else all has to end as without faults."""
        return self.is_cut_for_long or any(one.kind in LOSSY for one in self.faults)

    @property
    def is_cut_for_long(self) -> bool:
        """Whether lines are cut for longer than connections wait."""
        cuts = [one for one in self.faults if one.kind in (FaultKind.CUT, FaultKind.CUT_ONE_WAY)]
        return sum(one.seconds for one in cuts) > LONGEST_OUTAGE

    @property
    def seconds(self) -> float:
        """How long the program takes at most where nothing fails."""
        computing = sum(one.seconds for one in self.program if isinstance(one, Pause))
        messages = [one for one in self.program if isinstance(one, ProgramMessage)]
        rate = min(self.rate, self.room / (2.5 * self.latency))  # a system keeps no more
        moving = sum(one.size / rate + 8 * self.latency for one in messages)
        return computing + 4 * moving

    def cluster_of(self, rank: int) -> int:
        """Return in which cluster a rank is."""
        for number, one in enumerate(self.clusters):
            if rank < one.ranks:
                return number
            rank -= one.ranks
        raise IndexError(rank)

    def __str__(self) -> str:
        shape = " + ".join(
            f"{one.ranks}@{one.host}{' outwards' if one.is_outwards else ''}"
            for one in self.clusters
        )
        faults = "; ".join(
            f"{one.kind} {one.target}/{one.other} at {one.at:.3f} s for {one.seconds:.3f} s"
            for one in self.faults
        )
        steps = len(self.program)
        return f"clusters {shape}, {steps} steps of the program, faults: {faults or 'none'}"


_STARTED = 0.31
"""Seconds after which the ranks of a world have all been started."""

_SIZES = (0, 1, 40, 900, 5000, 9000, 40_000, 300_000, 1_500_000)


def draw(seed: int, *, most_clusters: int = 5) -> Scenario:
    """Return the scenario of a seed."""
    rng = random.Random(seed)
    count = rng.choice((2, 2, 2, 3, 3, rng.randint(2, most_clusters)))
    hosts = rng.choice((count, count, max(1, count - 1)))
    outwards = rng.randrange(count) if rng.random() < 0.25 else -1
    clusters = tuple(
        ClusterShape(rng.choice((1, 1, 2, 3)), number % hosts, number == outwards)
        for number in range(count)
    )
    made = Scenario(
        seed, clusters, (), (),
        latency=rng.choice((1e-4, 1e-3, 0.01, 0.05, 0.2)),
        rate=rng.choice((2e5, 1e7, 1e9)),
        room=rng.choice((8 << 10, 64 << 10, 256 << 10)),
    )  # fmt: skip
    program = tuple(_program(rng, made))
    made = replace(made, program=program)
    return replace(made, faults=tuple(_faults(rng, made)))


def _program(rng: random.Random, shape: Scenario) -> list[ProgramMessage | Pause]:
    """Return messages in an order in which they can all be exchanged, one after the other."""
    computes, syncs = rng.random() < 0.6, rng.random() < 0.5
    is_slow = shape.rate < 1e6
    steps: list[ProgramMessage | Pause] = []
    for _ in range(rng.choice((3, 8, 20, 40))):
        if computes and rng.random() < 0.2:
            seconds = rng.choice((0.001, 0.05, 0.5, 3.0))
            steps.append(Pause(rng.randrange(shape.ranks), seconds, rng.random() < 0.5))
            continue
        source, target = rng.sample(range(shape.ranks), 2)
        if shape.cluster_of(source) != shape.cluster_of(target):
            if rng.random() < 0.08:
                steps.append(ProgramMessage(source, target, rng.choice((0, 40)), is_notice=True))
                continue
            size = rng.choice(_SIZES[:-2] if is_slow else _SIZES)
            steps.append(ProgramMessage(source, target, size, syncs and rng.random() < 0.3))
    return steps


def _faults(rng: random.Random, shape: Scenario) -> list[Fault]:
    """Return a few faults of some kinds: not of all, so that one does not hide the others."""
    if rng.random() < 0.1:
        return []
    kinds = [one for one in FaultKind if rng.random() < (0.15 if one in LOSSY else 0.4)]
    span = max(0.5, min(20.0, shape.seconds))
    found = []
    for kind in kinds:
        for _ in range(rng.choice((1, 1, 2, 4))):
            is_cut = kind in (FaultKind.CUT, FaultKind.CUT_ONE_WAY)
            long = (0.2, 2.0, 6.0, 11.0, 11.0, 40.0) if is_cut else (0.2, 2.0, 9.0, 25.0)
            seconds = rng.choice(long) if is_cut or kind is FaultKind.PAUSE else 0.0
            times = rng.uniform(0, span), rng.uniform(0, 0.2), rng.expovariate(1 / span)
            at = rng.choice((0.0, _STARTED, _STARTED)) + rng.choice(times)
            found.append(Fault(kind, at, rng.randrange(100), seconds, rng.randrange(100)))
    return sorted(found, key=lambda one: one.at)
