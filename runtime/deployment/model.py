"""The checked deployment as values: what a correct descriptor says, with defaults filled in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gcm.documents import Location
from gcm.records import dataclass
from runtime.allocations import JobRequest
from runtime.code_port import PortLink
from runtime.health import DEFAULT_DETECTOR, DetectorProtocol
from runtime.native_mpi import AUTO
from runtime.replicas import ReplicaTable, replica_table
from runtime.routing import with_tunnels
from runtime.topology import (
    Cluster,
    Grid,
    NamedCluster,
    Node,
    RankNames,
    Reachability,
    Site,
    Wan,
)

if TYPE_CHECKING:
    from gcm.adl.plan import AssemblyPlan

Position = tuple[int, int]
"""The position of a cluster: the number of its site, and its own number within the site."""

LOCAL_ADDRESS = "127.0.0.1"

THIS_MACHINE = frozenset({"localhost", LOCAL_ADDRESS, "::1"})
"""The names that each machine has for itself."""

ASSEMBLY = "assembly"
"""How a dependent sequence refers to the components of the assembly."""


class ProgramKind(StrEnum):
    """What the path of an application names."""

    SCRIPT = "script"
    MODULE = "module"
    EXECUTABLE = "executable"


class ProcessKind(StrEnum):
    """How a helper process is started."""

    LOCAL = "local"
    SSH = "ssh"
    MPI = "mpi"


class CommWorld(StrEnum):
    """What COMM_WORLD means to an application."""

    GRID = "grid"
    CLUSTER = "cluster"


class FailureMode(StrEnum):
    """What the loss of a rank means to an application."""

    ABORT = "abort"
    RETURN = "return"


class Encryption(StrEnum):
    """How connections between hosts are protected; those within a host are plain."""

    TLS = "tls"
    NONE = "none"


class Direction(StrEnum):
    """Whether files go to the clusters or come from them."""

    IN = "in"
    OUT = "out"


class ValueOrigin(StrEnum):
    """Where the value of a variable came from."""

    SETTING = "--set"
    ENVIRONMENT = "environment"
    DEFAULT = "descriptor"
    BUILT_IN = "built in"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable with its value and where that came from."""

    name: str
    value: str
    origin: ValueOrigin
    source: str
    """The environment variable, or the file and line."""


@dataclass(frozen=True, slots=True)
class SshHop:
    """One machine on the ssh path to another; empty fields are left to the ssh configuration.

    `accept_new` trusts the key of a host that is not known yet, never one that has changed.
    """

    host: str
    port: int | None = None
    user: str = ""
    key: str = ""
    known_hosts: str = ""
    options: tuple[str, ...] = ()
    command_path: str = "ssh"
    accept_new: bool = False

    @property
    def destination(self) -> str:
        """Return `user@host`, or the host alone."""
        return f"{self.user}@{self.host}" if self.user else self.host


@dataclass(frozen=True, slots=True)
class Mpi:
    """The native MPI of a cluster; `flavour` is its name in `runtime.native_mpi`."""

    command_path: str = "mpiexec"
    flavour: str = AUTO
    ranks: int | None = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedLauncher:
    """A user's class that starts processes on `host`; it is in `folder` or installed."""

    name: str
    arguments: tuple[str, ...]
    host: str
    folder: str
    location: Location


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """The process that represents a cluster; a port 0 or an empty folder is chosen at the start.

    `folder` is where the run's folders are made. `modules` are loaded and the line of shell
    `before` is run before anything else there, and all of it runs in the `container`, if any.
    """

    address: str
    port: int = 0
    python: str = "python3"
    folder: str = ""
    modules: tuple[str, ...] = ()
    before: str = ""
    container: str = ""
    container_program: str = "apptainer"


@dataclass(frozen=True, slots=True)
class SpareHost:
    """A host without ranks on which so many lost ones can be started again.

    `asked_for` is where it is written that it is spare; else it was left over.
    """

    host: str
    places: int
    asked_for: Location | None = None


