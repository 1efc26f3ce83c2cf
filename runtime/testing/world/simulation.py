"""Plays one scenario: builds its world, lets it run to its end, and has it audited."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from gcm.records import dataclass
from runtime.testing.world.auditors import WorldFindings, audit
from runtime.testing.world.engine import Actor, Effect, World, WorldStuck
from runtime.testing.world.load import Fault, FaultKind, Pause, ProgramMessage, Scenario
from runtime.testing.world.network import NEVER, Network
from runtime.testing.world.ranks import Deaf, Ended, RankActor, RankStart, TellActor
from runtime.testing.world.sockets import WorldProcess
from runtime.testing.world.tape import Tape
from runtime.topology import Cluster, Grid, Node, Reachability, Site
from runtime.wire.dialling.directory import Party

SILENCE, RESUME = 8.0, 12.0
"""Seconds, as `runtime.wire` has them."""

BOUND = 90.0
"""Seconds after the last fault in which a world has to end, beside what its program takes."""

_TOLD_AFTER = 2e-3  # seconds for what goes over front-ends and launcher


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a scenario."""

    scenario: Scenario
    failures: tuple[str, ...]
    tape: Tape
    seconds: float
    """Of the time of the world."""


def play(scenario: Scenario, *, keeps_tape: bool = False) -> Played:
    """Return what comes of a scenario; the same each time."""
    world = World(scenario.seed)
    world.tape.is_kept = keeps_tape
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
        for kind, do in ((Ended, self._end), (Deaf, self._deafen), (TellActor, self._tell)):
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
        if not stuck:  # what is on its way arrives
            self.world.run(lambda: False, self.world.now + 4 * SILENCE)
        return WorldFindings(scenario, self.ranks, self.network, frozenset(self.killed), stuck)

    def _is_over(self) -> bool:
        return all(one.is_over or one.name in self.killed for one in self.ranks)

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
                parties.append(Party(name, host, host, addresses, cluster=f"c{number}"))
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
        for rank in self.ranks:
            rank.peers  # noqa: B018 - all listen before the application begins
            self.world.add(rank)

    # --- effects ----------------------------------------------------------------------------------

    def _end(self, actor: Actor, effect: Effect) -> None:
        assert isinstance(effect, Ended)
        words = f"ends with code {effect.code}" + (f": {effect.why}" if effect.why else "")
        self.world.tape.note(self.world.now, actor.name, words.splitlines()[0])
        self.network.end_process(actor.name)
        self.world.remove(actor.name)

    def _deafen(self, actor: Actor, effect: Effect) -> None:
        assert isinstance(effect, Deaf)
        self.world.pause(actor.name, self.world.now + effect.seconds)

    def _tell(self, actor: Actor, effect: Effect) -> None:
        assert isinstance(effect, TellActor)
        self.world.tape.note(self.world.now, actor.name, "asks it to come", effect.to)
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
        self.world.pause(rank.name, self.world.now + fault.seconds)
        return f"stops {rank.name} for {fault.seconds:g} s"

    def _kill(self, fault: Fault) -> str:
        rank = self._victim(fault)
        if rank is None:
            return ""
        self._end_of(rank)
        self.network.end_process(rank.name)
        return f"kills {rank.name}"

    def _down(self, fault: Fault) -> str:
        rank = self._victim(fault)
        if rank is None:
            return ""
        self.network.down(rank.process.host)
        for one in self.ranks:
            if one.process.host == rank.process.host:
                self._end_of(one)
        return f"{rank.process.host} loses its power"

    def _end_of(self, rank: RankActor) -> None:
        if not rank.is_over:
            self.killed.add(rank.name)
            self.world.remove(rank.name)


def _is_of(step: ProgramMessage | Pause, index: int) -> bool:
    return step.rank == index if isinstance(step, Pause) else index in (step.source, step.target)


__all__ = ["BOUND", "NEVER", "Played", "Simulation", "play"]
