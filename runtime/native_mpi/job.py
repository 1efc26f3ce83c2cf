"""The ranks of a cluster as values, and the only place that spells the command lines for them.

A plan makes the `Job` of a cluster; who reaches the cluster adds the paths that were found there;
the front-end starts its parts. Each of them hands on values. Command lines are made of these at the
end, for the front-end that runs them and for a dry run that shows them. Nobody takes them apart but
the rank itself (`runtime.processes.rank.options`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from gcm.records import dataclass
from runtime.native_mpi.contract import AUTO, MpiWorld, names_hosts
from runtime.native_mpi.managed import ManagedRanks

RANK_MODULE = "runtime.rank"


def python_module(python: str, module: str) -> tuple[str, ...]:
    """Return the command that runs a module of this package.

    `-P`: the folder in which it starts is that of the program, and a `runtime.py` or `gcm.py` there
    must not hide this package.
    """
    return (python, "-P", "-m", module)


def run_directory_arguments(run_directory: str) -> tuple[str, ...]:
    """Return the words by which the processes of a run's ranks are recognised on their host."""
    return ("--room", run_directory) if run_directory else ()


@dataclass(frozen=True, slots=True)
class RankProxy:
    """A small `script` that an `mpiexec` starts in place of each rank.

    The rank itself is forked by the process that listens at `address`.
    """

    script: str
    address: str


@dataclass(frozen=True, slots=True)
class RankProgram:
    """What each rank of a cluster runs, and what it is told.

    `python` runs it as a rank of the cluster with this identifier. The program is a script, a
    module or an executable, as `kind` says, and `path` what it is called where the ranks start. The
    fields from `comm_world` to `restart` are those of the application. `run_directory` is the
    private folder of the run, which is known once the cluster has been reached.
    """

    python: str
    cluster: str
    application: str
    kind: str
    path: str
    arguments: tuple[str, ...] = ()
    comm_world: str = "grid"
    failures: str = "abort"
    recovery: str = ""
    recovery_messages: str = ""
    replicas: int = 1
    restart: bool = False
    is_joined: bool = True
    """Whether ranks of other clusters run it, too."""
    shim: str = ""
    """The library that makes a C program see all clusters, once it is known for its MPI."""
    umask: int = 0o022
    run_directory: str = ""
    proxy: RankProxy | None = None

    @property
    def needs_shim(self) -> bool:
        """Whether it is a native program whose COMM_WORLD is to be the grid, if it has one."""
        return self.kind == "executable" and self.comm_world == "grid"

    @property
    def goes_on(self) -> bool:
        """Whether the other ranks go on when one is lost, at least for a while."""
        return self.failures == "return" or self.replicas > 1


@dataclass(frozen=True, slots=True)
class JobPart:
    """One native MPI world with one starter: consecutive ranks of a cluster, from `first` on.

    That is the whole cluster, over all its hosts; or the ranks of one host, where losses are
    survived; or a single rank that was started again, whose `incarnation` is beyond the first.
    Without `hosts` it is on the host of the front-end.
    """

    first: int
    ranks: int
    hosts: tuple[tuple[str, int], ...] = ()
    incarnation: int = 1

    @property
    def host(self) -> str:
        """The first of its hosts, the only one of a part whose loss is survived."""
        return self.hosts[0][0] if self.hosts else ""

    @property
    def is_restarted(self) -> bool:
        """Whether it is a single rank that was started again."""
        return self.incarnation > 1

    @property
    def has_mpiexec(self) -> bool:
        """Whether an `mpiexec` starts it. A single rank beside the front-end needs none."""
        return bool(self.hosts) or not self.is_restarted


