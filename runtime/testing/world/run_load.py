"""What a seed draws for a world of a whole run: a machine, what its ranks do, and faults.

The ranks are stubs that follow a script: what is tried here are the launcher and the front-ends.
"""

from __future__ import annotations

import random
from dataclasses import field, replace
from enum import StrEnum

from gcm.records import dataclass


class RunKind(StrEnum):
    """What becomes of a run whose ranks are lost."""

    PLAIN = "plain"
    """It ends."""
    SURVIVES = "survives"
    """It goes on, and has others started in their places."""
    REPLICAS = "replicas"
    """It goes on with other replicas."""


class Ending(StrEnum):
    """How the program of a rank ends by itself."""

    RETURNS = "returns"
    RAISES = "raises"
    """It ends with an exception, and tells of that."""
    EXITS = "exits"
    """Its process ends without a word."""
    ABORTS = "aborts"
    """It ends all others."""


class RunFaultKind(StrEnum):
    """What can be done to a run."""

    KILL_RANK = "kill rank"
    KILL_FRONT_END = "kill front-end"
    PAUSE_FRONT_END = "pause front-end"
    """It stands still for a while, which may be too long."""
    LOSE_HOST = "lose host"
    """A host with ranks, which is not that of the front-end, loses its power."""
    CTRL_C = "Ctrl-C"
    STALL = "stall"
    """The copy of results from a cluster stalls, so many times."""
    DOUBT = "doubt"
    """A rank cannot reach another one for a while, and may not be able to again."""
    END_JOB = "end job"
    """A batch system ends a job: it is cancelled, preempted, or loses a node; or it refuses it."""


MOST_OUTPUT = 6_000_000
"""The most bytes that a rank writes: more than a launcher takes at once at the end."""

LOSES = frozenset({RunFaultKind.KILL_RANK, RunFaultKind.KILL_FRONT_END, RunFaultKind.LOSE_HOST,
                   RunFaultKind.PAUSE_FRONT_END, RunFaultKind.CTRL_C,
                   RunFaultKind.END_JOB})  # fmt: skip
"""After these something is missing, or may be."""


@dataclass(frozen=True, slots=True)
class RankScript:
    """What a rank does: for how many seconds, how it ends, what it writes, when that is seen.

    `lag` is how much later its parent tells the end than the rank itself, or its connection. A rank
    that `misses` others fails once it hears of their loss, where the run does not survive that; in
    C it aborts then. One that `sees` does so before it is told, as over a connection.
    """

    seconds: float = 1.0
    ending: Ending = Ending.RETURNS
    code: int = 0
    output: int = 0
    lag: float = 0.01
    misses: bool = False
    sees: bool = False
    is_in_c: bool = False


@dataclass(frozen=True, slots=True)
class RunCluster:
    """One cluster: its site, how many ranks each host has, when a queue grants its nodes.

    Without hosts its ranks are on the host of the front-end, as many as there are scripts. A job
    with a `walltime` is ended after so many seconds; the run may ask `again` for so many others.
    """

    site: int
    scripts: tuple[RankScript, ...]
    hosts: int = 0
    spares: int = 0
    granted_at: float | None = None
    walltime: float | None = None
    again: int = 0


@dataclass(frozen=True, slots=True)
class RunFault:
    """One fault: at which time, what it meets by its number, and for how long, or how often."""

    kind: RunFaultKind
    at: float
    target: int = 0
    seconds: float = 0.0
    other: int = 0


