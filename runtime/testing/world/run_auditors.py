"""What has to be true after the world of a run, whatever has happened in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gcm.records import dataclass
from runtime.exit_codes import INTERRUPTED, NEVER_STARTED
from runtime.rank_name import RankName
from runtime.results.retries import MOST_STALLS
from runtime.testing.world.run_jobs import JobFindings
from runtime.testing.world.run_launcher import RunLauncher
from runtime.testing.world.run_load import (
    LOSES,
    Ending,
    RankScript,
    RunCluster,
    RunFaultKind,
    RunKind,
    RunScenario,
)
from runtime.testing.world.run_ranks import ScriptedRank

KILLED = 128 + 9

SETTLED = 1.0
"""Seconds for which a rank has to doubt another one until that is decided."""

FOUND_LOST = 12.0
"""Seconds after which a front-end that stands still is found lost, with a time limit of 3 s."""


TOLD = 1.0
"""Seconds in which a rank learns when its job ends, and in which another job is asked for."""


@dataclass(frozen=True, slots=True)
class RunFindings:
    """What the world of a run leaves; `stuck` says who waits for whom if it has not ended."""

    scenario: RunScenario
    launcher: RunLauncher
    ranks: Sequence[ScriptedRank]
    killed: tuple[str, ...]
    struck: tuple[tuple[float, str, str], ...]
    lost_hosts: frozenset[str]
    left: tuple[str, ...]
    clusters: Mapping[str, RunCluster]
    ended_at: float
    stuck: str
    jobs: JobFindings

    @property
    def is_harmless(self) -> bool:
        """Whether nothing has happened that may end anything but well."""
        scenario = self.scenario
        doubts = (one for one in scenario.faults if one.kind is RunFaultKind.DOUBT)
        stalls = (one for one in scenario.faults if one.kind is RunFaultKind.STALL)
        return not (
            scenario.strikes(*LOSES)
            or any(one.walltime is not None for one in scenario.clusters)
            or any(one.ending is not Ending.RETURNS for one in scenario.scripts)
            or any(one.seconds + 0.1 > SETTLED - 3 * scenario.latency for one in doubts)
            or any(one.seconds >= MOST_STALLS for one in stalls)
        )


def audit_run(world: RunFindings) -> Iterator[str]:
    """Yield what is wrong."""
    if world.stuck:
        yield world.stuck
    for check in _CHECKS:
        yield from check(world)


def _told(world: RunFindings) -> str:
    code, cause = world.launcher.code, world.launcher.first_cause
    words = "; ".join(world.launcher.state.run.errors)
    return f"code {code}, cause {cause and cause.failure.who}: {cause and cause.what} ({words})"


def _rules(world: RunFindings) -> Iterator[str]:
    """Nothing happens that the table has no row for, nothing is decided in haste."""
    yield from (f"it happened though it cannot: {one}" for one in world.launcher.illegal)
    yield from (f"it was decided too early: {one}" for one in world.launcher.hasty)


def _end(world: RunFindings) -> Iterator[str]:
    """Where nothing is lost all ends well; else what has happened has a code and a cause."""
    if world.stuck:
        return
    launcher = world.launcher
    if world.is_harmless and launcher.code:
        yield f"the run fails though nothing was lost: {_told(world)}"
    cause, errors = launcher.first_cause, launcher.state.run.errors
    if launcher.code and cause is None and not errors and launcher.code != INTERRUPTED:
        yield f"the run fails without a word: {_told(world)}"
    interrupted = {one.kind for one in world.scenario.faults} <= {RunFaultKind.CTRL_C}
    interrupted &= all(one.walltime is None for one in world.scenario.clusters)
    scripts = all(one.ending is Ending.RETURNS for one in world.scenario.scripts)
    if interrupted and scripts and launcher.code not in (0, INTERRUPTED, NEVER_STARTED):
        yield f"nothing but Ctrl-C happened, and the run ends with {_told(world)}"


def _blame(world: RunFindings) -> Iterator[str]:
    """In a run that ends with its first loss, that loss is the cause, and its code the exit code.

    Nobody else is struck, and no other rank ends badly by itself before anybody can know of it.
    """
    scenario = world.scenario
    if world.stuck or scenario.kind is not RunKind.PLAIN or scenario.faults[1:]:
        return
    bad = [(one, script) for one, script in _scripts(world) if script.ending is not Ending.RETURNS]
    launcher = world.launcher
    if not scenario.faults and len(bad) == 1:
        rank, script = bad[0]
        process = next((one for one in world.ranks if one.rank == rank), None)
        is_first = process is not None and process.ended_at is not None
        if is_first and (launcher.code != script.code or _who(world) != rank):
            yield f"{rank} ends by itself ({script.ending}, {script.code}): {_told(world)}"
    is_alone = scenario.strikes(RunFaultKind.KILL_RANK) and not bad and world.killed
    if is_alone and (launcher.code != KILLED or _who(world) != world.killed[0].split("#")[0]):
        yield f"{world.killed[0]} was killed: {_told(world)}"


def _who(world: RunFindings) -> str:
    cause = world.launcher.first_cause
    return "" if cause is None else cause.failure.who


def _scripts(world: RunFindings) -> Iterator[tuple[str, RankScript]]:
    for name, cluster in world.clusters.items():
        for number, script in enumerate(cluster.scripts):
            yield f"{name}:{number}", script


def _output(world: RunFindings) -> Iterator[str]:
    """Where a run ends well, or by its own ranks, all that they have written was read."""
    launcher, scenario = world.launcher, world.scenario
    is_own = scenario.kind is RunKind.PLAIN and not scenario.faults
    if world.stuck or scenario.kind is RunKind.REPLICAS or (launcher.code and not is_own):
        return
    wrote: dict[str, int] = {}
    for one in world.ranks:
        wrote[one.rank] = wrote.get(one.rank, 0) + one.wrote
    lost = {name for _, what, name in world.struck if what != "host" and "doubt" not in what}
    for rank, size in wrote.items():
        read = launcher.reader.read.get(rank, 0)
        cluster = RankName.parse(rank).cluster
        is_lost = cluster in lost or cluster in launcher.lost
        if read < size and not is_lost and (is_own or world.is_harmless):
            yield f"{size - read} of {size} bytes that {rank} has written are missing"


def _results(world: RunFindings) -> Iterator[str]:
    """Results come home whole, or the run says that they do not, within a bound."""
    launcher, results = world.launcher, world.launcher.results
    for name, stalls in results.stalled.items():
        if stalls > MOST_STALLS:
            yield f"the copy from {name} has stalled {stalls} times, and went on"
    if world.stuck or launcher.code or not world.scenario.collects:
        return
    if world.scenario.kind is RunKind.REPLICAS:
        for name, is_whole in results.home.items():
            if not is_whole:
                yield f"what came home from {name} was half written"
        if not results.home:
            yield "nothing came home, and the run ends well"
    elif missing := set(launcher.state.run.plan.closing.values()) - set(results.home):
        never = {name for name, one in world.clusters.items() if one.granted_at is not None}
        if missing := missing - never - launcher.lost:
            yield f"the results of {sorted(missing)} are not home, and the run ends well"


def _detection(world: RunFindings) -> Iterator[str]:
    """A front-end that stands still for long is found lost, however late it came."""
    for at, what, name in world.struck:
        is_long = what == "pause 25.0"
        if is_long and world.ended_at > at + FOUND_LOST and name not in world.launcher.judged:
            yield f"the front-end of {name} stood still from {at:.3f} s on, and nobody missed it"


def _late(world: RunFindings) -> Iterator[str]:
    """A cluster that is granted while the others run takes part."""
    scenario = world.scenario
    if world.stuck or not world.is_harmless:
        return
    here = [one for one in scenario.clusters if one.granted_at is None]
    until = min(script.seconds for one in here for script in one.scripts)
    for name, cluster in world.clusters.items():
        granted = cluster.granted_at
        if granted is None or granted + 1.5 + 20 * scenario.latency > until:
            continue
        for number in range(len(cluster.scripts)):
            rank = f"{name}:{number}"
            if not any(one.rank == rank and one.began_at is not None for one in world.ranks):
                yield f"{rank} was granted at {granted:g} s, and never ran"


def _jobs(world: RunFindings) -> Iterator[str]:
    """A run ends before its jobs do, asks for others as often as it may, and tells its ranks."""
    jobs = world.launcher.jobs
    for name in world.jobs.outlived:
        yield f"the job of {name} was ended by its walltime, and ranks ran in it"
    for name, cluster in world.clusters.items():
        if jobs[name] > 1 + cluster.again:
            yield f"{jobs[name]} jobs were asked for in place of {name}, not {1 + cluster.again}"
    for one in world.jobs.ended:
        until = one.at + TOLD + 20 * world.scenario.latency
        others = (each for each in world.ranks if not each.rank.startswith(f"{one.cluster}:"))
        goes_on = any(each.ended_at is not None and each.ended_at > until for each in others)
        may_ask = one.job <= world.clusters[one.cluster].again and one.ran and goes_on
        if may_ask and jobs[one.cluster] <= one.job and not world.launcher.code:
            yield f"no other job was asked for when that of {one.cluster} was ended at {one.at:.3f}"
    yield from _limits(world)


def _limits(world: RunFindings) -> Iterator[str]:
    """Ranks know when their job ends at the latest, unless they have just begun."""
    for one in world.ranks:
        ends, until = world.jobs.limits.get(one.name), one.ended_at
        if ends is None or one.began_at is None or until is None:
            continue
        told = [at for _, at in one.limits]
        if until > one.began_at + TOLD + 20 * world.scenario.latency and not told:
            yield f"{one.name} was never told that its job ends at {ends:.3f} s"
        if told and told[-1] > ends + TOLD:
            yield f"{one.name} was told that it ends at {told[-1]:.3f} s, its job at {ends:.3f} s"


def _places(world: RunFindings) -> Iterator[str]:
    """A rank is started again on its own host, unless that is lost."""
    last: dict[str, ScriptedRank] = {}
    condemned = world.scenario.strikes(RunFaultKind.DOUBT)
    for one in world.ranks:
        before = last.get(one.rank)
        last[one.rank] = one
        if before is None or before.host == one.host or condemned:
            continue
        if before.host not in world.lost_hosts and before.began_at is not None:
            yield f"{one.rank} was started again on {one.host}, though {before.host} lives"


def _left(world: RunFindings) -> Iterator[str]:
    """No process is left."""
    if world.left and not world.stuck:
        yield f"{', '.join(world.left)} are left at the end"


_CHECKS = (_rules, _end, _blame, _output, _results, _detection, _late, _jobs, _places, _left)

__all__ = ["RunFindings", "audit_run"]
