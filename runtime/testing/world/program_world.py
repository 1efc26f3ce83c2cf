"""Plays a scenario of programs: builds its world, lets it run to its end, and has it audited."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from gcm.records import dataclass
from runtime.lifecycle.replacements import (
    EndRank,
    ReplacementEffect,
    Replacements,
    StartAgain,
    TellMoved,
)
from runtime.machine.contracts import CONTRACTS, Control
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.machine.rank_settings import RankSettings
from runtime.machine.table import Report, encoded
from runtime.membership.whereabouts import RankArrival, report
from runtime.mpi.collectives.single_copies import may_read_each_other
from runtime.mpi.process import counted_output, place
from runtime.mpi.progress import native_waits, predefined
from runtime.rank_name import RankName
from runtime.testing.world.engine import Actor, Effect, Event, World, WorldStuck
from runtime.testing.world.network import Network
from runtime.testing.world.program_auditors import ProgramFindings, audit_program
from runtime.testing.world.program_load import (
    Death,
    LineFault,
    LineFaultKind,
    ProgramScenario,
    SurvivalKind,
)
from runtime.testing.world.program_process import (
    KEEPER,
    SILENCE,
    VIEWS,
    MemberEnded,
    MemberReady,
    MemberSaid,
    ProcessOver,
    ProgramCalled,
    ProgramProcess,
)
from runtime.testing.world.programs import program_of
from runtime.testing.world.sockets import WorldProcess
from runtime.testing.world.tape import Tape
from runtime.testing.world.told import TellActor
from runtime.topology import Cluster, Grid, Node, Site
from runtime.transport.keys import member_name

BOUND = 120.0
"""Seconds after the last death, and what the program takes, in which all have to end."""

CONTROL = CONTRACTS[Control]

_RELEASED = 0.06
"""When the programs of all begin, once all are there."""

MOST_EVENTS = 400_000


@dataclass(frozen=True, slots=True)
class PlayedProgram:
    """What came of a scenario."""

    scenario: ProgramScenario
    failures: tuple[str, ...]
    tape: Tape
    seconds: float
    """Of the time of the world."""


def play_program(scenario: ProgramScenario, *, tape: Tape | None = None) -> PlayedProgram:
    """Return what comes of a scenario; the same each time."""
    world = World(scenario.seed, most_events=MOST_EVENTS)
    world.tape = tape or Tape()
    before = place._here, predefined._predefined, counted_output._counted, native_waits._engine
    may_read_each_other()  # it is cached: no actor asks the machine
    made = ProgramWorld(world, scenario)
    try:
        made.run()
        failures = tuple(audit_program(made.findings))
    finally:
        made.free()
        place._here, predefined._predefined, counted_output._counted, native_waits._engine = before
    return PlayedProgram(scenario, failures, world.tape, world.now)


OTHERS = 3
"""Ranks of other codes of the run: the launcher numbers those of all, a rank those of its own."""


class RanksKeeper(Actor):
    """The launcher as far as ranks need it: tells of ends, and has others started in their places.

    Who has which rank is production's to decide.
    """

    def __init__(self, made: ProgramWorld) -> None:
        super().__init__(KEEPER)
        self._made = made
        self.deaths: dict[str, RankDeath] = {}
        self._asked: list[tuple[str, str]] = []
        self._replacements = Replacements(made.grid.size + OTHERS)

    def handle(self, event: Event, now: float) -> list[Effect]:  # noqa: ARG002 - as actors do
        """Let something happen to it."""
        match event:
            case MemberEnded(member, end):
                known = self.deaths.get(member)
                if known is None or (end.by is Witness.PARENT and not known.code):
                    self._ended(member, end, is_known=known is not None)
            case MemberReady(member, arrival):
                self._do(self._replacements.ready(RankName.parse(member), arrival))
            case MemberSaid(_, "replace", (_, names)):
                self._do(self._replacements.wanted(map(RankName.parse, names)))
            case MemberSaid(by, "awaits_end", (_, member)):
                self._asked.append((by, member))
                if member in self.deaths:
                    self._answer(self.deaths[member], [by])
            case _:
                pass
        return []

    def _ended(self, member: str, end: Observation, *, is_known: bool) -> None:
        rank = RankName.parse(member)
        death = self.deaths[member] = RankDeath(rank, end, supersedes=is_known)
        effects: list[ReplacementEffect] = []
        if not is_known and rank.incarnation == self._replacements.incarnation(rank):
            effects = self._replacements.ended(rank)
        self._do([one for one in effects if isinstance(one, TellMoved)])  # as production does
        if death.code or self._made.settings.goes_on:
            self._made.tell_all("lost", [death.plain])
        else:  # nobody needs to know but who has asked
            self._answer(death, [by for by, one in self._asked if one == member])
        self._do([one for one in effects if not isinstance(one, TellMoved)])

    def _answer(self, death: RankDeath, askers: list[str]) -> None:
        for by in askers:
            told_to = str(RankName.parse(by).place)
            self._made.tell_all("lost", [{**death.plain, "told_to": told_to}])

    def _do(self, effects: list[ReplacementEffect]) -> None:
        for effect in effects:
            match effect:
                case StartAgain(rank):
                    self._made.start_again(rank)
                case EndRank(rank):
                    self._made.kill_newest(str(rank))
                case TellMoved(report):
                    self._made.moved(report)


class ProgramWorld:
    """One scenario in its world."""

    def __init__(self, world: World, scenario: ProgramScenario) -> None:
        self.world, self.scenario = world, scenario
        self.network = Network(world, room=256 << 10, silence=SILENCE)
        self.processes: list[ProgramProcess] = []
        self.killed: set[str] = set()
        self.stuck = ""
        self._arrives: dict[str, float] = {}
        self._starting = 0
        effects: dict[type[Effect], Callable[[Actor, Any], None]] = {
            ProcessOver: self._end,
            TellActor: self._tell,
        }
        for kind, do in effects.items():
            world.own(kind, do)
        clusters = scenario.replicas if scenario.replicas > 1 else scenario.ranks
        size = scenario.ranks if scenario.replicas > 1 else 1
        self.grid = Grid(tuple(
            Site(f"s{one}", (Cluster(f"c{one}", (Node("n", f"h{one}", size),)),))
            for one in range(clusters)
        ))  # fmt: skip
        self.table = [
            {**report(str(one), self._arrival(str(one), 1)), "tags": 32767}
            for one in self.grid.identifiers()
        ]
        self.settings = RankSettings(
            grid=pickle.dumps(self.grid),
            failures="abort" if scenario.kind is SurvivalKind.PLAIN else "return",
            recovery="rebuild" if scenario.kind is SurvivalKind.SURVIVES else "",
            replicas=scenario.replicas,
            restart=scenario.kind is SurvivalKind.RESTARTS,
        )
        self.network.places = {}
        self.keeper = RanksKeeper(self)
        world.add(self.keeper)
        for one in self.grid.identifiers():
            self._begin(str(one), 1, world.rng.uniform(0.0, 0.05))
        for death in scenario.deaths:
            world.at(death.at, partial(self._strike, death))
        for cut in scenario.cuts:
            world.at(cut.at, partial(self._cut, cut))

    def run(self) -> None:
        """Let it run to its end."""
        scenario = self.scenario
        slow = scenario.slow_start if scenario.kind is not SurvivalKind.PLAIN else 0.0
        limit = scenario.healed_at + 4 * scenario.seconds + slow * 4 + BOUND
        try:
            if not self.world.run(self._is_over, limit):
                self.stuck = f"it has not ended after {limit:.0f} s:\n{self.world.who_waits()}"
        except WorldStuck as fault:
            self.stuck = str(fault)

    @property
    def findings(self) -> ProgramFindings:
        """What there is to be audited."""
        scenario, processes = self.scenario, tuple(self.processes)
        ranks = {
            one.name: self.rank_of(one) if scenario.replicas > 1 else one.link.rank_name.site
            for one in processes
        }
        return ProgramFindings(scenario, processes, ranks, frozenset(self.killed), self.stuck)

    def program_of(self, scenario: ProgramScenario) -> Callable[[ProgramProcess], None]:
        """Return the program that all ranks run."""
        made: Callable[[ProgramProcess], None] = program_of(scenario)
        return made

    def free(self) -> None:
        """Leave nothing behind."""
        for one in self.processes:
            one.free()

    def _is_over(self) -> bool:
        return self._starting == 0 and all(self.world.is_gone(one.name) for one in self.processes)

    # --- processes --------------------------------------------------------------------------------

    def _arrival(self, name: str, incarnation: int) -> RankArrival:
        rank = RankName.parse(name)
        host = f"h{rank.site}"
        doors = host, (f"{host}:{4000 + 100 * incarnation + rank.rank}",)
        return RankArrival(host, 1, doors=doors, incarnation=incarnation)

    def _begin(self, name: str, incarnation: int, after: float) -> None:
        scenario, member = self.scenario, member_name(name, incarnation)
        arrival = self._arrival(name, incarnation)
        host, addresses = arrival.host, arrival.doors[1]
        rng = random.Random(f"{scenario.seed} {member}")
        system = WorldProcess(member, host, self.network, rng)
        for address in addresses:
            self.network.places[address] = host
        for other in {f"h{one}" for one in range(len(self.grid.sites))}:
            for line in (self.network.line(host, other), self.network.line(other, host)):
                line.latency, line.rate = scenario.latency, scenario.rate
        slow = scenario.slowness if RankName.parse(name).site == scenario.slow_site else 1.0
        program = self.program_of(scenario)
        made = ProgramProcess(
            system, self.settings, program, self.encoded, addresses, slowness=slow
        )
        made.link.wrapper.lost([death.plain for death in self.keeper.deaths.values()])
        self.processes.append(made)
        self.world.add(made, self.world.now + after)
        released = _RELEASED if incarnation == 1 else self.world.now
        released += self.world.rng.uniform(1e-3, 0.01)
        self.world.tell(made.name, ProgramCalled(CONTROL, "go", ()), released)

    @property
    def encoded(self) -> bytes:
        """Who is where."""
        return encoded(self.table)

    def start_again(self, rank: RankName) -> None:
        """Have another process of a rank started, in the incarnation that its name has."""
        self._starting += 1
        after = self.world.rng.uniform(0.01, self.scenario.starts + 0.01)
        self.world.at(self.world.now + after, partial(self._has_started, rank))

    def _has_started(self, rank: RankName) -> None:
        self._starting -= 1
        name, incarnation = str(rank.place), rank.incarnation
        member = member_name(name, incarnation)
        fails = self.world.rng.random() < self.scenario.fails_to_start
        self._note(member, "is started" + (", in vain" if fails else ""))
        if fails:
            ended = MemberEnded(member, Observation(Witness.PARENT, 1))
            self.world.tell(KEEPER, ended, self.world.now + 1e-3)
        else:
            arrival = self._arrival(name, incarnation)
            self.world.tell(KEEPER, MemberReady(member, arrival), self.world.now + 1e-3)

    def moved(self, where: Report) -> None:
        """Tell all who has taken the place of whom; who has begun goes on."""
        self.table.append(where)
        if where["host"]:
            self._begin(where["rank"], where["incarnation"], 0.0)
        self.tell_all("view", self.encoded)

    def kill_newest(self, name: str) -> None:
        """End the process that has a rank now, since others cannot reach it."""
        for one in self.processes[::-1]:
            if one.link.name == name and not self.world.is_gone(one.name):
                self._kill(one)
                return

    def tell_all(self, operation: str, what: Any) -> None:
        """Tell all living processes something in a while; nothing overtakes."""
        for one in self.processes:
            if not self.world.is_gone(one.name):
                took = self.world.rng.uniform(1e-3, self.scenario.told)
                at = max(self.world.now + took, self._arrives.get(one.name, 0.0))
                self._arrives[one.name] = at
                self.world.tell(one.name, ProgramCalled(VIEWS, operation, (what,)), at)

    def _tell(self, actor: Actor, effect: TellActor) -> None:
        self._note(actor.name, " ".join(str(effect.told).split())[:90], effect.to)
        took = self.world.rng.uniform(1e-3, self.scenario.told)
        self.world.tell(effect.to, effect.told, self.world.now + took)

    def _end(self, actor: Actor, effect: ProcessOver) -> None:
        self._note(actor.name, f"ends with {effect.code} {effect.why}"[:100])
        self.network.end_process(actor.name)
        self.world.remove(actor.name)

    def _note(self, who: str, what: str, to: str = "") -> None:
        self.world.tape.note(self.world.now, who, what, to)

    # --- deaths -----------------------------------------------------------------------------------

    def _strike(self, death: Death) -> None:
        there = [one for one in self.processes if not self.world.is_gone(one.name)]
        if not there:
            return
        one = there[-1] if death.is_newest else there[death.target % len(there)]
        if not self._may_go(one, there):
            return
        self._kill(one)

    def _cut(self, cut: LineFault) -> None:
        source, target = f"h{cut.source}", f"h{cut.target}"
        self._note("lines", f"{cut.kind} {source} to {target} for {cut.seconds:g} s")
        until = self.world.now + cut.seconds
        match cut.kind:
            case LineFaultKind.CUT:
                self.network.cut(source, target, until)
                self.network.cut(target, source, until)
            case LineFaultKind.CUT_ONE_WAY:
                self.network.cut(source, target, until)
            case LineFaultKind.RESET | LineFaultKind.SWALLOW:
                for one in self.network.open_of():
                    if {each.host for each in one.ends} == {source, target}:
                        is_told = cut.kind is LineFaultKind.RESET
                        (self.network.reset if is_told else self.network.swallow)(one)

    def _kill(self, one: ProgramProcess) -> None:
        self._note(one.name, "is killed")
        self.killed.add(one.name)
        self.world.remove(one.name)
        self.network.end_process(one.name)
        end = MemberEnded(one.name, Observation(Witness.PARENT, 137, 9))
        took = self.world.rng.uniform(1e-3, self.scenario.told)
        self.world.tell(KEEPER, end, self.world.now + took)

    def _may_go(self, one: ProgramProcess, there: list[ProgramProcess]) -> bool:
        """Tell whether the program goes on without a process: each rank needs a replica."""
        if self.scenario.replicas == 1:
            return True
        place = self.rank_of(one)
        others = [
            each for each in self.processes if each is not one and self.rank_of(each) == place
        ]
        return any(each.has_joined and (each in there or each.code == 0) for each in others)

    def rank_of(self, one: ProgramProcess) -> int:
        """Return which rank a process is."""
        return one.place.index_of(one.place.me)


__all__ = ["PlayedProgram", "play_program"]
