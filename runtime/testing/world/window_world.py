"""Worlds of windows: ranks access each other's memory, and may be killed while they do.

A world of programs with another program. In each round every rank puts what names it and the round
into its place in the memory of some others, adds to a counter that all share, or reads; all in an
epoch of one kind. Without losses each memory has to be that of a sequential model after each round.
With them nobody may hang, survivors fail by the loss alone, and no memory has what nobody has put.
"""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import Any

from mpi4py import MPI

from gcm.records import dataclass
from runtime.mpi.errors import FailureError
from runtime.mpi.process import counted_output, place
from runtime.mpi.progress import native_waits, predefined
from runtime.mpi.windows import making
from runtime.mpi.windows.face import Win
from runtime.testing.world.engine import World
from runtime.testing.world.program_load import Death, ProgramScenario, SurvivalKind
from runtime.testing.world.program_process import ProgramProcess
from runtime.testing.world.program_world import MOST_EVENTS, PlayedProgram, ProgramWorld
from runtime.testing.world.tape import Tape

WORD, COUNTERS = 8, 2


class EpochKind(StrEnum):
    """How the ranks of a round begin and end their accesses."""

    FENCE = "fence"
    LOCK = "lock"
    LOCK_ALL = "lock all"
    GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class WindowRound:
    """What all ranks do in one epoch: rank r accesses the ranks that are `distances` behind it."""

    epoch: EpochKind
    distances: tuple[int, ...]
    words: int = 1
    """How many words each puts, and gets back before the epoch ends where that may be."""
    is_exclusive: bool = True
    """Whether locks are; each rank then also adds to a second counter by a Get and a Put."""
    seconds: float = 0.0
    """For how long the rank that the round's number names computes first."""


@dataclass(frozen=True, slots=True)
class WindowScenario(ProgramScenario):
    """A world of windows."""

    rounds: tuple[WindowRound, ...] = ()

    @property
    def seconds(self) -> float:
        """How long the program takes at most where nobody is lost."""
        moved = sum(2 * WORD * one.words * len(one.distances) for one in self.rounds)
        turns = 60 * (self.latency + 1e-3) * len(self.rounds) * self.ranks**2
        return sum(one.seconds for one in self.rounds) + 4 * self.ranks * moved / self.rate + turns

    def __str__(self) -> str:
        rounds = "; ".join(
            f"{one.epoch} {one.distances} {one.words} words {one.seconds:g} s"
            for one in self.rounds
        )
        deaths = ", ".join(f"{one.target} at {one.at:.3f} s" for one in self.deaths)
        return f"windows of {self.ranks} ranks: {rounds}; killed: {deaths or 'none'}"


def draw_windows(seed: int) -> WindowScenario:
    """Return the scenario of a seed."""
    rng = random.Random(f"windows {seed}")
    ranks = rng.choice((2, 2, 3, 4))
    rounds = tuple(_round(rng, ranks) for _ in range(rng.choice((1, 2, 4, 8))))
    made = WindowScenario(
        seed, SurvivalKind.PLAIN, ranks, (),
        latency=rng.choice((1e-4, 1e-3, 0.02)),
        rate=rng.choice((1e7, 1e9)),
        told=rng.choice((1e-3, 0.05, 0.5)),
        rounds=rounds,
    )  # fmt: skip
    if rng.random() < 0.4:
        return made
    span = 0.3 + made.seconds / 8
    deaths = sorted(rng.uniform(0.0, span) for _ in range(rng.choice((1, 1, 2))))
    return replace(made, deaths=tuple(Death(at, rng.randrange(100)) for at in deaths))


def _round(rng: random.Random, ranks: int) -> WindowRound:
    distances = [one for one in range(ranks) if rng.random() < 0.6] or [rng.randrange(ranks)]
    return WindowRound(
        rng.choice([*EpochKind]),
        tuple(distances),
        rng.choice((1, 1, 3, 40, 2000, 150_000)),
        rng.random() < 0.5,
        rng.choice((0.0, 0.0, 0.02, 0.5)),
    )


def smaller_windows(made: WindowScenario) -> Iterator[WindowScenario]:
    """Yield what is smaller, in one step."""
    for at in range(len(made.deaths)):
        yield replace(made, deaths=made.deaths[:at] + made.deaths[at + 1 :])
    for at in range(len(made.rounds)):
        yield replace(made, rounds=made.rounds[:at] + made.rounds[at + 1 :])
    for at, one in enumerate(made.rounds):
        if one.words > 1 or one.seconds:
            least = replace(one, words=1, seconds=0.0)
            yield replace(made, rounds=(*made.rounds[:at], least, *made.rounds[at + 1 :]))


def _value(number: int, rank: int) -> int:
    """Return what a rank puts in a round."""
    return 1000 * (number + 1) + rank


