"""What a seed draws for a lab: its members, what users want, and a few kinds of faults."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

from gcm.records import dataclass
from runtime.peers.model import Share

EXPIRED = 90.0
"""Seconds of silence after which a supernode takes a member for gone."""


class LabFaultKind(StrEnum):
    """What can be done to a lab."""

    STALL = "stall"
    """A daemon or a user stands still for a while."""
    FLAKY = "flaky"
    """A host loses some of its messages for a while."""
    CUT = "cut"
    """Two hosts do not reach each other for a while."""
    CUT_ONE_WAY = "cut one way"
    """What one host sends to another one is lost for a while."""
    KILL = "kill"
    """A daemon dies, and begins again later: with its file, an old one, or none."""
    DOWN = "down"
    """A host loses its power, and comes back later."""
    LEAVE = "leave"
    """An owner ends a daemon in order, and begins it again later."""
    MOVE = "move"
    """A peer dies, and comes back at another address, which a peer may have had that is gone."""
    CANCEL = "cancel"
    """A user presses Ctrl-C."""
    VANISH = "vanish"
    """The process of a user is killed."""
    USER_DOWN = "user down"
    """The host of a user loses its power."""


HARMLESS = frozenset({LabFaultKind.STALL, LabFaultKind.CANCEL, LabFaultKind.VANISH,
                      LabFaultKind.USER_DOWN})  # fmt: skip
"""After these no supernode may take a member for gone; a stall has 20 s at most."""


@dataclass(frozen=True, slots=True)
class LabFault:
    """One fault: at which time, whom it meets by number, and for how many seconds."""

    kind: LabFaultKind
    at: float
    target: int
    seconds: float = 0.0
    other: int = 0


@dataclass(frozen=True, slots=True)
class BookingAsked:
    """What a user wants, and when."""

    at: float
    ranks: int
    replicas: int
    strategy: str
    search: float
    staging: float
    job: float


@dataclass(frozen=True, slots=True)
class LabScenario:
    """All that is done in a lab; `seed` decides what is left to chance."""

    seed: int
    shares: tuple[Share, ...]
    """What each peer lends."""
    supernodes: int
    bookings: tuple[BookingAsked, ...]
    faults: tuple[LabFault, ...]
    latency: float
    skew: float

    @property
    def healed_at(self) -> float:
        """When the last fault is over."""
        return max((one.at + one.seconds for one in self.faults), default=0.0)

    @property
    def keeps_members(self) -> bool:
        """Whether no member may be taken for gone."""
        return all(one.kind in HARMLESS for one in self.faults)

    def __str__(self) -> str:
        shares = ", ".join(f"{one.applications}x{one.processes}" for one in self.shares)
        bookings = "; ".join(
            f"{one.ranks}x{one.replicas} {one.strategy} at {one.at:.2f} s within {one.search:g} s"
            f" for {one.job:g} s"
            for one in self.bookings
        )
        faults = "; ".join(
            f"{one.kind} {one.target}/{one.other} at {one.at:.3f} s for {one.seconds:g} s"
            for one in self.faults
        )
        return (
            f"a lab of {self.supernodes} supernodes and peers of {shares}; bookings: {bookings};"
            f" faults: {faults or 'none'}"
        )


JOINED = 25.0
"""Seconds within which all have joined, and users begin."""


def draw_lab(seed: int) -> LabScenario:
    """Return the scenario of a seed."""
    rng = random.Random(f"lab {seed}")
    peers = rng.choice((3, 4, 6, 6, 8, 12))
    shares = tuple(Share(rng.choice((1, 1, 1, 2)), rng.choice((1, 2, 4))) for _ in range(peers))
    bookings = tuple(_booking(rng, peers) for _ in range(rng.choice((1, 2, 3, 5))))
    made = LabScenario(
        seed, shares, rng.choice((1, 1, 2, 3)), bookings, (),
        latency=rng.choice((2e-4, 5e-3, 0.05, 0.3)),
        skew=rng.choice((0.0, 1.0, 3600.0)),
    )  # fmt: skip
    return replace(made, faults=tuple(_faults(rng)))


def _booking(rng: random.Random, peers: int) -> BookingAsked:
    return BookingAsked(
        at=JOINED + rng.choice((0.0, 0.0, rng.uniform(0, 1), rng.uniform(0, 30))),
        ranks=rng.choice((1, 2, 3, peers)),
        replicas=rng.choice((1, 1, 2)),
        strategy=rng.choice(("spread", "concentrate", "mixed")),
        search=rng.choice((5.0, 30.0, 30.0, 120.0)),
        staging=rng.choice((0.01, 0.5, 15.0, 70.0)),
        job=rng.choice((0.1, 5.0, 40.0)),
    )


def _faults(rng: random.Random) -> list[LabFault]:
    """Return a few faults of some kinds."""
    if rng.random() < 0.12:
        return []
    chance = rng.choice((0.1, 0.25))
    found = []
    for kind in [one for one in LabFaultKind if rng.random() < chance]:
        for _ in range(rng.choice((1, 1, 2, 4))):
            long = (2.0, 20.0) if kind is LabFaultKind.STALL else (0.5, 4.0, 20.0, 70.0, 200.0)
            around = rng.choice((0.0, JOINED, JOINED, JOINED + 1))
            at = around + rng.choice((rng.uniform(0, 0.1), rng.uniform(0, 3), rng.uniform(0, 60)))
            seconds = 0.0 if kind in _AT_ONCE else rng.choice(long)
            found.append(LabFault(kind, at, rng.randrange(100), seconds, rng.randrange(100)))
    return sorted(found, key=lambda one: one.at)


_AT_ONCE = frozenset({LabFaultKind.CANCEL, LabFaultKind.VANISH, LabFaultKind.USER_DOWN})


def smaller_labs(scenario: LabScenario) -> Iterator[LabScenario]:
    """Yield what is smaller, the smallest first."""
    for kind in ("faults", "bookings"):
        parts = getattr(scenario, kind)
        size = len(parts)
        while size:
            for at in range(0, len(parts), size):
                left = parts[:at] + parts[at + size :]
                if left or kind == "faults":
                    yield replace(scenario, **{kind: left})
            size //= 2
    if len(scenario.shares) > 1:
        yield replace(scenario, shares=scenario.shares[:-1])
    if scenario.supernodes > 1:
        yield replace(scenario, supernodes=scenario.supernodes - 1)
    if scenario.skew:
        yield replace(scenario, skew=0.0)
