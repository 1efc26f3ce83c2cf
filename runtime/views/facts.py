"""The facts of a run: what happens, when, and to whom. Everything that is shown is made of them.

A run is a sequence of facts. The launcher tells each one when it learns of it, in order, and loses
none; screens, summary and recorded files are folds over the same sequence. A new fact is a record
type here, a line in `Record`, and a `case` in the fold that shows it.

Facts hold no values of environment variables. What ranks and far ends wrote is cleaned before it is
told, so that no fold has to; the output of ranks alone is told as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import isfinite

from gcm.records import dataclass
from runtime.checks import FaultFound
from runtime.deployment import DeploymentPlan
from runtime.lifecycle.outcome import (
    ComponentReport,
    FirstCause,
    ForwardedTraffic,
    HeldNodes,
    Results,
    RouteTraffic,
    TunnelTraffic,
)
from runtime.machine.deaths import RankDeath
from runtime.matching.traced import ROW
from runtime.topology import RankNames
from runtime.topology.rank_names import NamedCluster

MACHINE = ""
"""The name of the whole machine, its grid."""

TRACEBACK = "traceback"
"""The stream of the traceback with which the program of a rank has ended."""


@dataclass(frozen=True, slots=True)
class PlannedCluster:
    """A cluster of the machine, with the planned host of each rank."""

    known: NamedCluster
    """Its name, and the numbers of its ranks in COMM_WORLD."""
    application: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedSite:
    """A site of the machine with its clusters, in order."""

    name: str
    clusters: tuple[PlannedCluster, ...]


@dataclass(frozen=True, slots=True)
class RunPlanned:
    """The first fact of a run: the machine that it is going to have.

    `replicas` has how many processes each rank of an application is, where these are several.
    `goes_on` tells that the run survives the loss of a rank.
    """

    deployment: str
    sites: tuple[PlannedSite, ...]
    replicas: Mapping[str, int] = field(default_factory=dict)
    goes_on: bool = False

    def __post_init__(self) -> None:
        """Check what folds divide by; raises ValueError."""
        if min(self.replicas.values(), default=1) < 1:
            raise ValueError("a rank has at least one process")

    @classmethod
    def of(cls, plan: DeploymentPlan) -> RunPlanned:
        """Return the machine of a plan."""
        deployment = plan.deployment
        known = deployment.rank_names().clusters
        hosts: dict[str, list[str]] = {one.identifier: [] for one in deployment.clusters()}
        for placed in plan.placements():
            hosts[placed.cluster.identifier].append(placed.node.host)
        return cls(
            deployment.name,
            tuple(
                PlannedSite(
                    site.name,
                    tuple(
                        PlannedCluster(
                            known[one.identifier], one.application, tuple(hosts[one.identifier])
                        )
                        for one in site.clusters
                    ),
                )
                for site in deployment.sites
            ),
            {one.name: one.replicas for one in deployment.applications if one.replicas > 1},
            any(one.survives for one in deployment.applications),
        )

    def clusters(self) -> dict[str, PlannedCluster]:
        """Return all clusters by their identifiers, `site:cluster`, in order."""
        return {
            f"{number}:{place}": one
            for number, site in enumerate(self.sites)
            for place, one in enumerate(site.clusters)
        }

    def hosts(self) -> dict[str, str]:
        """Return the planned host of each rank, in order."""
        return {
            f"{name}:{number}": host
            for name, cluster in self.clusters().items()
            for number, host in enumerate(cluster.hosts)
        }

    def names(self) -> RankNames:
        """Return how messages name the ranks of the machine."""
        return RankNames({name: one.known for name, one in self.clusters().items()})


@dataclass(frozen=True, slots=True)
class RunDescribed:
    """What was run, where somebody wants to keep that: it comes before the machine is planned.

    `begun` is the time of day. The `descriptor` is told without values of environment variables,
    and `versions` has those of Python, of this package and of what it needs.
    """

    begun: str
    command: str
    descriptor: str
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StateChanged:
    """A part of the machine is in another state.

    The states: `starting`, `queued`, `up`, `ready`, `running`, `stuck`, `done`, `ended`, `failed`,
    `lost`. `detail` is the step that began or ended there (`front-end`, `ranks`, `handshake`), or
    `compiler` where the ranks wait for one; what a batch system says of a job that is queued, or
    how a rank ended, in words. `walltime` are the seconds that the nodes of a cluster are granted
    for, from now on.
    """

    state: str
    detail: str = ""
    walltime: float | None = None


@dataclass(frozen=True, slots=True)
class RankStarted:
    """A rank has started its MPI: as which process, and where. It may do so again after a loss."""

    host: str
    pid: int
    mpi: str


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The application begins to run."""


@dataclass(frozen=True, slots=True)
class OutputWritten:
    """Some output: whole lines, unless it is the end or a piece of a very long line.

    It is told of a rank, of a cluster when its `mpiexec` speaks, or of a node or helper process.
    `stream` is `stdout`, `stderr` or `TRACEBACK`.
    """

    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Logged:
    """A line or more that the launcher logs: a warning, or a finding about ranks that wait."""

    text: str


@dataclass(frozen=True, slots=True)
class RunSeen:
    """The phase of a run when it was looked at; what ranks did follows, and why they wait."""

    state: str


@dataclass(frozen=True, slots=True)
class AwaitedPart:
    """One thing that a call waits for: a message from a rank or to it, "" for any; None any tag."""

    kind: str
    rank: str
    tag: int | None


