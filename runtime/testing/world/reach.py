"""How far it reaches: machines of many clusters and labs of many peers, counted in a world.

    python -m runtime.testing.world.reach --clusters 300 --sites 10 --peers 500

A rank is a stub that counts as one, of which each cluster has as many as are asked for. What is
counted are the messages of the launcher, of front-ends, and of those who lead a barrier, their
bytes, and the seconds that all takes on lines of 5 ms.
"""

from __future__ import annotations

import argparse
import copy
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from gcm.records import dataclass
from runtime.collectives.barrier import barrier
from runtime.collectives.layout import Layout
from runtime.collectives.port import CollectivePort, Pending
from runtime.peers.model import Share
from runtime.testing.world.engine import Actor, ActorBegun, Effect, Event, World
from runtime.testing.world.lab_calls import CONNECT, LabCall
from runtime.testing.world.lab_load import LabScenario
from runtime.testing.world.lab_simulation import LabSimulation
from runtime.testing.world.run_auditors import audit_run
from runtime.testing.world.run_load import RankScript, RunCluster, RunKind, RunScenario
from runtime.testing.world.run_told import ContractCalled
from runtime.testing.world.run_world import RunWorld
from runtime.testing.world.tape import NoTape
from runtime.testing.world.told import LAUNCHER, TellActor
from runtime.transport.messages import NOTE, Target, call_frame

LATENCY = 0.005


@dataclass(frozen=True, slots=True)
class RunReach:
    """What the run of a machine takes: messages and bytes, of each cluster where it says so."""

    clusters: int
    own: float
    """Messages of the launcher itself for each cluster, in and out."""
    own_bytes: float
    between: float
    """Messages between front-ends for each cluster, heartbeats not counted."""
    between_bytes: float
    heartbeats: float
    """Heartbeats that each front-end sends in a second."""
    most: int
    """The most messages of one front-end, in and out, without heartbeats."""
    seconds: float
    """Of the world, from the start to the end of a program of no length."""
    wall: float
    failures: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.clusters} clusters: launcher {self.own:.1f} messages and"
            f" {self.own_bytes:.0f} bytes a cluster; between front-ends {self.between:.1f} and"
            f" {self.between_bytes:.0f} bytes; heartbeats {self.heartbeats:.1f} a second; at most"
            f" {self.most} messages of one; {self.seconds:.2f} s, played in {self.wall:.0f} s"
            + "".join(f"\n  {one}" for one in self.failures)
        )


class _CountedRun(RunWorld):
    """A run whose calls are counted."""

    def __init__(self, world: World, scenario: RunScenario) -> None:
        self.messages: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.of_one: Counter[str] = Counter()
        super().__init__(world, scenario)

    def _tell(self, actor: Actor, effect: TellActor) -> None:
        told = effect.told
        if isinstance(told, ContractCalled):
            is_relayed = LAUNCHER not in (told.by.removeprefix("/"), told.to)
            what = "between" if is_relayed else "own"
            if told.operation == "hear":
                what = "heartbeats"
            passes = is_relayed and actor.name == LAUNCHER  # counted where it was sent
            if not passes:
                self.messages[what] += 1
                target = Target(told.to, told.interface, told.operation)
                self.bytes[what] += call_frame(NOTE, 0, target, (told.args, {})).size
            if what != "heartbeats":
                self.of_one[actor.name] += 1
                self.of_one[effect.to] += 1
        super()._tell(actor, effect)