class WindowProgram:
    """The program of one rank, and what it has found to be wrong."""

    def __init__(self, made: WindowScenario, process: ProgramProcess) -> None:
        self.made, self.process = made, process
        self.most = max((one.words for one in made.rounds), default=1)
        self.comm: Any = process.world
        self.rank: int = self.comm.rank
        self.memory = array("q", bytes(WORD * (COUNTERS + made.ranks * self.most)))
        self._kept: list[object] = []

    def run(self) -> None:
        """Carry out all rounds; a loss ends them."""
        window: Any = None
        try:
            window = Win.Create(self.memory, WORD, comm=self.comm)
            for number, one in enumerate(self.made.rounds):
                if number % self.made.ranks == self.rank:
                    self.process.compute(one.seconds)
                self._round(window, number, one)
                self.comm.Barrier()
                self._check(number)
                self.comm.Barrier()  # before anybody goes on to the next one
                self.process.results[number] = None
        except FailureError:
            self.process.is_short = True
            self.comm.Revoke()  # those that wait for others alone go on, too
        finally:
            if window is not None:
                self._free(window)
        self._check_any()

    @staticmethod
    def _free(window: Any) -> None:
        with suppress(FailureError):
            window.Free()

    def _round(self, window: Any, number: int, one: WindowRound) -> None:
        ranks = self.made.ranks
        targets = [(self.rank + at) % ranks for at in one.distances]
        origins = [(self.rank - at) % ranks for at in one.distances]
        match one.epoch:
            case EpochKind.FENCE:
                window.Fence()
                for target in targets:
                    self._access(window, number, one, target)
                window.Fence(MPI.MODE_NOSUCCEED)
            case EpochKind.GROUPS:
                group = self.comm.Get_group()
                window.Post(group.Incl(sorted(origins)))
                window.Start(group.Incl(sorted(targets)))
                for target in targets:
                    self._access(window, number, one, target)
                window.Complete()
                window.Wait()
            case EpochKind.LOCK:
                kind = MPI.LOCK_EXCLUSIVE if one.is_exclusive else MPI.LOCK_SHARED
                for target in targets:
                    window.Lock(target, kind)
                    self._access(window, number, one, target, reads=True)
                    window.Unlock(target)
            case EpochKind.LOCK_ALL:
                window.Lock_all()
                for target in targets:
                    self._access(window, number, one, target, reads=True)
                window.Unlock_all()

    def _access(
        self, window: Any, number: int, one: WindowRound, target: int, *, reads: bool = False
    ) -> None:
        data = array("q", [_value(number, self.rank)]) * one.words
        self._kept.append(data)
        place = COUNTERS + self.rank * self.most
        window.Put([data, MPI.INT64_T], target, place)
        window.Accumulate([array("q", [1]), MPI.INT64_T], target, 0, MPI.SUM)
        if reads:
            window.Flush(target)
            got = array("q", bytes(WORD * one.words))
            window.Get([got, MPI.INT64_T], target, place)
            window.Flush(target)
            assert got == data, f"rank {target} gives back {got[:3]} for {data[:3]}"
        if one.epoch is EpochKind.LOCK and one.is_exclusive:
            count = array("q", [0])
            window.Get([count, MPI.INT64_T], target, 1)
            window.Flush(target)
            count[0] += 1
            window.Put([count, MPI.INT64_T], target, 1)

    def _check(self, number: int) -> None:
        """Compare this memory with the model."""
        ranks = self.made.ranks
        rounds = self.made.rounds[: number + 1]
        counted = sum(len(one.distances) for one in rounds)
        assert self.memory[0] == counted, f"{self.memory[0]} were counted, not {counted}"
        alone = sum(
            len(one.distances) for one in rounds if one.epoch is EpochKind.LOCK and one.is_exclusive
        )
        assert self.memory[1] == alone, f"{self.memory[1]} were counted under locks, not {alone}"
        for rank in range(ranks):
            wanted = array("q", bytes(WORD * self.most))
            for at, one in enumerate(rounds):
                if (self.rank - rank) % ranks in one.distances:
                    wanted[: one.words] = array("q", [_value(at, rank)]) * one.words
            begin = COUNTERS + rank * self.most
            found = self.memory[begin : begin + self.most]
            assert found == wanted, f"in round {number} rank {rank} has left {found[:3]}"

    def _check_any(self) -> None:
        """Look that nobody has put what nobody puts; what the killed put may be there in part."""
        for rank in range(self.made.ranks):
            begin = COUNTERS + rank * self.most
            allowed = {0, *(_value(at, rank) for at in range(len(self.made.rounds)))}
            images = [one.to_bytes(WORD, sys.byteorder) for one in allowed]
            bytes_at = [{one[at] for one in images} for at in range(WORD)]
            for word in set(self.memory[begin : begin + self.most]) - allowed:
                image = word.to_bytes(WORD, sys.byteorder, signed=True)
                is_torn = all(one in bytes_at[at] for at, one in enumerate(image))
                assert is_torn, f"{word} is in the place of rank {rank}"


class WindowWorld(ProgramWorld):
    """A world of programs whose ranks have windows, and whose losses are errors of the living."""

    def program_of(self, scenario: ProgramScenario) -> Callable[[ProgramProcess], None]:
        """Return the program that all ranks run."""
        assert isinstance(scenario, WindowScenario), "it was drawn for this world"
        return lambda process: WindowProgram(scenario, process).run()


def play_windows(scenario: WindowScenario, *, tape: Tape | None = None) -> PlayedProgram:
    """Return what comes of a scenario; the same each time."""
    world = World(scenario.seed, most_events=MOST_EVENTS)
    world.tape = tape or Tape()
    before = place._here, predefined._predefined, counted_output._counted, native_waits._engine
    made = WindowWorld(world, scenario)
    made.settings = replace(made.settings, failures="return")
    try:
        made.run()
        failures = tuple(_audit(made, len(scenario.rounds)))
    finally:
        made.free()
        while making._windows:  # of those that were killed
            MPI.Win.Free(making._windows.popitem()[1])
        place._here, predefined._predefined, counted_output._counted, native_waits._engine = before
    return PlayedProgram(scenario, failures, world.tape, world.now)


def _audit(made: WindowWorld, rounds: int) -> Iterator[str]:
    """Yield what is wrong."""
    if made.stuck:
        yield made.stuck
        return
    for one in made.processes:
        if one.name in made.killed:
            continue
        if one.code:
            yield f"{one.name} fails: {one.why}"
        elif one.is_short and not made.killed:
            yield f"{one.name} has lost somebody, though nobody was killed"
        elif not one.is_short and len(one.results) < rounds:
            yield f"{one.name} ends well after rounds {list(one.results)}"