@dataclass(frozen=True, slots=True)
class DeployedCluster:
    """A cluster with the path to it and the code it runs; `application` is empty without one.

    The path is ssh over `hops`, a `launcher` of the user, the daemon of the peer of that name, or
    none for a cluster of the launcher's machine. `spares` are hosts of its `nodes`.
    """

    name: str
    position: Position
    path: str
    hops: tuple[SshHop, ...]
    mpi: Mpi
    front_end: FrontEnd
    nodes: tuple[Node, ...]
    reachability: Reachability
    location: Location
    application: str = ""
    peer: str = ""
    launcher: NamedLauncher | None = None
    spares: tuple[SpareHost, ...] = ()
    wan: Wan | None = None
    """The line to other sites that is emulated on this machine."""
    batch: JobRequest | None = None
    """What is asked of the batch system whose commands are at the end of the path."""
    hop_locations: tuple[Location, ...] = ()
    """Where each of `hops` is written; none where they are no elements."""

    @property
    def identifier(self) -> str:
        """Return `site:cluster`."""
        return f"{self.position[0]}:{self.position[1]}"

    @property
    def is_local(self) -> bool:
        """Return whether it is emulated on the launcher's machine."""
        has_no_way = not self.hops and not self.peer and self.launcher is None
        return has_no_way and self.batch is None

    @property
    def asks_again(self) -> bool:
        """Whether another job is asked for once that of its nodes has ended."""
        return self.batch is not None and self.batch.again > 0

    @property
    def host(self) -> str:
        """Return the machine of its front-end, by its name on the path there."""
        if self.launcher is not None:
            return self.launcher.host
        return self.hops[-1].host if self.hops else self.peer or "localhost"

    @property
    def way(self) -> str:
        """Return how the launcher gets there, in words."""
        job = "" if self.batch is None else f"in a job of {self.batch.system}"
        if self.hops:
            over_ssh = f"over ssh {' -> '.join(hop.destination for hop in self.hops)}"
            return f"{over_ssh}, {job}" if job else over_ssh
        if job:
            return job
        if self.launcher is not None:
            return " ".join(["through", self.launcher.name, *self.launcher.arguments])
        return f"on the peer {self.peer}" if self.peer else "on this machine"

    @property
    def ranks(self) -> int:
        """Return the number of its ranks."""
        return sum(node.ranks for node in self.nodes)


@dataclass(frozen=True, slots=True)
class DeployedSite:
    """A site; `leader` is the number of the cluster whose front-end hosts the site component."""

    name: str
    clusters: tuple[DeployedCluster, ...]
    leader: int
    location: Location


@dataclass(frozen=True, slots=True)
class Application:
    """A code and the clusters it runs on.

    `path` is the script or executable as the launcher's machine sees it, or the module's name, and
    `folder` the program folder, in which or in copies of which ranks start; `staged` says whether
    it is copied to other machines, `stage_limit` how many MB without a question. `environment` is
    for every rank, `travelling` what those on other machines get beside it. Each rank of its
    COMM_WORLD has this many `replicas`.
    """

    name: str
    kind: ProgramKind
    path: str
    folder: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    clusters: tuple[Position, ...]
    comm_world: CommWorld
    staged: bool
    stage_limit: int
    location: Location
    travelling: Mapping[str, str] = field(default_factory=dict)
    failures: FailureMode = FailureMode.ABORT
    recovery: str = ""
    recovery_messages: str = ""
    replicas: int = 1
    restart: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    """What the program asks for by name."""

    @property
    def goes_on(self) -> bool:
        """Return whether the other ranks go on when one is lost, at least for a while."""
        return self.failures is FailureMode.RETURN or self.replicas > 1

    @property
    def survives(self) -> bool:
        """Return whether the program can survive the loss of a rank, or of one process of it."""
        return self.replicas > 1 or (self.goes_on and self.recovery != "abort")

    @property
    def is_file(self) -> bool:
        """Return whether the program is a file, and not looked up by its name."""
        is_path = self.kind is ProgramKind.EXECUTABLE and "/" in self.path
        return is_path or self.kind is ProgramKind.SCRIPT

    @property
    def is_inside(self) -> bool:
        """Return whether the program is a file of the program folder."""
        return self.is_file and self.path.startswith(f"{self.folder.rstrip('/')}/")


