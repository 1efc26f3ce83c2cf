"""Plays one scenario: builds its world, lets it run to its end, and has it audited."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from gcm.records import dataclass
from runtime.lifecycle import events as run
from runtime.lifecycle.run_plan import RunPlan
from runtime.rank_name import RankName
from runtime.step_name import StepKind, StepName
from runtime.testing.world.auditors import WorldFindings, audit
from runtime.testing.world.engine import Actor, Effect, Event, World, WorldStuck
from runtime.testing.world.launching import FrontEndActor, LauncherActor
from runtime.testing.world.load import Fault, FaultKind, Pause, ProgramMessage, Scenario
from runtime.testing.world.network import NEVER, Network
from runtime.testing.world.ranks import Deaf, Ended, RankActor, RankStart
from runtime.testing.world.sockets import WorldProcess
from runtime.testing.world.tape import Tape
from runtime.testing.world.told import (
    LAUNCHER,
    FrontEndEnded,
    Killed,
    RankExited,
    RankSaid,
    RunTold,
    Spawned,
    StillnessTold,
    TellActor,
    front_end_of,
)
from runtime.topology import Cluster, Grid, NamedCluster, Node, RankNames, Reachability, Site
from runtime.wire.dialling.directory import Party

SILENCE, RESUME = 8.0, 12.0
"""Seconds, as `runtime.wire` has them."""

BOUND = 90.0
"""Seconds after the last fault in which a world has to end, beside what its program takes."""

_TOLD_AFTER = 2e-3  # seconds for what goes over front-ends and launcher
_SEEN_STOPPED = 1.0  # seconds after which a front-end sees that a rank stands still
_FOUND_LOST = 6.0  # seconds after which the launcher finds that a host has gone


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a scenario."""

    scenario: Scenario
    failures: tuple[str, ...]
    tape: Tape
    seconds: float
    """Of the time of the world."""


def play(scenario: Scenario, *, tape: Tape | None = None) -> Played:
    """Return what comes of a scenario; the same each time."""
    world = World(scenario.seed)
    world.tape = tape or Tape()
    simulation = Simulation(world, scenario)
    findings = simulation.run()
    return Played(scenario, tuple(audit(findings)), world.tape, world.now)


