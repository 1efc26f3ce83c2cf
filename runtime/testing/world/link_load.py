"""What a seed draws for a world of links: connections for whose answers threads of a process wait.

One kind is a rank and its front-end on another host, the other a caller and a member of a lab.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

from gcm.records import dataclass
from runtime.testing.world.network import NEVER


class LinkKind(StrEnum):
    """Whose connection it is."""

    RANK = "rank"
    """A rank tells its front-end what it has to tell, and answers its calls."""
    LAB = "lab"
    """Threads of a process call a member of a lab, and one may close the connection."""


class LinkFaultKind(StrEnum):
    """What can be done to a link."""

    PAUSE = "pause"
    """The process at the other end stands still."""
    CUT = "cut"
    """The line lets nothing through, in both directions."""
    CUT_ONE_WAY = "cut one way"
    DOWN = "down"
    """The other host loses its power."""
    KILL = "kill"
    """The process at the other end is killed; its system goes on."""


@dataclass(frozen=True, slots=True)
class LinkFault:
    """One fault: when, and for how many seconds."""

    kind: LinkFaultKind
    at: float
    seconds: float = 0.0

    @property
    def ends(self) -> bool:
        """Whether the other end goes for ever."""
        return self.kind in (LinkFaultKind.DOWN, LinkFaultKind.KILL)


@dataclass(frozen=True, slots=True)
class LinkStep:
    """Something is told, or asked: when at the earliest, by which thread, how many bytes."""

    at: float
    by: int
    size: int


OPEN = 1.0
"""When links are open, if nothing has happened."""

OPEN_AGAIN = 2.0
"""Seconds after a fault in which a link that it has kept from opening is open: it asks again."""

HARMLESS_CUT = 11.0
"""Seconds for which a line may be cut without a loss: a host counts as silent after 15 s."""


@dataclass(frozen=True, slots=True)
class LinkScenario:
    """All that is done in a world of links; `seed` decides what is left to chance."""

    seed: int
    kind: LinkKind
    steps: tuple[LinkStep, ...]
    faults: tuple[LinkFault, ...] = ()
    closes_at: float | None = None
    """When another thread closes the connection, of a lab."""
    late: float = 0.0
    """For how many seconds the other end keeps whoever has called."""
    calls: int = 0
    """How often a front-end calls its rank."""
    latency: float = 1e-3
    rate: float = 1e7
    room: int = 64 << 10

    @property
    def healed_at(self) -> float:
        """When the last fault is over."""
        return max((one.at + one.seconds for one in self.faults), default=0.0)

    @property
    def opens_by(self) -> float:
        """When it is open at the latest: what strikes before that delays it, or keeps it closed."""
        by = OPEN
        for one in sorted(self.faults, key=lambda one: one.at):
            if one.at < by:
                by = NEVER if one.ends else max(by, one.at + one.seconds + OPEN_AGAIN)
        return by

    @property
    def may_lose(self) -> bool:
        """Whether the connection may be lost: one that is only stopped answers by its system."""
        cuts = (LinkFaultKind.CUT, LinkFaultKind.CUT_ONE_WAY)
        cut = sum(one.seconds for one in self.faults if one.kind in cuts)
        return cut > HARMLESS_CUT or self.ends

    @property
    def ends(self) -> bool:
        """Whether the other end goes for ever."""
        return any(one.ends for one in self.faults)

    @property
    def seconds(self) -> float:
        """How long all takes at most where nothing fails."""
        rate = min(self.rate, self.room / (3 * self.latency + 1e-3))
        moving = sum(one.size / rate + 8 * self.latency for one in self.steps)
        waits = self.late * (len(self.steps) if self.kind is LinkKind.LAB else 1)
        return max((one.at for one in self.steps), default=0.0) + 2 * moving + waits

    def __str__(self) -> str:
        faults = "; ".join(f"{one.kind} at {one.at:.3f} s for {one.seconds:g}"
                           for one in self.faults)  # fmt: skip
        closes = "" if self.closes_at is None else f", closed at {self.closes_at:.3f} s"
        steps = ", ".join(f"{one.size} by {one.by} at {one.at:.3f} s" for one in self.steps)
        return f"the link of a {self.kind}: {steps}{closes}; faults: {faults or 'none'}"


def draw_link(seed: int) -> LinkScenario:
    """Return the scenario of a seed."""
    rng = random.Random(f"link {seed}")
    kind = rng.choice((LinkKind.RANK, LinkKind.LAB))
    span = rng.choice((1.0, 5.0, 30.0))
    sizes = (10, 200, 5000, 300_000) if kind is LinkKind.RANK else (0, 0, 3000)
    threads = rng.choice((1, 2, 3))
    steps = sorted(
        (
            LinkStep(rng.uniform(0.0, span) + 0.5, rng.randrange(threads), rng.choice(sizes))
            for _ in range(rng.choice((1, 3, 10)))
        ),
        key=lambda one: one.at,
    )
    made = LinkScenario(
        seed, kind, tuple(steps),
        late=rng.choice((0.0, 0.0, 0.1, 4.0)),
        calls=rng.choice((0, 1, 5)),
        latency=rng.choice((1e-4, 0.01, 0.1)),
        rate=rng.choice((1e6, 1e9)),
        room=rng.choice((8 << 10, 64 << 10)),
    )  # fmt: skip
    if kind is LinkKind.LAB and rng.random() < 0.6:
        made = replace(made, closes_at=rng.choice((rng.uniform(0.0, span), steps[0].at + 0.05)))
    return replace(made, faults=tuple(_faults(rng, span)))


def _faults(rng: random.Random, span: float) -> list[LinkFault]:
    if rng.random() < 0.25:
        return []
    found = []
    for kind in LinkFaultKind:
        if rng.random() < (0.12 if kind in (LinkFaultKind.DOWN, LinkFaultKind.KILL) else 0.3):
            long = (0.5, 5.0, 30.0, 70.0) if kind is LinkFaultKind.PAUSE else (0.5, 5.0, 10.0, 40.0)
            seconds = 0.0 if kind in (LinkFaultKind.DOWN, LinkFaultKind.KILL) else rng.choice(long)
            found.append(
                LinkFault(kind, rng.choice((0.0, OPEN, OPEN)) + rng.uniform(0, span), seconds)
            )
    return sorted(found, key=lambda one: one.at)


def smaller_links(made: LinkScenario) -> Iterator[LinkScenario]:
    """Yield what is smaller, in one step."""
    for part in ("faults", "steps"):
        there = getattr(made, part)
        for at in range(len(there)):
            yield replace(made, **{part: there[:at] + there[at + 1 :]})
    if made.calls:
        yield replace(made, calls=0)
    if made.late:
        yield replace(made, late=0.0)
