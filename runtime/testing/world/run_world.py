"""Plays the scenario of a whole run: builds its world, lets it run to its end, has it audited."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, cast

from gcm.documents import Diagnostics
from gcm.records import dataclass
from runtime.deployment.context import DescriptorContext
from runtime.deployment.planning.opening import levels_at
from runtime.deployment.planning.plan import DeploymentPlan, make_plan
from runtime.deployment.reading.reader import read_descriptor
from runtime.machine.rank_settings import RankSettings
from runtime.processes.configuration import FrontEndSettings
from runtime.processes.front_end.job_ends import IN_TIME
from runtime.processes.watch import watch_of
from runtime.rank_name import RankName
from runtime.step_name import StepKind, StepName
from runtime.testing.world.engine import Actor, Effect, World, WorldStuck
from runtime.testing.world.run_auditors import RunFindings, audit_run
from runtime.testing.world.run_front_end import RunFrontEnd, pid_of
from runtime.testing.world.run_jobs import WorldQueue
from runtime.testing.world.run_launcher import STALL, RunLauncher
from runtime.testing.world.run_load import (
    RankScript,
    RunCluster,
    RunFault,
    RunFaultKind,
    RunKind,
    RunScenario,
)
from runtime.testing.world.run_ranks import ScriptedRank
from runtime.testing.world.run_told import (
    CtrlCPressed,
    DoubtFelt,
    FrontEndGone,
    KillFrontEnd,
    KillRanks,
    LossSeen,
    OpenFrontEnd,
    PlacePrepared,
    ProcessEnded,
    RankGone,
    RankHungUp,
    RankVanished,
    SpawnRank,
)
from runtime.testing.world.tape import Tape
from runtime.testing.world.told import LAUNCHER, TellActor, front_end_of
from runtime.transport.keys import member_name
from runtime.transport.lean import HOST_SILENCE

BOUND = 60.0
"""Seconds after the last fault, and what the program takes, in which a run has to end."""

MOST_EVENTS = 100_000
"""How much may happen in a run; it is some hundred for each second and cluster."""

_MPIEXEC_NOTICES = 1.0
_ON_HOST = 1e-4
_STARTS = 0.01, 0.5
"""Within which time a front-end is there once its process was started."""
_GIVES_UP = 1e-3, 0.1
"""Within which time the thread that waits in a queue sees that it waits for nothing."""
_GIVEN_UP = "the run ended before the front-end was started"


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """What came of a scenario."""

    scenario: RunScenario
    failures: tuple[str, ...]
    tape: Tape
    seconds: float
    """Of the time of the world."""


def play_run(scenario: RunScenario, *, tape: Tape | None = None) -> PlayedRun:
    """Return what comes of a scenario; the same each time."""
    world = World(scenario.seed, most_events=MOST_EVENTS)
    world.tape = tape or Tape()
    findings = RunWorld(world, scenario).run()
    return PlayedRun(scenario, tuple(audit_run(findings)), world.tape, world.now)


def plan_of(scenario: RunScenario) -> DeploymentPlan:
    """Return the plan of the machine of a scenario, as production makes it of a descriptor."""
    return _plan_of(descriptor_of(scenario))


@lru_cache(256)
def _plan_of(descriptor: str) -> DeploymentPlan:
    diagnostics = Diagnostics()
    deployment = read_descriptor(
        descriptor.encode(),
        surroundings=DescriptorContext("/home"),
        diagnostics=diagnostics,
        name="world",
    )
    assert deployment is not None, [str(one) for one in diagnostics.errors]
    return make_plan(deployment)


def descriptor_of(scenario: RunScenario) -> str:
    """Return the descriptor of the machine of a scenario."""
    kinds = {
        RunKind.PLAIN: "",
        RunKind.SURVIVES: ' recovery="rebuild"',
        RunKind.REPLICAS: ' replicas="2"',
    }
    late = [one for one in scenario.clusters if one.granted_at is not None]
    start = f' start="1 of {len(late)}"' if len(late) > 1 else ""
    sites: dict[int, list[str]] = {}
    for number, one in enumerate(scenario.clusters):
        sites.setdefault(one.site, []).append(_cluster(number, one))
    protocol = f' protocol="{scenario.detector}"' if scenario.detector else ""
    collects = '<file-transfer direction="out" source="out"/>' if scenario.collects else ""
    return (
        f'<deployment name="world"{start}>'
        f'<application script="program.py"{kinds[scenario.kind]}/>{collects}'
        f'<failure-detector{protocol} timeout="3s"/><grid>'
        + "".join(f"<site>{''.join(one)}</site>" for one in sites.values())
        + "</grid></deployment>"
    )


def _cluster(number: int, one: RunCluster) -> str:
    ranks = len(one.scripts)
    batch = ""
    if one.granted_at is not None:
        again = f' again="{one.again}"' if one.again else ""
        batch = f'<batch system="slurm" tasks-per-node="{ranks}"{again}/>'
    nodes = ""
    if one.hosts and not batch:
        hosts = ",".join(f"c{number}h{at}" for at in range(one.hosts))
        nodes = f'<nodes hosts="{hosts}"/>'
        if one.spares:
            spares = ",".join(f"c{number}s{at}" for at in range(one.spares))
            nodes += f'<nodes hosts="{spares}" spare="yes"/>'
    ranked = f'<mpi ranks="{ranks}"/>'
    return f'<cluster><ssh host="c{number}"/>{batch}{ranked}{nodes}</cluster>'


class RunWorld:
    """One scenario in its world."""

    def __init__(self, world: World, scenario: RunScenario) -> None:
        self.world = world
        self.scenario = scenario
        self.plan = plan_of(scenario)
        self._names = self.plan.deployment.rank_names()
        self.clusters = {
            one.identifier: cluster
            for one, cluster in zip(
                self.plan.deployment.clusters(), _in_order(scenario), strict=True
            )
        }
        self.ranks: list[ScriptedRank] = []
        self._of_cluster: dict[str, list[ScriptedRank]] = defaultdict(list)
        self.front_ends: dict[str, RunFrontEnd] = {}
        self.killed: list[str] = []
        """The processes that faults have killed while their programs ran, in order."""
        self.struck: list[tuple[float, str, str]] = []
        """What faults have done to front-ends and hosts: when, what, to whom."""
        self.lost_hosts: set[str] = set()
        self.gone: set[str] = set()
        self._condemned: set[str] = set()
        """The processes that were ended since others could not reach them, or they others."""
        self._arrives: dict[tuple[str, str], float] = {}
        self.opening: set[str] = set()
        """The places that wait in a queue, or whose front-ends are being started."""
        self.queue = WorldQueue(self)
        effects: dict[type[Effect], Callable[[Actor, Any], None]] = {
            TellActor: self._tell,
            SpawnRank: self._spawn,
            KillRanks: self._kill_ranks,
            OpenFrontEnd: self._open,
            KillFrontEnd: self._end_front_end_of_job,
            ProcessEnded: self._end,
        }
        for kind, do in effects.items():
            world.own(kind, do)
        self.launcher = RunLauncher(world, self.plan, scenario, self._is_whole)
        for fault in scenario.faults:
            if fault.kind is RunFaultKind.STALL:
                names = sorted(self.clusters)
                chosen = names[fault.target % len(names)]
                self.launcher.results.stalls[chosen] = int(fault.seconds)
            else:
                world.at(fault.at, partial(self._strike, fault))
        world.add(self.launcher)

    def run(self) -> RunFindings:
        """Let it run to its end; return what there is to be audited."""
        scenario = self.scenario
        longest = max(one.seconds for one in scenario.scripts)
        reading = scenario.output / scenario.reader
        late = max((one.granted_at or 0.0 for one in scenario.clusters), default=0.0)
        stalls = sum(one.seconds for one in scenario.faults if one.kind is RunFaultKind.STALL)
        limit = scenario.healed_at + longest + reading + late + stalls * (STALL + 1) + BOUND
        stuck = ""
        try:
            if not self.world.run(lambda: self.launcher.is_over, limit):
                stuck = f"it has not ended after {limit:.0f} s:\n{self.world.who_waits()}"
        except WorldStuck as fault:
            stuck = str(fault)
        ended_at = self.world.now
        left = [one.name for one in self.ranks if not one.is_over and one.name not in self.gone]
        left += [one.name for one in self.front_ends.values() if one.name not in self.gone]
        return RunFindings(
            scenario, self.launcher, self.ranks, tuple(self.killed), tuple(self.struck),
            frozenset(self.lost_hosts), tuple(left), self.clusters, ended_at, stuck,
            self.queue.findings(),
        )  # fmt: skip

    def _is_whole(self, cluster: str) -> bool:
        """Tell whether the run has stopped nobody who wrote results of a cluster."""
        own = self._of_cluster[cluster]
        by_faults = {*self.killed, *self._condemned}
        by_faults |= {one.name for one in own if one.host in self.lost_hosts}
        return all(one.is_whole or one.began_at is None or one.name in by_faults for one in own)

    # --- effects ----------------------------------------------------------------------------------

    def _tell(self, actor: Actor, effect: TellActor) -> None:
        """Carry a call; what goes between two processes arrives in order."""
        between = LAUNCHER in (actor.name, effect.to)
        took = self.scenario.latency * self.world.rng.uniform(1.0, 1.3) if between else _ON_HOST
        line = actor.name, effect.to
        at = self._arrives[line] = max(self.world.now + took, self._arrives.get(line, 0.0))
        if self.world.tape.is_kept and "hear" not in str(effect.told):
            self.world.tape.note(self.world.now, actor.name, _words(effect.told), effect.to)
        self.world.tell(effect.to, effect.told, at)

    def _open(self, _: Actor, effect: OpenFrontEnd) -> None:
        cluster = self.clusters[effect.cluster]
        name, granted = effect.cluster, cluster.granted_at
        now = self.world.now
        self.opening.add(name)
        self.queue.asked(name, effect.job)
        if granted is None:
            self.world.at(now + self.world.rng.uniform(0.05, 0.3), partial(self.begin, name, 1))
            return
        self.world.tell(LAUNCHER, PlacePrepared(name, "queued"), now + 0.01)
        self.world.tell(LAUNCHER, PlacePrepared(name, "late"), now + 0.02)
        self.world.at(max(now + 0.1, granted), partial(self.queue.grant, name, effect.job))

    def begin(self, name: str, job: int) -> None:
        """Let the front-end of a cluster begin, unless that was given up."""
        if name not in self.opening or self.queue.last[name] != job:
            return
        self.opening.remove(name)
        self._revive(front_end_of(name))
        self.queue.up[name] = job
        made = self.front_ends[name] = RunFrontEnd(self.world, self._settings(name))
        made.is_alive = self._is_on_a_living_host
        self.world.add(made, self.world.now + self.world.rng.uniform(*_STARTS))

    def _is_on_a_living_host(self, rank: str, incarnation: int) -> bool:
        name = member_name(rank, incarnation)
        own = self._of_cluster[RankName.parse(rank).cluster]
        return any(one.name == name and one.host not in self.lost_hosts for one in own)

    def _settings(self, name: str) -> FrontEndSettings:
        plan, place = self.plan, self.launcher.places[name]
        cluster = place.cluster
        ranks = plan.step(StepName(StepKind.RANKS, name))
        front_end = StepName(StepKind.FRONT_END, name)
        assert ranks.job is not None
        return FrontEndSettings(
            cluster=name,
            path=cluster.path,
            levels=levels_at(self.launcher.allocator.deployment, cluster.position),
            run_directory="/run",
            folder="/home",
            umask=0o77,
            port=None,
            job=replace(ranks.job, is_late=place.is_late),
            at_once=place.is_late or ranks.depends_on == (front_end,),
            launcher="",
            keys=cast(Any, None),
            settings=RankSettings(),
            ranks_limit=plan.ranks_limit,
            watch=watch_of(plan),
            names=self._names,
        )

    def _spawn(self, _: Actor, effect: SpawnRank) -> None:
        if effect.host in self.lost_hosts:
            cluster = RankName.parse(effect.rank).cluster
            told = RankVanished(effect.host)
            self.world.tell(front_end_of(cluster), told, self.world.now + _MPIEXEC_NOTICES)
            return
        name = RankName.parse(effect.rank)
        script = self.clusters[name.cluster].scripts[name.rank]
        if effect.incarnation > 1:
            is_first = self.clusters[name.cluster].granted_at is not None
            script = RankScript(script.seconds if is_first else 0.5, lag=script.lag)
        member = member_name(effect.rank, effect.incarnation)
        rng = random.Random(f"{self.scenario.seed} {member}")
        rank = ScriptedRank(effect, script, self.scenario.kind, self.scenario.asks_after, rng)
        self.ranks.append(rank)
        self._of_cluster[name.cluster].append(rank)
        self.queue.job_of[member] = self.queue.up[name.cluster]
        self.world.add(rank, self.world.now + self.world.rng.uniform(0.01, 0.1))

    def _kill_ranks(self, _: Actor, effect: KillRanks) -> None:
        for rank in self._of_cluster[effect.cluster]:
            if effect.pid in (0, pid_of(rank.rank, rank.incarnation)):
                if effect.pid:
                    self._condemned.add(rank.name)
                self._kill(rank)

    def _kill(self, rank: ScriptedRank, *, is_told: bool = True) -> None:
        if rank.name in self.gone or rank.is_over:
            return
        self._note(rank.name, "is killed")
        self._remove(rank.name)
        rank.ended_at = self.world.now
        if is_told:
            front_end = front_end_of(RankName.parse(rank.rank).cluster)
            hung_up = RankHungUp(rank.rank, rank.incarnation)
            self.world.tell(front_end, hung_up, self.world.now + _ON_HOST)
            self._tell_parent(rank, 9)

    def _tell_parent(self, rank: ScriptedRank, status: int) -> None:
        front_end = front_end_of(RankName.parse(rank.rank).cluster)
        at = IN_TIME if rank.host else self.world.now
        told = RankGone(rank.rank, rank.incarnation, status, at)
        self.world.tell(front_end, told, self.world.now + 2 * _ON_HOST + rank.script.lag)

    def _end(self, actor: Actor, effect: ProcessEnded) -> None:
        self._note(actor.name, f"ends with {effect.status}")
        self._remove(actor.name)
        if isinstance(actor, ScriptedRank):
            self._tell_parent(actor, effect.status)
        elif isinstance(actor, RunFrontEnd):
            self._front_end_gone(actor.cluster, "has ended")

    def _front_end_gone(self, cluster: str, words: str) -> None:
        """Let what was below a front-end end, and the launcher hear of it."""
        for rank in self._of_cluster[cluster]:
            self._kill(rank, is_told=False)
        line = front_end_of(cluster), LAUNCHER
        at = max(self.world.now + self.scenario.latency, self._arrives.get(line, 0.0))
        self.world.tell(LAUNCHER, FrontEndGone(cluster, words, self.queue.up[cluster]), at)

    def _end_front_end_of_job(self, _: Actor, effect: KillFrontEnd) -> None:
        if self.queue.last.get(effect.cluster, effect.job) == effect.job:
            self.kill_front_end(effect.cluster, "was ended")

    def kill_front_end(self, cluster: str, words: str) -> None:
        """End a front-end with all below it, or give up that it is started."""
        front_end = self.front_ends.get(cluster)
        if cluster in self.opening:
            self.opening.remove(cluster)
            at = self.world.now + self.world.rng.uniform(*_GIVES_UP)
            self.world.tell(LAUNCHER, PlacePrepared(cluster, _GIVEN_UP), at)
        if front_end is None or front_end.name in self.gone:
            return
        self._note(front_end.name, "is killed")
        self._remove(front_end.name)
        self._front_end_gone(cluster, words)

    def _revive(self, name: str) -> None:
        self.gone.discard(name)
        self.world.revive(name)

    def _remove(self, name: str) -> None:
        self.gone.add(name)
        self.world.remove(name)

    def _note(self, who: str, what: str, to: str = "") -> None:
        self.world.tape.note(self.world.now, who, what, to)

    # --- faults -----------------------------------------------------------------------------------

    @property
    def _running(self) -> list[ScriptedRank]:
        there = (one for one in self.ranks if one.name not in self.gone)
        return [one for one in there if one.began_at is not None and not one.is_over]

    def _strike(self, fault: RunFault) -> None:
        what: dict[RunFaultKind, Callable[[RunFault], str]] = {
            RunFaultKind.KILL_RANK: self._kill_one,
            RunFaultKind.KILL_FRONT_END: self._end_front_end,
            RunFaultKind.PAUSE_FRONT_END: self._pause,
            RunFaultKind.LOSE_HOST: self._lose_host,
            RunFaultKind.CTRL_C: self._interrupt,
            RunFaultKind.DOUBT: self._doubt,
            RunFaultKind.END_JOB: self._cancel,
        }
        if words := what[fault.kind](fault):
            self._note("faults", words)

    def _kill_one(self, fault: RunFault) -> str:
        running = self._running
        if not running:
            return ""
        rank = running[fault.target % len(running)]
        self.killed.append(rank.name)
        self._kill(rank)
        here = RankName.parse(rank.rank).cluster
        for other in running:
            if RankName.parse(other.rank).cluster != here:
                took = self.world.rng.uniform(1e-3, 0.05) + self.scenario.latency
                self.world.tell(other.name, LossSeen(rank.rank), self.world.now + took)
        return f"kills {rank.name}"

    def _living(self, fault: RunFault) -> str:
        names = [name for name, one in self.front_ends.items() if one.name not in self.gone]
        return names[fault.target % len(names)] if names else ""

    def _end_front_end(self, fault: RunFault) -> str:
        if name := self._living(fault):
            self.struck.append((self.world.now, "kill", name))
            self.kill_front_end(name, "was killed")
        return name and f"kills the front-end of {name}"

    def _pause(self, fault: RunFault) -> str:
        if name := self._living(fault):
            self.struck.append((self.world.now, f"pause {fault.seconds}", name))
            self.world.pause(front_end_of(name), self.world.now + fault.seconds)
        return name and f"stops the front-end of {name} for {fault.seconds:g} s"

    def _lose_host(self, fault: RunFault) -> str:
        hosts = sorted({one.host for one in self._running if one.host} - self.lost_hosts)
        if not hosts:
            return ""
        host = hosts[fault.target % len(hosts)]
        self.lost_hosts.add(host)
        there = [one for one in self.ranks if one.host == host]
        for rank in there:
            if rank.name in self.gone or rank.is_over:
                continue
            self._kill(rank, is_told=False)
            front_end = front_end_of(RankName.parse(rank.rank).cluster)
            silent = RankHungUp(rank.rank, rank.incarnation, is_silence=True)
            self.world.tell(front_end, silent, self.world.now + HOST_SILENCE)
            told = RankVanished(host)
            self.world.tell(front_end, told, self.world.now + _MPIEXEC_NOTICES)
        self.struck.append((self.world.now, "host", host))
        return f"{host} loses its power"

    def _cancel(self, fault: RunFault) -> str:
        """Let a batch system end a job that waits, starts, or runs."""
        there = [one for one, made in self.clusters.items() if made.granted_at is not None]
        there = [one for one in there if one in self.opening or self.is_up(one)]
        if not there:
            return ""
        name = there[fault.target % len(there)]
        self.struck.append((self.world.now, "end job", name))
        self.queue.cancel(name)
        return f"ends the job of {name}"

    def living(self, cluster: str) -> list[ScriptedRank]:
        """Return the processes of ranks of a cluster that have not ended."""
        own = self._of_cluster[cluster]
        return [one for one in own if one.name not in self.gone and not one.is_over]

    def is_up(self, cluster: str) -> bool:
        """Tell whether the front-end of a cluster lives."""
        front_end = self.front_ends.get(cluster)
        return front_end is not None and front_end.name not in self.gone

    def _interrupt(self, _: RunFault) -> str:
        self.struck.append((self.world.now, "Ctrl-C", LAUNCHER))
        self.world.tell(LAUNCHER, CtrlCPressed())
        return "presses Ctrl-C"

    def _doubt(self, fault: RunFault) -> str:
        """Let a rank doubt another one twice, a short while after one another."""
        running = self._running
        if len(running) < 2:
            return ""
        by = running[fault.target % len(running)]
        others = [one for one in running if one is not by]
        rank = others[fault.other % len(others)]
        at = self.world.now
        for begun in (at, at + fault.seconds + 0.1):
            self.world.tell(by.name, DoubtFelt(rank.name), begun)
            self.world.tell(by.name, DoubtFelt(rank.name, ends=True), begun + fault.seconds)
        self.struck.append((at, f"doubt {fault.seconds}", by.name))
        return f"{by.name} doubts {rank.name} for {fault.seconds:g} s, twice"


def _in_order(scenario: RunScenario) -> list[RunCluster]:
    """Return the clusters in the order of a machine: by their sites."""
    return sorted(scenario.clusters, key=lambda one: one.site)


def _words(told: object) -> str:
    return " ".join(str(told).replace("'", "").split())[:90]