class Simulation:
    """One scenario in its world."""

    def __init__(self, world: World, scenario: Scenario) -> None:
        self.world = world
        self.scenario = scenario
        self.network = Network(world, room=scenario.room, silence=SILENCE)
        self.ranks: list[RankActor] = []
        self.killed: set[str] = set()
        self.struck: list[str] = []
        """What the faults have hit, in their order."""
        self._still: dict[str, float] = {}  # until when a rank stands still that is seen to
        effects: dict[type[Effect], Callable[[Actor, Any], None]] = {
            Ended: self._end,
            Deaf: self._deafen,
            TellActor: self._tell,
            Spawned: self._spawn,
            Killed: self._kill_all,
            FrontEndEnded: self._end_front_end,
        }
        for kind, do in effects.items():
            world.own(kind, do)
        self._build()
        for fault in scenario.faults:
            world.at(fault.at, partial(self._strike, fault))

    def run(self) -> WorldFindings:
        """Let it run to its end; return what there is to be audited."""
        scenario = self.scenario
        limit = scenario.healed_at + scenario.seconds + BOUND
        stuck = ""
        try:
            if not self.world.run(self._is_over, limit):
                stuck = f"it has not ended after {limit:.0f} s:\n{self.world.who_waits()}"
        except WorldStuck as fault:
            stuck = str(fault)
        ended_at = self.world.now
        if not stuck:  # what is on its way arrives
            self.world.run(lambda: False, self.world.now + 4 * SILENCE)
        return WorldFindings(
            scenario, self.launcher, self.ranks, self.network, frozenset(self.killed),
            tuple(self.struck), ended_at, stuck,
        )  # fmt: skip

    def _is_over(self) -> bool:
        gone = self.world.is_gone
        return self.launcher.is_over and all(gone(one.name) for one in self.ranks)

    # --- the machine ------------------------------------------------------------------------------

    def _build(self) -> None:
        scenario = self.scenario
        outwards, direct = Reachability.OUTWARDS, Reachability.DIRECT
        sites = tuple(
            Site(
                f"s{number}",
                (
                    Cluster(
                        f"c{number}",
                        (Node("n", f"h{one.host}", one.ranks),),
                        outwards if one.is_outwards else direct,
                    ),
                ),
            )
            for number, one in enumerate(scenario.clusters)
        )
        grid = Grid(sites)
        parties: list[Party] = []
        for number, one in enumerate(scenario.clusters):
            for position in range(one.ranks):
                name, host = f"{number}:0:{position}", f"h{one.host}"
                addresses = (f"unix:/{host}/{name}", f"{host}:{4000 + len(parties)}")
                parties.append(
                    Party(name, host, host, addresses, incarnation=1, cluster=f"c{number}")
                )
        self.network.places = {way: one.host for one in parties for way in one.addresses}
        hosts = sorted({one.host for one in parties})
        for source in hosts:
            for target in hosts:
                line = self.network.line(source, target)
                line.latency, line.rate = scenario.latency, scenario.rate
        steps = list(enumerate(scenario.program))
        for index, party in enumerate(parties):
            rng = random.Random(f"{scenario.seed} {party.name}")
            process = WorldProcess(party.name, party.host, self.network, rng)
            place = RankStart(index, tuple(parties), grid, SILENCE, RESUME)
            mine = [each for each in steps if _is_of(each[1], index)]
            rank = RankActor(process, place, mine)
            self.ranks.append(rank)
        self._build_run()

    def _build_run(self) -> None:
        clusters = {f"{number}:0": one for number, one in enumerate(self.scenario.clusters)}
        ranks = {
            f"{number}:0": tuple(RankName(number, 0, rank) for rank in range(one.ranks))
            for number, one in enumerate(self.scenario.clusters)
        }
        front_ends = {name: StepName(StepKind.FRONT_END, name) for name in clusters}
        of_ranks = {name: StepName(StepKind.RANKS, name) for name in clusters}
        handshake, start = StepName(StepKind.HANDSHAKE, "grid"), StepName(StepKind.START)
        steps: dict[StepName, frozenset[StepName]] = dict.fromkeys(front_ends.values(), frozenset())
        steps |= {of_ranks[name]: frozenset({front_ends[name]}) for name in clusters}
        steps |= {handshake: frozenset(of_ranks.values()), start: frozenset({handshake})}
        first = itertools.accumulate((len(one) for one in ranks.values()), initial=0)
        named = {
            name: NamedCluster(f"s{name[0]}/c{name[0]}", at)
            for name, at in zip(clusters, first, strict=False)
        }
        plan = RunPlan(
            steps=steps,
            start=start,
            places={step: name for name, step in front_ends.items()},
            ranks=ranks,
            paths={step: f"/grid/{step.about}" for step in steps},
            rank_paths={rank: f"/grid/{rank}" for each in ranks.values() for rank in each},
            names=RankNames(named),
        )
        self.launcher = LauncherActor(plan)
        self.front_ends: dict[str, FrontEndActor] = {}
        for name in clusters:
            ups = {
                "front-end": run.StepUp(front_ends[name]),
                "ranks": run.StepUp(of_ranks[name]),
            }
            made = self.front_ends[name] = FrontEndActor(
                name, ups, [str(one) for one in ranks[name]]
            )
            self.world.add(made)
        self.world.add(self.launcher)

    # --- effects ----------------------------------------------------------------------------------

    def _end(self, actor: Actor, effect: Ended) -> None:
        words = f"ends with code {effect.code}" + (f": {effect.why}" if effect.why else "")
        self._note(actor.name, words.splitlines()[0])
        self.network.end_process(actor.name)
        self.world.remove(actor.name)
        self._tell_parent(RankExited(actor.name, self.world.now, effect.code))

    def _tell_parent(self, told: Event) -> None:
        """Let a front-end hear of an end: what comes by several ways comes in any order."""
        assert isinstance(told, RankExited | RankSaid)
        front_end = front_end_of(RankName.parse(told.rank).cluster)
        after = self.world.rng.choice((1e-4, 3e-3, 0.05))
        self.world.tell(front_end, told, self.world.now + after)

    def _spawn(self, _: Actor, effect: Spawned) -> None:
        for rank in self.ranks:
            if RankName.parse(rank.name).cluster == effect.cluster:
                rank.peers  # noqa: B018 - it listens before it tells where
                self.world.add(rank, self.world.now + self.world.rng.uniform(0, 0.3))

    def _kill_all(self, _: Actor, effect: Killed) -> None:
        """End processes; with a front-end all of its ranks end."""
        for name in effect.names:
            cluster = name.removeprefix("fe ")
            if cluster in self.front_ends:
                self.world.remove(name)
                for rank in self.ranks:
                    if RankName.parse(rank.name).cluster == cluster:
                        self._kill_rank(rank, is_told=False)
            else:
                rank = next(one for one in self.ranks if one.name == name)
                self._kill_rank(rank)

    def _kill_rank(self, rank: RankActor, *, is_told: bool = True) -> None:
        if self.world.is_gone(rank.name):
            return
        self.killed.add(rank.name)
        self._note(rank.name, "is killed")
        self.world.remove(rank.name)
        self.network.end_process(rank.name)
        if is_told:
            self._tell_parent(RankExited(rank.name, self.world.now, 0, 9))
            self._tell_parent(RankSaid(rank.name, "left"))

    def _end_front_end(self, actor: Actor, _: FrontEndEnded) -> None:
        self._note(actor.name, "ends")
        self.world.remove(actor.name)

    def _note(self, who: str, what: str, to: str = "") -> None:
        self.world.tape.note(self.world.now, who, what, to)

    def _deafen(self, actor: Actor, effect: Deaf) -> None:
        self.world.pause(actor.name, self.world.now + effect.seconds)

    def _tell(self, actor: Actor, effect: TellActor) -> None:
        """Carry something over the front-ends: it takes a while, and nothing overtakes."""
        self._note(actor.name, _words(effect.told), effect.to)
        self.world.tell(effect.to, effect.told, self.world.now + _TOLD_AFTER)

    # --- faults -----------------------------------------------------------------------------------

    def _strike(self, fault: Fault) -> None:
        what: dict[FaultKind, Callable[[Fault], str]] = {
            FaultKind.RESET: self._reset,
            FaultKind.SWALLOW: self._reset,
            FaultKind.CUT: self._cut,
            FaultKind.CUT_ONE_WAY: self._cut,
            FaultKind.PAUSE: self._pause,
            FaultKind.KILL: self._kill,
            FaultKind.HOST_DOWN: self._down,
            FaultKind.CTRL_C: self._interrupt,
        }
        words = what[fault.kind](fault)
        if words:
            self.world.tape.note(self.world.now, "faults", words)

    def _reset(self, fault: Fault) -> str:
        there = self.network.open_of()
        if not there:
            return ""
        one = there[fault.target % len(there)]
        (self.network.reset if fault.kind is FaultKind.RESET else self.network.swallow)(one)
        return f"{fault.kind}: a connection of {one.ends[0].owner} and {one.ends[1].owner}"

    def _cut(self, fault: Fault) -> str:
        hosts = sorted({one.process.host for one in self.ranks})
        if len(hosts) < 2:
            return ""
        source = hosts[fault.target % len(hosts)]
        others = [one for one in hosts if one != source]
        target = others[fault.other % len(others)]
        until = self.world.now + fault.seconds
        self.network.cut(source, target, until)
        if fault.kind is FaultKind.CUT:
            self.network.cut(target, source, until)
        return f"{fault.kind}: {source} to {target} for {fault.seconds:g} s"

    def _victim(self, fault: Fault) -> RankActor | None:
        there = [one for one in self.ranks if not self.world.is_gone(one.name)]
        return there[fault.target % len(there)] if there else None

    def _pause(self, fault: Fault) -> str:
        rank = self._victim(fault)
        if rank is None:
            return ""
        now, until = self.world.now, self.world.now + fault.seconds
        self.world.pause(rank.name, until)
        if fault.seconds > _SEEN_STOPPED:
            front_end = front_end_of(RankName.parse(rank.name).cluster)
            self.world.tell(front_end, StillnessTold(rank.name, False), now + _SEEN_STOPPED)
            self._still[rank.name] = max(until, self._still.get(rank.name, 0.0))
            self.world.at(until, partial(self._goes_on, rank.name, front_end, until))
        return f"stops {rank.name} for {fault.seconds:g} s"

    def _goes_on(self, rank: str, front_end: str, until: float) -> None:
        """Let a front-end see that a rank goes on, unless another fault stops it for longer."""
        if self._still[rank] == until:
            self.world.tell(front_end, StillnessTold(rank, True), until)

    def _kill(self, fault: Fault) -> str:
        rank = self._victim(fault)
        if rank is None:
            return ""
        if rank.is_running and not self.launcher.state.run.life.is_settling:
            self.struck.append(rank.name)
        self._kill_rank(rank)
        return f"kills {rank.name}"

    def _down(self, fault: Fault) -> str:
        """Let a host go, with the front-ends there; the launcher finds that out later."""
        rank = self._victim(fault)
        if rank is None:
            return ""
        host = rank.process.host
        self.network.down(host)
        there = [one for one in self.ranks if one.process.host == host]
        for one in there:
            if not self.world.is_gone(one.name):
                self.killed.add(one.name)
                self.world.remove(one.name)
        for cluster in dict.fromkeys(RankName.parse(one.name).cluster for one in there):
            self.world.remove(front_end_of(cluster))
            lost = RunTold(run.PlaceLost(cluster, f"nothing is heard of {host}"))
            self.world.tell(LAUNCHER, lost, self.world.now + _FOUND_LOST)
        return f"{host} loses its power"

    def _interrupt(self, _: Fault) -> str:
        self.world.tell(LAUNCHER, RunTold(run.Interrupt()))
        return "presses Ctrl-C"


def _words(told: Event) -> str:
    """Return how the tape says what is told."""
    if isinstance(told, RunTold):
        return f"tells {type(told.what).__name__}"
    return " ".join(str(told).replace("'", "").split())[:90]


def _is_of(step: ProgramMessage | Pause, index: int) -> bool:
    """Tell whether a rank has a part in a step."""
    if isinstance(step, Pause):
        return step.rank == index
    return step.source == index or (step.target == index and not step.is_notice)


__all__ = ["BOUND", "NEVER", "Played", "Simulation", "play"]