@dataclass(frozen=True, slots=True)
class Job:
    """The native MPI job of a cluster.

    `hosts` are the names and numbers of ranks of hosts other than that of the front-end, empty
    where that has all ranks. `options` are those of the user for `mpiexec`, `flavour` is the name
    of its MPI. `environment` is for the ranks, laid over that of the place where they run. Ranks of
    a host that is lost are started again on `spares`, each of which has room for so many. If it
    `is_late`, each rank is started alone, in a place that was kept for it.
    """

    program: RankProgram
    ranks: int
    mpiexec: str = "mpiexec"
    flavour: str = AUTO
    hosts: tuple[tuple[str, int], ...] = ()
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    spares: tuple[tuple[str, int], ...] = ()
    is_late: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether the loss of a rank is no end for the others."""
        return self.program.goes_on

    @property
    def is_elsewhere(self) -> bool:
        """Whether ranks may be on other hosts than the front-end."""
        return bool(self.hosts) or names_hosts(self.options)

    @property
    def for_each_host(self) -> bool:
        """Whether each host is a part: an `mpiexec` of several hosts ends with the first loss."""
        return self.goes_on and bool(self.hosts)

    @property
    def parts(self) -> tuple[JobPart, ...]:
        """What is started first: all ranks, in their order."""
        if self.is_late:
            return ()
        if not self.for_each_host:
            return (JobPart(0, self.ranks, self.hosts),)
        parts: list[JobPart] = []
        first = 0
        for host, ranks in self.hosts:
            parts.append(JobPart(first, ranks, ((host, ranks),)))
            first += ranks
        return tuple(parts)

    def restarted(self, rank: int, incarnation: int, host: str) -> JobPart:
        """Return the part for a rank that is started again, on a host if each host is a part.

        It has its native MPI to itself, as all ranks have that go on without lost ones.
        """
        return JobPart(rank, 1, ((host, 1),) if host else (), incarnation)

    def rank_argv(self, part: JobPart) -> tuple[str, ...]:
        """Return the command of each rank of a part, as its `mpiexec` is told it."""
        program = self.program
        start = self._start
        if program.proxy is not None and not part.is_restarted:
            there = program.proxy
            start = (program.python, "-I", "-S", there.script, there.address, RANK_MODULE)
        return (*start, *self._rank_words(part))

    def managed(self, part: JobPart, *, tells_ends: bool) -> ManagedRanks:
        """Return a part as our process manager is told it, which may tell how its ranks end."""
        program = self.program
        return ManagedRanks(
            start=self._start,
            words=self._rank_words(part, is_managed=True),
            ranks=part.ranks,
            first=part.first,
            incarnation=part.incarnation,
            fork_server="" if program.proxy is None or part.hosts else program.proxy.address,
            reports_to=program.run_directory if tells_ends else "",
            stays=self.goes_on,
        )

    def _is_on_one_host(self, part: JobPart) -> bool:
        """Tell whether all ranks of a part are on one host for certain."""
        return not self.options and len(part.hosts) < 2

    def managed_on_hosts(self, part: JobPart, name: str) -> tuple[ManagedRanks, ...]:
        """Return a part as the process manager of each of its hosts is told it.

        `name` is that of the key-value space that they share.
        """
        whole = self.managed(part, tells_ends=False)
        counts, left = [], part.ranks
        for _, places in part.hosts:  # the last ones may have more places than are needed
            counts.append(min(places, left))
            left -= counts[-1]
        return tuple(
            replace(whole, ranks=count, before=sum(counts[:at]), hosts=tuple(counts), name=name)
            for at, count in enumerate(counts)
            if count
        )

    @property
    def _start(self) -> tuple[str, ...]:
        return python_module(self.program.python, RANK_MODULE)

    def _rank_words(self, part: JobPart, *, is_managed: bool = False) -> tuple[str, ...]:
        program = self.program
        named = {
            "--first": str(part.first) if self.for_each_host else "",
            "--again": f"{part.first}#{part.incarnation}" if part.is_restarted else "",
            "--cluster": program.cluster,
            "--application": program.application,
            "--goes-on": "yes" if program.goes_on else "",
            "--umask": f"{program.umask:03o}",
            "--parent": "manager" if is_managed else "",
            "--on-one-host": "yes" if self._is_on_one_host(part) else "",
            "--shim": program.shim,
            f"--{program.kind}": program.path,
        }
        return (
            *run_directory_arguments(program.run_directory),
            *(word for name, value in named.items() if value for word in (name, value)),
            "--",
            *program.arguments,
        )

    def world(self, part: JobPart, beside: Mapping[str, str] | None = None) -> MpiWorld:
        """Return what the `mpiexec` of a part starts; `beside` is environment for it and the ranks.

        What the job says of the environment takes precedence.
        """
        return MpiWorld(
            argv=self.rank_argv(part),
            ranks=part.ranks,
            mpiexec=self.mpiexec,
            hosts=part.hosts,
            options=self.options,
            environment={**(beside or {}), **self.environment},
        )