@dataclass(frozen=True, slots=True)
class RunScenario:
    """All that is done in the world of a run; `seed` decides what is left to chance."""

    seed: int
    kind: RunKind
    clusters: tuple[RunCluster, ...]
    faults: tuple[RunFault, ...] = ()
    latency: float = 0.01
    reader: float = 1e9
    """How many bytes of output a second are read."""
    jitter: float = 0.0
    """By how much the threads of a process may be behind one another, in seconds."""
    collects: bool = False
    """Whether results come home."""
    detector: str = ""
    """Which detector watches the front-ends; that of a descriptor that names none by default."""
    asks_after: float = field(default=0.05)
    """How many seconds after a loss the survivors ask for another process."""

    @property
    def scripts(self) -> list[RankScript]:
        """What each rank does, in their order."""
        return [one for each in self.clusters for one in each.scripts]

    @property
    def output(self) -> int:
        """How many bytes all ranks write."""
        return sum(one.output for one in self.scripts)

    @property
    def healed_at(self) -> float:
        """When the last fault is over."""
        lasting = (RunFaultKind.PAUSE_FRONT_END, RunFaultKind.DOUBT)
        times = (one.at + (one.seconds if one.kind in lasting else 0.0) for one in self.faults)
        return max(times, default=0.0)

    def strikes(self, *kinds: RunFaultKind) -> bool:
        """Tell whether faults of some kinds are among those that strike."""
        return any(one.kind in kinds for one in self.faults)

    def __str__(self) -> str:
        clusters = "; ".join(
            f"site {one.site}: {len(one.scripts)} ranks"
            + (f" on {one.hosts} hosts, {one.spares} spare" if one.hosts else "")
            + ("" if one.granted_at is None else f", granted at {one.granted_at:g} s")
            + ("" if one.walltime is None else f" for {one.walltime:g} s")
            + (f", {one.again} more" if one.again else "")
            + f" {[f'{each.seconds:g} s {each.ending} {each.code}' for each in one.scripts]}"
            for one in self.clusters
        )
        faults = "; ".join(
            f"{one.kind} {one.target}/{one.other} at {one.at:.3f} s for {one.seconds:g}"
            for one in self.faults
        )
        return f"a run that is {self.kind}, {clusters}; faults: {faults or 'none'}"


def draw_run(seed: int) -> RunScenario:
    """Return the scenario of a seed."""
    rng = random.Random(f"run {seed}")
    kind = rng.choice((RunKind.PLAIN, RunKind.SURVIVES, RunKind.SURVIVES, RunKind.REPLICAS))
    made = RunScenario(
        seed, kind, tuple(_clusters(rng, kind)),
        latency=rng.choice((1e-3, 0.01, 0.1)),
        jitter=rng.choice((0.0, 1e-3, 0.05)),
        reader=rng.choice((1e9, 1e9, 1e6, 1e5, 2e4)),
        collects=kind is RunKind.REPLICAS or rng.random() < 0.4,
        asks_after=rng.choice((0.0, 0.0, 0.02, 0.5)),
        detector=rng.choice(("", "hierarchical")),
    )  # fmt: skip
    if made.reader < MOST_OUTPUT / 10:
        made = replace(made, clusters=tuple(map(_quieter, made.clusters)))
    return replace(made, faults=tuple(_faults(rng, made)))


def _quieter(one: RunCluster) -> RunCluster:
    """Return a cluster whose output a slow reader has read in some seconds."""
    scripts = (replace(each, output=min(each.output, 120_000)) for each in one.scripts)
    return replace(one, scripts=tuple(scripts))


def _clusters(rng: random.Random, kind: RunKind) -> list[RunCluster]:
    if kind is RunKind.REPLICAS:  # two replicas of each rank, in two clusters
        ranks = rng.choice((1, 2, 3))
        return [RunCluster(0, tuple(_script(rng, kind) for _ in range(ranks))) for _ in range(2)]
    sites = sorted(rng.randrange(rng.choice((1, 2, 3))) for _ in range(rng.choice((2, 2, 3, 4))))
    sites = [sorted(set(sites)).index(one) for one in sites]
    has_late = kind is RunKind.SURVIVES and rng.random() < 0.5
    grants = (0.6, 0.6, 0.65, 2.0, 5.0)
    found = []
    for number, site in enumerate(sites):
        scripts = tuple(_script(rng, kind) for _ in range(rng.choice((1, 1, 2, 3))))
        is_late = has_late and number > 0 and rng.random() < 0.7
        hosts = 0 if is_late or rng.random() < 0.6 else len(scripts)
        granted = rng.choice(grants) if is_late else None
        spares = rng.choice((0, 1, 2)) if kind is RunKind.SURVIVES else 0
        found.append(RunCluster(site, scripts, hosts, spares, granted))
    return [_in_a_job(rng, one, found) for one in found]