def count_run(clusters: int, sites: int, ranks: int = 1, *, seed: int = 1) -> RunReach:
    """Let a machine start and end; return what that takes."""
    script = RankScript(0.0)
    scenario = RunScenario(
        seed, RunKind.PLAIN,
        tuple(RunCluster(at * sites // clusters, (script,) * ranks) for at in range(clusters)),
        latency=LATENCY, detector="hierarchical",
    )  # fmt: skip
    begun = time.monotonic()
    world = World(seed, most_events=sys.maxsize)
    world.tape = NoTape()
    made = _CountedRun(world, scenario)
    findings = made.run()
    own, between = made.messages["own"], made.messages["between"]
    front_ends = {name: count for name, count in made.of_one.items() if name.startswith("fe ")}
    seconds = findings.ended_at
    return RunReach(
        clusters, own / clusters, made.bytes["own"] / clusters, between / clusters,
        made.bytes["between"] / clusters, made.messages["heartbeats"] / clusters / seconds,
        max(front_ends.values()), seconds, time.monotonic() - begun,
        tuple(_faults(made, audit_run(findings))),
    )  # fmt: skip


def _faults(made: RunWorld, found: Iterable[str]) -> Iterator[str]:
    yield from found
    if made.launcher.code:
        yield f"it ends with {made.launcher.code}"


# --- a barrier ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BarrierReach:
    """What a barrier of all clusters takes."""

    clusters: int
    messages: float
    """Of each cluster, in and out."""
    most: int
    """Of one that leads a site."""
    seconds: float

    def __str__(self) -> str:
        return (
            f"a barrier of {self.clusters} clusters: {self.messages:.1f} messages a cluster,"
            f" {self.most} at most, {self.seconds * 1000:.0f} ms"
        )


class _Came(Event):
    """An empty message has come."""

    def __init__(self, source: int) -> None:
        self.source = source


@dataclass(slots=True, eq=False)
class _Operation:
    done: bool = False


class _Leader(Actor):
    """The leader of a cluster in a barrier: production's algorithm, whose messages are events."""

    def __init__(self, world: World, layout: Layout) -> None:
        super().__init__(f"leader {layout.me}")
        self.messages = 0
        self.ended_at = 0.0
        self._world, self._me = world, layout.me
        self._came: Counter[int] = Counter()
        self._wanted: dict[int, list[_Operation]] = {}
        self._waits: Sequence[Pending] = ()
        self._steps = barrier(layout, cast(CollectivePort, self))

    def send(self, rank: int, *_: Any) -> Pending:
        """Send a message, which takes the latency of a line."""
        self.messages += 1
        self._world.tell(f"leader {rank}", _Came(self._me), self._world.now + LATENCY)
        return _Operation(True)

    def receive(self, rank: int, _: memoryview) -> Pending:
        """Receive one."""
        self.messages += 1
        made = _Operation(self._came[rank] > 0)
        if made.done:
            self._came[rank] -= 1
        else:
            self._wanted.setdefault(rank, []).append(made)
        return made

    def gather(self, *_: Any) -> Sequence[Pending]:
        """Wait for nobody: ranks are counted."""
        return ()

    def bcast(self, *_: Any) -> Sequence[Pending]:
        """Tell nobody."""
        return ()

    @property
    def is_over(self) -> bool:
        """Whether it has passed the barrier."""
        return self.ended_at > 0

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        """Go on as far as it can."""
        if isinstance(event, _Came):
            wanted = self._wanted.get(event.source)
            if wanted:
                wanted.pop(0).done = True
            else:
                self._came[event.source] += 1
        if isinstance(event, ActorBegun | _Came) and not self.is_over:
            while all(one.done for one in self._waits):
                try:
                    self._waits = next(self._steps)
                except StopIteration:
                    self.ended_at = now
                    break
        return ()


def count_barrier(clusters: int, sites: int) -> BarrierReach:
    """Let a rank of each cluster pass a barrier; return what that takes."""
    world = World(1, most_events=sys.maxsize)
    world.tape = NoTape()
    base = Layout([(at * sites // clusters, at) for at in range(clusters)], 0)
    leaders = []
    for me in range(clusters):
        layout = copy.copy(base)  # of which nothing differs but who looks
        layout.me, layout.mine, layout.position = me, base.parts[me], 0
        leaders.append(_Leader(world, layout))
        world.add(leaders[-1])
    left = iter(leaders)
    waiting = next(left)

    def are_over() -> bool:
        nonlocal waiting
        while waiting.is_over:
            following = next(left, None)
            if following is None:
                return True
            waiting = following
        return False

    assert world.run(are_over, 60.0), "the barrier does not end"
    counts = [one.messages for one in leaders]
    took = max(one.ended_at for one in leaders)
    return BarrierReach(clusters, sum(counts) / clusters, max(counts), took)


# --- a lab ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabReach:
    """What a lab of many peers takes."""

    peers: int
    joined: float | None
    """Seconds until each supernode listed all, None if one never did."""
    calls: float
    """What each supernode is asked in a second, once all have joined."""
    rest: float
    """What each peer asks others in a second."""
    hours: float
    gone: tuple[str, ...]
    """Who was taken for gone, though all lived."""
    wall: float

    def __str__(self) -> str:
        joined = "not all joined" if self.joined is None else f"all joined in {self.joined:.1f} s"
        return (
            f"{self.peers} peers: {joined}; a supernode is asked {self.calls:.1f} times a second,"
            f" a peer asks {self.rest:.2f} times; {len(self.gone)} taken for gone in"
            f" {self.hours:g} h, played in {self.wall:.0f} s"
        )


STALLS_EVERY, STALLED = 300.0, 20.0
"""Seconds between two times at which a tenth of the peers stands still, and for how long."""

_JOINS_WITHIN = 120.0


class _CountedLab(LabSimulation):
    """A lab whose calls are counted: by who asks, and who is asked."""

    def __init__(self, world: World, scenario: LabScenario) -> None:
        self.asked: Counter[str] = Counter()
        self.asks: Counter[str] = Counter()
        super().__init__(world, scenario)

    def _call(self, actor: Actor, effect: LabCall) -> None:
        if effect.operation != CONNECT:
            self.asked[self._at.get(effect.to, "")] += 1
            self.asks[actor.name] += 1
        super()._call(actor, effect)

    def do_all_list(self) -> bool:
        """Tell whether each supernode lists all peers."""
        return all(self.peers.keys() <= one.living for one in self.supernodes.values())


def count_lab(peers: int, *, supernodes: int = 3, hours: float = 1.0, seed: int = 1) -> LabReach:
    """Let peers join a lab, and a tenth of them stand still now and then; return what it takes."""
    begun = time.monotonic()
    shares = (Share(1, 1),) * peers
    scenario = LabScenario(seed, shares, supernodes, (), (), latency=LATENCY, skew=0.0)
    world = World(seed, most_events=sys.maxsize)
    world.tape = NoTape()
    lab = _CountedLab(world, scenario)
    joined: float | None = None
    while joined is None and world.now < _JOINS_WITHIN:
        world.at(world.now + 0.5, _do_nothing)
        world.run(lambda: False, world.now + 0.5)
        joined = world.now if lab.do_all_list() else None
    lab.asked.clear()
    lab.asks.clear()
    since, end = world.now, 3600.0 * hours
    at = world.now + STALLS_EVERY / 5
    while at < end:
        for name in world.rng.sample(sorted(lab.peers), max(1, peers // 10)):
            world.at(at, lambda name=name: world.pause(name, world.now + STALLED))  # type: ignore[misc]
        at += STALLS_EVERY
    world.run(lambda: False, end)
    took = max(end - since, 1.0)
    calls = sum(lab.asked[name] for name in lab.supernodes) / supernodes / took
    rest = sum(lab.asks[name] for name in lab.peers) / peers / took
    gone = {name for one in lab.supernodes.values() for name in one.known_gone()}
    gone |= {name for one in lab.supernodes.values() for name in lab.peers.keys() - one.living}
    wall = time.monotonic() - begun
    return LabReach(peers, joined, calls, rest, hours, tuple(sorted(gone)), wall)


def _do_nothing() -> None:
    """Let time go on until then."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Count what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m runtime.testing.world.reach", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--clusters", type=int, default=0, help="start, barrier and end of so many")
    parser.add_argument("--sites", type=int, default=10, help="in so many sites")
    parser.add_argument("--ranks", type=int, default=1, help="of so many ranks each")
    parser.add_argument("--only-barrier", action="store_true", help="do not start and end them")
    parser.add_argument("--peers", type=int, default=0, help="a lab of so many")
    parser.add_argument("--hours", type=float, default=1.0, help="for so many hours")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    if options.clusters:
        print(count_barrier(options.clusters, options.sites), flush=True)
    if options.clusters and not options.only_barrier:
        print(count_run(options.clusters, options.sites, options.ranks), flush=True)
    if options.peers:
        print(count_lab(options.peers, hours=options.hours), flush=True)
    return 0


__all__ = ["BarrierReach", "LabReach", "RunReach", "count_barrier", "count_lab", "count_run"]

if __name__ == "__main__":
    sys.exit(main())
