"""What a seed draws for a world of programs: ranks with all of their MPI, a program, and deaths.

All ranks run the same program. Each rank has a native MPI of its own: what ranks say to each other
goes over the wire, and whatever a recovery or a replica decides is production's.
"""

from __future__ import annotations

import random
from dataclasses import replace
from enum import StrEnum

from gcm.records import dataclass


class SurvivalKind(StrEnum):
    """What becomes of a program whose ranks are lost."""

    PLAIN = "plain"
    """None is."""
    SURVIVES = "survives"
    """The others have it started again, and go on with it."""
    REPLICAS = "replicas"
    """Other replicas go on."""
    RESTARTS = "restarts"
    """Other replicas go on, and another process joins them."""


class JointStep(StrEnum):
    """What all ranks do together in one step of a program."""

    COMPUTE = "compute"
    """One rank computes, the others go on."""
    RING = "ring"
    """Each sends to the next one."""
    ANY = "any"
    """One receives from all others, in any order."""
    LATE = "late"
    """One sends to another one, which computes before it receives."""
    ALLREDUCE = "allreduce"
    BCAST = "bcast"
    GATHER = "gather"
    ALLTOALL = "alltoall"
    BARRIER = "barrier"


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One step: of which size its messages are, and which rank is special in it."""

    kind: JointStep
    root: int = 0
    size: int = 8
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Death:
    """A process is killed; `target` counts those that live, the newest first if it `is_newest`."""

    at: float
    target: int = 0
    is_newest: bool = False


class LineFaultKind(StrEnum):
    """What can be done to the lines between two sites."""

    CUT = "cut"
    CUT_ONE_WAY = "cut one way"
    RESET = "reset"
    """All connections are ended by something between."""
    SWALLOW = "swallow"
    """All connections are forgotten by something between, which tells neither end."""


@dataclass(frozen=True, slots=True)
class LineFault:
    """One fault of the lines from a site to another one, shorter than what a rank puts up with."""

    kind: LineFaultKind
    at: float
    source: int
    target: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ProgramScenario:
    """All that is done in a world of programs; `seed` decides what is left to chance."""

    seed: int
    kind: SurvivalKind
    ranks: int
    steps: tuple[ProgramStep, ...]
    deaths: tuple[Death, ...] = ()
    cuts: tuple[LineFault, ...] = ()
    latency: float = 1e-3
    rate: float = 1e9
    starts: float = 0.3
    """Seconds at most until a process is there that is started again."""
    slow_start: float = 0.0
    """For how many seconds such a process computes before it calls MPI."""
    odd_step: int = -1
    """In which step, an allreduce, a rank gives more data than the others; none if it is -1."""
    odd_rank: int = 0
    slow_site: int = -1
    slowness: float = 1.0
    """The processes of a site compute so many times as long as others."""
    fails_to_start: float = 0.0
    """How often a process that is started again ends at once."""
    told: float = 0.01
    """Seconds at most until others are told of the end of a process."""

    @property
    def replicas(self) -> int:
        """How many processes each rank is at first."""
        return 2 if self.kind in (SurvivalKind.REPLICAS, SurvivalKind.RESTARTS) else 1

    @property
    def healed_at(self) -> float:
        """When the last process is killed, and the last line heals."""
        healed = (one.at + one.seconds for one in self.cuts)
        return max((*(one.at for one in self.deaths), *healed), default=0.0)

    @property
    def seconds(self) -> float:
        """How long the program takes at most where nobody is lost."""
        computing = max(1.0, self.slowness) * sum(one.seconds for one in self.steps)
        moving = sum(one.size * self.ranks**2 / self.rate for one in self.steps)
        rounds = 40 * (self.latency + 1e-3) * len(self.steps) * self.ranks
        return computing + 4 * moving + rounds

    def __str__(self) -> str:
        steps = ", ".join(f"{one.kind} {one.root} {one.size} {one.seconds:g}" for one in self.steps)
        deaths = "; ".join(
            f"{'newest' if one.is_newest else one.target} at {one.at:.3f} s" for one in self.deaths
        )
        cuts = "; ".join(
            f"{one.kind} {one.source} to {one.target} at {one.at:.3f} s for {one.seconds:g}"
            for one in self.cuts
        )
        odd = f", step {self.odd_step} is odd at {self.odd_rank}" if self.odd_step >= 0 else ""
        return (
            f"a program of {self.ranks} ranks that is {self.kind}: {steps}{odd};"
            f" killed: {deaths or 'none'}; lines: {cuts or 'whole'}"
        )


_SIZES = (8, 8, 400, 9000, 120_000)


def draw_program(seed: int) -> ProgramScenario:
    """Return the scenario of a seed."""
    rng = random.Random(f"program {seed}")
    kind = rng.choice((SurvivalKind.PLAIN, SurvivalKind.SURVIVES, SurvivalKind.SURVIVES,
                       SurvivalKind.REPLICAS, SurvivalKind.RESTARTS))  # fmt: skip
    ranks = rng.choice((2, 2, 3, 4) if kind is not SurvivalKind.PLAIN else (2, 3, 5))
    made = ProgramScenario(
        seed, kind, ranks, tuple(_steps(rng, ranks, kind)),
        latency=rng.choice((1e-4, 1e-3, 0.02)),
        rate=rng.choice((1e7, 1e9)),
        starts=rng.choice((0.02, 0.3, 2.0)),
        slow_start=rng.choice((0.0, 0.0, 0.5, 20.0)),
        told=rng.choice((1e-3, 0.05, 0.5)),
        slow_site=rng.randrange(2),
        slowness=rng.choice((1.0, 1.5, 8.0)),
        fails_to_start=rng.choice((0.0, 0.0, 0.4)),
    )  # fmt: skip
    made = replace(made, cuts=tuple(_cuts(rng, made)))
    reductions = [at for at, one in enumerate(made.steps) if one.kind is JointStep.ALLREDUCE]
    if kind is SurvivalKind.PLAIN:
        if reductions and rng.random() < 0.5:
            return replace(made, odd_step=rng.choice(reductions), odd_rank=rng.randrange(ranks))
        return made
    return replace(made, deaths=tuple(_deaths(rng, made)))


def _steps(rng: random.Random, ranks: int, kind: SurvivalKind) -> list[ProgramStep]:
    kinds = [one for one in JointStep if rng.random() < 0.6] or [JointStep.RING]
    if kind is SurvivalKind.SURVIVES:
        kinds.append(JointStep.ALLREDUCE)
    found = []
    for _ in range(rng.choice((2, 4, 8, 12))):
        one = rng.choice(kinds)
        computes = one in (JointStep.COMPUTE, JointStep.LATE)
        seconds = rng.choice((1e-3, 0.05, 0.4, 2.0)) if computes else 0.0
        found.append(ProgramStep(one, rng.randrange(ranks), rng.choice(_SIZES), seconds))
    return found


def _deaths(rng: random.Random, made: ProgramScenario) -> list[Death]:
    if rng.random() < 0.15:
        return []
    span = min(10.0, 0.3 + sum(one.seconds for one in made.steps))
    first = rng.choice((rng.uniform(0.0, span), rng.uniform(0.0, 0.4)))
    at, found = first, [Death(first, rng.randrange(100))]
    one_by_one = rng.choice(("", "", "the newest", "the oldest"))
    for _ in range(rng.choice((0, 1, 2, 3) if one_by_one else (0, 0, 1, 2, 3))):
        if one_by_one:  # those that were there at first, or who has just come
            at += rng.choice((0.0, rng.uniform(0, 0.1), rng.uniform(0, 0.4), made.starts))
            found.append(Death(at, 0, one_by_one == "the newest"))
            continue
        after = rng.choice((0.0, rng.uniform(0, 0.05), rng.uniform(0, 1.0), rng.uniform(0, 4.0)))
        found.append(Death(first + after, rng.randrange(100), rng.random() < 0.4))
    return sorted(found, key=lambda one: one.at)


def _cuts(rng: random.Random, made: ProgramScenario) -> list[LineFault]:
    if rng.random() < 0.6:
        return []
    sites = made.replicas if made.replicas > 1 else made.ranks
    span = min(10.0, 0.3 + sum(one.seconds for one in made.steps))
    kinds = rng.sample(list(LineFaultKind), rng.choice((1, 2)))
    found = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        kind = rng.choice(kinds)
        lasts = kind in (LineFaultKind.CUT, LineFaultKind.CUT_ONE_WAY)
        seconds = rng.choice((0.2, 1.0, 5.0)) if lasts else 0.0
        source = rng.randrange(sites)
        target = (source + rng.randrange(1, sites)) % sites
        found.append(LineFault(kind, rng.uniform(0.0, span), source, target, seconds))
    return sorted(found, key=lambda one: one.at)


def smaller_programs(made: ProgramScenario) -> list[ProgramScenario]:
    """Return what is smaller, in one step."""
    found = []
    for at in range(len(made.deaths)):
        found.append(replace(made, deaths=made.deaths[:at] + made.deaths[at + 1 :]))
    for at in range(len(made.cuts)):
        found.append(replace(made, cuts=made.cuts[:at] + made.cuts[at + 1 :]))
    for at in range(len(made.steps)):
        if at != made.odd_step:
            odd = made.odd_step - (at < made.odd_step)
            steps = made.steps[:at] + made.steps[at + 1 :]
            found.append(replace(made, steps=steps, odd_step=odd))
    if made.ranks > 2:
        fewer = made.ranks - 1
        steps = tuple(replace(one, root=one.root % fewer) for one in made.steps)
        cuts = () if made.replicas == 1 else made.cuts
        odd = made.odd_rank % fewer
        found.append(replace(made, ranks=fewer, steps=steps, odd_rank=odd, cuts=cuts))
    return found