@dataclass(frozen=True, slots=True)
class CallSeen:
    """A call in which a rank waits: in words, for how long, where in the program, and for what."""

    call: str
    text: str
    seconds: float
    where: str
    communicator: str
    waits_for: tuple[AwaitedPart, ...]


@dataclass(frozen=True, slots=True)
class CommunicatorSeen:
    """Where a communicator is between a loss and its recovery, as one of its members knows it.

    `size` are its places, and of these as many are `present` as there are processes that this one
    does not know to be lost; 0 where that was not told, and where this one has yet to join.
    """

    name: str
    state: str
    modes: str
    size: int = 0
    present: int = 0


@dataclass(frozen=True, slots=True)
class StackSeen:
    """The stack of a thread of a rank, as Python prints it."""

    thread: str
    stack: str


@dataclass(frozen=True, slots=True)
class RankSeen:
    """What a rank was doing when it was asked, in words and with its calls.

    `process_state` is that of the process in FT-MPI's terms, None where losses are not survived;
    `incarnation` says which process it is in its place. One that has not answered has no host.
    `memory` are the bytes that its process had at most, `cpu` the seconds of processor time, and
    `in_mpi` those that it has been in MPI until now, 0 where calls are not counted.
    """

    doing: str
    process_state: str | None = None
    incarnation: int = 1
    communicators: tuple[CommunicatorSeen, ...] = ()
    host: str = ""
    process: int = 0
    calls: tuple[CallSeen, ...] = ()
    stacks: tuple[StackSeen, ...] = ()
    memory: int = 0
    cpu: float = 0.0
    in_mpi: float = 0.0


@dataclass(frozen=True, slots=True)
class WaitExplained:
    """Why ranks wait: of what `kind` that is, its heading, the ranks concerned, and a sentence.

    `runtime.waits.findings` has the kinds. In a run it is told once of each wait, as it is logged,
    and after `RunSeen` where the run is looked at from time to time.
    """

    kind: str
    heading: str
    ranks: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class MessagesCounted:
    """What a rank has sent over the wire to ranks of one cluster, told when it ends.

    `to` is the cluster, or one rank of it where ranks are observed. Told of a cluster it is a
    sample: what all its ranks together had sent some seconds ago, in the place of an earlier
    sample. There are some only where a listener wants them. `between` are the clusters whose
    front-ends forwarded, or the user's transport of a direct connection, None if this end does not
    know; `peers` is the number of receivers.
    """

    to: str
    between: tuple[str, ...] | None
    peers: int
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CallsCounted:
    """How often a rank was in one MPI call, and for how long, told when it ends.

    It is told only of ranks that somebody wants to observe.
    """

    call: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RankUsed:
    """The bytes that the process of a rank had at most, and its seconds of processor time.

    It is told when the rank ends, of ranks that somebody wants to observe.
    """

    memory: int
    cpu: float


@dataclass(frozen=True, slots=True)
class TracedCommunicator:
    """A communicator of a trace: its name, the same `key` at all members, and who its ranks are."""

    name: str
    key: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallsTraced:
    """The latest calls and messages of a rank, or a piece of them, told when it ends.

    `rows` are packed as `runtime.matching.traced` has them, with the name and the kind of each of
    their `calls`, and the names of the `plans` of their collectives. They begin at the time `begun`
    of the run; the clock of the rank's host may be wrong by `error` seconds, None if nobody knows.
    So many older rows were `dropped`.
    """

    begun: float
    error: float | None
    calls: tuple[tuple[str, str], ...]
    communicators: tuple[TracedCommunicator, ...]
    dropped: int
    rows: bytes
    plans: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check what folds take apart; raises ValueError."""
        if len(self.rows) % ROW.size or not isfinite(self.begun):
            raise ValueError("these are no rows of a trace")


@dataclass(frozen=True, slots=True)
class ConnectionsCounted:
    """How a rank found others; `runtime.lifecycle.outcome.Connections` explains the figures."""

    figures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CallsChecked:
    """How many calls of ranks a check has compared, at the end of the run."""

    calls: int


@dataclass(frozen=True, slots=True)
class RankResult:
    """How a rank counts at the end of the run: its exit code, and the signal that ended it or 0.

    Of a rank that was told to end nothing is told.
    """

    code: int
    signal: int = 0


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The last fact of a run: its exit code, and whole messages about what failed."""

    code: int
    errors: tuple[str, ...] = ()
    first_cause: FirstCause | None = None


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """The exit code of the command that ran it, and the errors that it printed.

    They differ from those of the run where a signal came, or the output could not be written.
    """

    code: int
    errors: tuple[str, ...] = ()


Record = (
    RunDescribed
    | RunPlanned
    | StateChanged
    | RankStarted
    | RankDeath
    | RunStarted
    | OutputWritten
    | Logged
    | RunSeen
    | RankSeen
    | WaitExplained
    | FaultFound
    | CallsChecked
    | MessagesCounted
    | CallsCounted
    | RankUsed
    | CallsTraced
    | ConnectionsCounted
    | RouteTraffic
    | ForwardedTraffic
    | TunnelTraffic
    | ComponentReport
    | HeldNodes
    | Results
    | RankResult
    | RunEnded
    | CommandEnded
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: how many seconds after the beginning of the run, about whom, and what.

    `name` is that of a rank (`0:1:2`), a cluster (`0:1`), a site (`0`) or the grid (""); of
    anything else, such as a helper process, it is the path below the grid.
    """

    time: float
    name: str
    record: Record
