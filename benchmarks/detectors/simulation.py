"""One simulated group: members die, messages get lost, processors are overloaded."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.detectors.arrays import ArrayTable
from benchmarks.detectors.simulated_members import AnyDetector, World
from runtime.health import Declare, DetectorProtocol, DetectorSettings, Effect, Suspect
from runtime.health.gossip import GossipDetector
from runtime.health.hierarchical import Groups, HierarchicalDetector
from runtime.health.table import ListTable

_ARRAYS_FROM = 200  # members; below that lists are faster


@dataclass(frozen=True)
class Case:
    """What is simulated; times in seconds of the simulated world.

    `loss` is how many messages get lost. Under `overload` so many of the members stand still once
    in each second, for up to `stop` seconds. `deaths` members die, one after the other, the first
    one after `settle` seconds. Groups of groups have `group` members each, by default as many as
    there are groups. `at_random` heartbeats go to random members, for the T_cleanup of `protocol`.
    """

    protocol: DetectorProtocol
    members: int
    seconds: float
    deaths: int = 1
    loss: float = 0.0
    overload: float = 0.0
    stop: float = 2.0
    max_hang: float = 0.0
    most_distrust: int = 8
    seed: int = 1
    group: int = 0
    settle: float = 0.0
    at_random: bool = False


@dataclass(frozen=True)
class Found:
    """What came of it. Detection times are from a death to each verdict, of every watcher."""

    cleanup: float
    first: float
    mean: float
    last: float
    unaware: int
    suspicions: int
    false_verdicts: int
    messages: float
    entries: int
    took: float


class Run:
    """A simulated group while it runs."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._random = Random(case.seed)
        self._settings = DetectorSettings(
            case.protocol, 0.5, case.max_hang, 10.0, case.most_distrust
        )
        self._names = [f"n{number}" for number in range(case.members)]
        self._dead: dict[str, float] = {}
        self._known: list[float] = []
        self._false: set[str] = set()
        self._suspicions = 0
        self._size = case.members
        self._world = World(self._detectors(), random=self._random, loss=case.loss, seen=self._see)

    def _detectors(self) -> dict[str, AnyDetector]:
        case, settings, random = self._case, self._settings, self._random
        if case.protocol is DetectorProtocol.HIERARCHICAL:
            self._size = case.group or math.isqrt(case.members)
            groups = Groups(
                [self._names[at : at + self._size] for at in range(0, case.members, self._size)]
            )
            table = ArrayTable if self._size >= _ARRAYS_FROM else ListTable
            return {
                name: HierarchicalDetector(
                    groups, name, settings, random.uniform(0, 0.5), table=table
                )
                for name in self._names
            }
        table = ArrayTable if case.members >= _ARRAYS_FROM else ListTable
        is_random = case.at_random or case.protocol is DetectorProtocol.RANDOM
        indexes = {name: number for number, name in enumerate(self._names)}
        return {
            name: GossipDetector(
                self._names,
                name,
                settings,
                random.uniform(0, 0.5),
                table=table,
                indexes=indexes,
                random=random if is_random else None,
            )
            for name in self._names
        }

    def _see(self, now: float, watcher: str, effect: Effect) -> None:  # noqa: ARG002 - as called
        if isinstance(effect, Suspect):
            self._suspicions += effect.member not in self._dead
        elif isinstance(effect, Declare):
            if effect.member in self._dead:
                self._known.append(now - self._dead[effect.member])
            else:
                self._false.add(effect.member)

    def found(self) -> Found:
        """Run to the end, and return what came of it."""
        begun = time.perf_counter()
        case, world = self._case, self._world
        pause = case.seconds / (case.deaths + (not case.settle))
        stopped: list[tuple[float, str]] = []
        for number in range(case.deaths + 1):
            until = world.now + (case.settle if case.settle and not number else pause)
            while world.now < until:
                stopped = self._overload(stopped)
                world.run(min(1.0 if case.overload else case.seconds, until - world.now))
            if number < case.deaths:
                dead = self._random.choice(world.living)
                world.kill(dead)
                self._dead[dead] = world.now
        times = self._known or [math.nan]
        return Found(
            cleanup=self._settings.cleanup(self._size),
            first=min(times),
            mean=sum(times) / len(times),
            last=max(times),
            unaware=sum(
                not world.knows_dead(one, dead) for dead in self._dead for one in world.living
            ),
            suspicions=self._suspicions,
            false_verdicts=len(self._false),
            messages=world.messages / case.members / world.now,
            entries=self._size,
            took=time.perf_counter() - begun,
        )

    def _overload(self, stopped: list[tuple[float, str]]) -> list[tuple[float, str]]:
        """Stop some members for a while, and let others go on whose time is over."""
        case, world = self._case, self._world
        if not case.overload:
            return []
        still = []
        for until, name in stopped:
            if until > world.now:
                still.append((until, name))
            else:
                world.thaw(name)
        standing = {name for _, name in still}
        for name in self._random.sample(world.living, int(case.overload * case.members)):
            if name not in standing:
                world.freeze(name)
                still.append((world.now + self._random.uniform(0, case.stop), name))
        return still


def simulated(cases: Sequence[Case]) -> list[tuple[Case, Found]]:
    """Simulate one case after the other."""
    return [(case, Run(case).found()) for case in cases]