@dataclass(frozen=True, slots=True)
class HelperProcess:
    """A helper process."""

    name: str
    kind: ProcessKind
    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    command_path: str
    options: tuple[str, ...]
    number: int
    hosts: tuple[str, ...]
    on: Position | None
    folder: str
    ready_when_finished: bool
    ready_line: str
    location: Location
    hops: tuple[SshHop, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """A node of the grid: its cluster and its number within the cluster."""

    cluster: Position
    number: int


@dataclass(frozen=True, slots=True)
class NodeProvider:
    """Nodes of which a virtual node has so many for itself."""

    nodes: tuple[NodeAddress, ...]
    capacity: int
    location: Location


@dataclass(frozen=True, slots=True)
class VirtualNode:
    """A virtual node and the nodes it is mapped to.

    With a `capacity` it has so many for itself, infinity for as many as there are; 0 means that it
    has all, and that others may have them as well. `providers` are part of that number.
    """

    name: str
    nodes: tuple[NodeAddress, ...]
    single: bool
    location: Location
    capacity: float = 0
    providers: tuple[NodeProvider, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedAssembly:
    """An ADL file to place on nodes, and the arguments of its definition.

    Of an assembly that was made in Python there is no such file, only its folder, and the `plan`.
    If it `outlives_nodes`, the run goes on without the components of a node that is lost.
    """

    file: str
    arguments: Mapping[str, str]
    location: Location
    outlives_nodes: bool = False
    plan: AssemblyPlan | None = None


@dataclass(frozen=True, slots=True)
class FileTransfer:
    """Files to copy.

    Before the start `source` is a full path here and `destination` one in the work folder. To come
    home `source` is a pattern in the work folder and `destination` a folder in the program folder,
    in which `{site}` and `{cluster}` stand for where the files come from; `every` is how many
    seconds lie between two times during the run, 0 for only after it. What no pattern means comes
    home too, except where a transfer `discards_others`. What it brings takes the place of a file of
    the user only if it `replaces`.
    """

    direction: Direction
    source: str
    destination: str
    clusters: tuple[Position, ...]
    location: Location
    every: float = 0.0
    discards_others: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class FailureDetection:
    """How the launcher and the front-ends watch each other.

    `protocol` is None where they do not, `period` where it follows from the timeout. With
    `frozen_is_lost`, stopped processes on this machine are killed.
    """

    protocol: DetectorProtocol | None = DEFAULT_DETECTOR
    timeout: float = 3.0
    period: float | None = None
    frozen_is_lost: bool = False
    is_asked_for: bool = False


TRANSPORTS = UNIX, TCP, SSH = "unix", "tcp", "ssh"
"""What carries messages between clusters where no descriptor says so; the first choice first."""


@dataclass(frozen=True, slots=True)
class NamedClass:
    """A controller or interceptor class, named in the grid (no `scope`), a site or a cluster.

    `role` is that of a controller, `transport` or `interceptor`; only the latter has a `between`.
    """

    name: str
    scope: tuple[int, ...]
    location: Location
    role: str = "interceptor"
    between: str = ""

    def __str__(self) -> str:
        """Return what it is and its class."""
        role = f"{self.role} between {self.between}" if self.between else self.role
        return f"{role}: {self.name}"


@dataclass(frozen=True, slots=True)
class PeersRequest:
    """Places to be booked at peers, for so many ranks; `wait` is in seconds, if it was given."""

    ranks: int
    strategy: str
    by: str
    wait: float | None
    credential: str
    staging: str
    location: Location


@dataclass(frozen=True, slots=True)
class BookedPeer:
    """A booked peer: its name, the address where others reach it, and its ranks."""

    name: str
    address: str
    ranks: int


@dataclass(frozen=True, slots=True)
class Deployment:
    """A whole checked descriptor.

    `dependencies` maps a process, an application or `assembly` to those that have to be up before
    it.
    """

    name: str
    folder: str
    sites: tuple[DeployedSite, ...]
    leader: int
    applications: tuple[Application, ...]
    processes: tuple[HelperProcess, ...]
    dependencies: Mapping[str, tuple[str, ...]]
    assembly: PlacedAssembly | None
    virtual_nodes: tuple[VirtualNode, ...]
    transfers: tuple[FileTransfer, ...]
    variables: tuple[Variable, ...]
    encryption: Encryption = Encryption.TLS
    detection: FailureDetection = field(default_factory=FailureDetection)
    umask: int = 0o022
    named_classes: tuple[NamedClass, ...] = ()
    transports: tuple[str, ...] = TRANSPORTS
    """What carries messages between clusters; those that are classes are `named_classes` too."""
    plans: str = ""
    """Rules that choose plans of collectives; see `runtime.collectives.rules`."""
    explain_waits: float = 30.0
    """Seconds in an MPI call after which ranks report what they wait for; 0 means never."""
    observed: bool = False
    """Whether ranks count their calls and the receivers of their messages, for who looks on."""
    traced: bool = False
    """Whether ranks keep their latest calls and messages, to tell them at their end."""
    checked: bool = False
    """Whether ranks tell of their calls, which are compared to find faults of the program."""
    for_ranks: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the settings of all ranks, as options of a command have them."""
    start_timeout: float = 60.0
    """Seconds until the application has to run; a plan has more where a start takes longer."""
    run_timeout: float = 0.0
    """Seconds for which the application may run; 0 means no limit."""
    start: tuple[int, int] | None = None
    """With how many of all clusters behind queues the run begins; None for all of them."""
    peers: PeersRequest | None = None
    """What has to be booked before there is a machine; until then the sites are placeholders."""
    links: tuple[PortLink, ...] = ()
    """What codes give at ports, and which take it."""
    typed: tuple[str, ...] = ()
    """The files that options of a command line without a descriptor name."""

    def clusters(self) -> Iterator[DeployedCluster]:
        """Yield every cluster, in order."""
        for site in self.sites:
            yield from site.clusters

    def cluster(self, position: Position) -> DeployedCluster:
        """Return the cluster at a position."""
        return self.sites[position[0]].clusters[position[1]]

    def queued(self) -> list[DeployedCluster]:
        """Return the clusters behind queues."""
        return [one for one in self.clusters() if one.batch is not None]

    def led_without(self, late: Collection[str]) -> Deployment:
        """Return the same machine, led by clusters that are not `late` where there are others."""

        def lead(names: Sequence[str], before: int) -> int:
            there = (one for one in (before, *range(len(names))) if names[one] not in late)
            return next(there, before)

        sites = tuple(
            replace(site, leader=lead([one.identifier for one in site.clusters], site.leader))
            for site in self.sites
        )
        leaders = [site.clusters[site.leader].identifier for site in sites]
        return replace(self, sites=sites, leader=lead(leaders, self.leader))

    def path_of(self, node: NodeAddress) -> str:
        """Return the `site/cluster/node` of a node."""
        cluster = self.cluster(node.cluster)
        return f"{cluster.path}/{cluster.nodes[node.number].name}"

    def application_of(self, cluster: DeployedCluster) -> Application | None:
        """Return the code that runs in a cluster, or None."""
        return next((one for one in self.applications if one.name == cluster.application), None)

    @property
    def replica_table(self) -> ReplicaTable | None:
        """The replicas of the ranks, or None where each rank is one process.

        Raises:
            TooFewHosts: two replicas of a rank would be on one host.
        """
        replicas = max((one.replicas for one in self.applications), default=1)
        if replicas == 1:
            return None
        return replica_table([size for _, size in self.hosts_of_replicas()], replicas)

    def hosts_of_replicas(self) -> Iterator[tuple[str, int]]:
        """Yield the failure domains, by path, and how many processes each has.

        That is a node, or a cluster on this machine, which stands for other hosts.
        """
        for cluster in self.clusters():
            if cluster.is_local:
                yield cluster.path, cluster.ranks
            else:
                yield from ((f"{cluster.path}/{one.name}", one.ranks) for one in cluster.nodes)

    def rank_names(self) -> RankNames:
        """Return how messages name the ranks: by their numbers in the COMM_WORLD of their code.

        The codes are named as well where several are coupled.
        """
        named, first = {}, dict.fromkeys((one.name for one in self.applications), 0)
        several = len(self.applications) > 1
        for cluster in self.clusters():
            code = self.application_of(cluster)
            if code is None:
                named[cluster.identifier] = NamedCluster(cluster.path, 0)
                continue
            table = self.replica_table if code.replicas > 1 else None
            named[cluster.identifier] = NamedCluster(
                cluster.path,
                0 if code.comm_world is CommWorld.CLUSTER else first[code.name],
                0 if table is None else table.ranks,
                code.name if several else "",
                is_world=code.comm_world is CommWorld.CLUSTER,
            )
            first[code.name] += cluster.ranks
        return RankNames(named)

    def grid(self) -> Grid:
        """Return the topology, without how it is deployed.

        Clusters that could not exchange messages otherwise have tunnels. A launcher of the user,
        and the daemon of a peer, may carry nothing but the streams of a front-end.
        """
        plain = Grid(
            tuple(
                Site(
                    site.name,
                    tuple(
                        Cluster(cluster.name, cluster.nodes, cluster.reachability)
                        for cluster in site.clusters
                    ),
                )
                for site in self.sites
            )
        )
        several = len(self.applications) > 1  # these can be coupled
        among = [
            one
            for code in self.applications
            if several or code.comm_world is CommWorld.GRID
            for one in code.clusters
            if self.cluster(one).ranks
        ]
        return with_tunnels(plain, among, filter(self._can_have_tunnel, among))

    def tunnelled(self) -> list[DeployedCluster]:
        """Return the clusters with tunnels, in order."""
        return [
            self.cluster((site, number))
            for site, number, cluster in self.grid().clusters()
            if cluster.has_tunnel
        ]

    def _can_have_tunnel(self, position: Position) -> bool:
        cluster = self.cluster(position)
        return SSH in self.transports and not cluster.peer and cluster.launcher is None