def _in_a_job(rng: random.Random, one: RunCluster, all_of_them: list[RunCluster]) -> RunCluster:
    """Return a cluster whose job, if it is in one, may be short, and be followed by others."""
    if one.granted_at is None:
        return one
    sites = [[each for each in all_of_them if each.site == site.site] for site in all_of_them]
    is_led = all(not each[1:] or any(o.granted_at is None for o in each) for each in sites)
    walltime = rng.choice((None, None, 2.0, 6.0, 20.0))
    return replace(one, walltime=walltime, again=rng.choice((0, 0, 1, 2)) if is_led else 0)


def _script(rng: random.Random, kind: RunKind) -> RankScript:
    seconds = rng.choice((0.05, 0.5, 2.0, 4.0, 9.0))
    if kind is RunKind.SURVIVES:
        seconds = rng.choice((4.0, 9.0, 15.0))
    lag = rng.choice((0.0, 0.01, 0.3, 1.0))
    output = rng.choice((0, 0, 10, 4000, 120_000, MOST_OUTPUT))
    misses, sees, is_in_c = (rng.random() < often for often in (0.7, 0.7, 0.5))
    script = RankScript(seconds, output=output, lag=lag, misses=misses, sees=sees, is_in_c=is_in_c)
    draw = rng.random()
    if draw < 0.06:
        return replace(script, ending=Ending.RAISES, code=1)
    if draw < 0.09:
        return replace(script, ending=Ending.EXITS, code=rng.choice((3, 7)))
    if draw < 0.15 and kind is RunKind.PLAIN:
        return replace(script, ending=Ending.ABORTS, code=rng.choice((5, 9)))
    return script


_OFTEN = {
    RunFaultKind.KILL_RANK: 0.3, RunFaultKind.KILL_FRONT_END: 0.08, RunFaultKind.LOSE_HOST: 0.2,
    RunFaultKind.PAUSE_FRONT_END: 0.25, RunFaultKind.CTRL_C: 0.08, RunFaultKind.STALL: 0.2,
    RunFaultKind.DOUBT: 0.25, RunFaultKind.END_JOB: 0.3,
}  # fmt: skip


def _faults(rng: random.Random, run: RunScenario) -> list[RunFault]:
    if rng.random() < 0.25:
        return []
    span = max(one.seconds for one in run.scripts) + 1.0
    if run.kind is RunKind.PLAIN and rng.random() < 0.3:  # where who is to blame is plain
        return [RunFault(RunFaultKind.KILL_RANK, rng.uniform(0.5, span), rng.randrange(100))]
    found = []
    has_jobs = any(one.granted_at is not None for one in run.clusters)
    for kind, often in _OFTEN.items():
        if (kind is RunFaultKind.END_JOB and not has_jobs) or rng.random() >= often:
            continue
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.choice((rng.uniform(0.0, span), rng.uniform(0.5, min(3.0, span))))
            seconds = rng.choice((0.5, 2.0, 25.0)) if kind is RunFaultKind.PAUSE_FRONT_END else 0.0
            if kind is RunFaultKind.STALL:
                seconds = float(rng.choice((1, 2, 3, 5)))
            if kind is RunFaultKind.DOUBT:
                seconds = rng.choice((0.3, 0.8, 2.0, 3.5, 5.0))
            found.append(RunFault(kind, at, rng.randrange(100), seconds, rng.randrange(100)))
    return sorted(found, key=lambda one: one.at)
