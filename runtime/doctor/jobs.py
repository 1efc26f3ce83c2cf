"""Whether a batch system takes the job of a cluster, and what starts ranks within such a job."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from gcm.documents import Severity
from gcm.records import dataclass
from runtime.allocations import BatchJob, JobRequest
from runtime.deployment import DeployedCluster
from runtime.doctor.asking import Conversation
from runtime.doctor.records import Finding, HostFacts, facts_of
from runtime.launchers.allocation import JobAllocation, JobFailed
from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import (
    CommandNotFound,
    LauncherClosed,
    LaunchError,
    WrongPlatform,
)
from runtime.launchers.job_queue import JobQueue
from runtime.launchers.lines import Collected
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import SIZE_PROBE, detect_native_mpi, mpi_command
from runtime.native_mpi import MpiWorld, native_mpi, native_mpi_of_library
from runtime.native_mpi.openmpi import OPEN_MPI
from runtime.processes.launcher.package import bring_mpi_to_try
from runtime.processes.launcher.reaching import usual_launcher
from runtime.results.folders import make_path

_OWN_WAYS = ("lsf", "oar")
"""Systems whose nodes let in what starters of their own bring."""

TWO_RANKS = "starts two ranks"

_SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class JobTrial:
    """What was seen in a job of one minute.

    `starters` are commands and what they did with two ranks; a run `uses` one of them, or none:
    then this says what starts its ranks. `outgoing` are the ssh ports that were
    tried from its first node, with the outcomes.
    """

    cluster: str
    job: str
    nodes: tuple[str, ...]
    starters: tuple[tuple[str, str], ...]
    facts: HostFacts
    outgoing: tuple[tuple[str, str], ...] = ()
    uses: str = ""


def refusals(cluster: DeployedCluster, queue: JobQueue) -> Iterator[Finding]:
    """Yield why a batch system would not take the job of a cluster; raises LaunchError."""
    assert cluster.batch is not None
    system = queue.system
    if not (words := system.check()):
        return
    script = system.script(cluster.batch, "gcm-doctor", ".cache/gcm/leases/gcm-doctor")
    code, printed, errors = queue.run(words, script)
    if code:
        yield _finding(
            cluster, "batch-refused", f"{system.name} would refuse the job: {errors or printed}",
            "the run would end before it has any nodes", "correct <batch>; a dry run shows the"
            f" script, and the site answers to: {shlex.join(words)} < script",
        )  # fmt: skip


class JobExamination:
    """Tries two ranks in a job of a cluster; each wait ends after `timeout` seconds."""

    def __init__(
        self, cluster: DeployedCluster, queue: JobQueue, local: LocalLauncher, timeout: float
    ) -> None:
        assert cluster.batch is not None
        self._cluster = cluster
        self._local = local
        self._timeout = timeout
        self._system = queue.system
        self._allocation = JobAllocation(queue, _short(cluster.batch), place=cluster.path)
        self._state = "is not known"

    def trial(self, modules: Sequence[str], outwards: Sequence[str]) -> JobTrial | Finding:
        """Return what was seen in the job, or why there was none; raises LaunchError.

        `modules` are what programs import, `outwards` hosts whose ssh port is tried.
        """
        given_up = threading.Event()
        timer = threading.Timer(self._timeout, given_up.set)
        timer.start()
        try:
            self._allocation.submit()
            job = self._allocation.await_nodes(given_up, self._queued)
            return self._trial(job, modules, outwards)
        except LauncherClosed:
            return _finding(
                self._cluster, "job-queued", f"no nodes within {self._timeout:g} s: {self._state}",
                "nothing was tried there", "try again later, or allow more time with --timeout",
                is_error=False,
            )  # fmt: skip
        except JobFailed as fault:
            what = f"{fault.what}: {fault.cause}" if fault.cause else fault.what
            why = "a run would not get its nodes either"
            return _finding(self._cluster, "job-failed", what, why, fault.cure)
        except WrongPlatform as fault:
            why = "the descriptor wants an MPI to be brought along, which starts the ranks"
            return _finding(self._cluster, "mpi-not-brought", fault.what, why, fault.cure)
        finally:
            timer.cancel()
            timer.join()
            self._allocation.end()

    def _queued(self, job: BatchJob) -> None:
        self._state = str(job)

    def _trial(self, job: BatchJob, modules: Sequence[str], outwards: Sequence[str]) -> JobTrial:
        inside = self._allocation.inside()
        with ExitStack() as last:
            there = usual_launcher(self._cluster, self._local, self._timeout, inside)
            last.enter_context(there)
            python = there.ready(self._timeout).python
            program = (python, "-c", SIZE_PROBE)
            talk = Conversation(there, python)
            last.callback(talk.close)
            facts = facts_of(
                talk.ask(
                    self._timeout, do="facts", mpiexec=self._cluster.mpi.command_path, names=[],
                    folder=self._cluster.front_end.folder, library=True, modules=[*modules],
                )
            )  # fmt: skip
            to = [(host, _SSH_PORT) for host in outwards]
            outcomes = talk.ask(self._timeout, do="dial", to=to, word="") if to else []
            return JobTrial(
                self._cluster.path,
                job.number,
                self._allocation.hosts,
                tuple(
                    (shlex.join(one.argv[: -len(program)]), self._try(there, one))
                    for one in self._starters(there, program, facts.mpiexec)
                ),
                facts,
                tuple(zip(outwards, outcomes, strict=False)),
                self._used(facts),
            )

    def _used(self, facts: HostFacts) -> str:
        """Return in words what starts the ranks of a run."""
        native = native_mpi_of_library(self._cluster.mpi.flavour, facts.library)
        several = len(self._allocation.hosts) > 1
        if not native.is_managed({}) or self._cluster.mpi.options:
            return "the last of these"
        if several and self._system.name in _OWN_WAYS:
            return "the last of these"
        ways = "srun" if self._system.name == "slurm" else "ssh"
        return f"gcm-pmi on each node, over {ways}" if several else "gcm-pmi"

    def _starters(self, there: Launcher, program: Sequence[str], found: str) -> Iterator[Command]:
        """Yield the commands that may start two ranks; the last one is what a run would do."""
        is_root, mpiexec = there.ready().user == 0, found or self._cluster.mpi.command_path
        environment: Mapping[str, str] = {}
        if brings := native_mpi(self._cluster.mpi.flavour).brings:
            asked = self._cluster.front_end.folder
            named = make_path(there, program[0], asked) if asked else ""
            mpi = bring_mpi_to_try(there, program[0], brings, there.make_folder(named))
            mpiexec, environment = mpi.mpiexec, mpi.environment
        names = self._allocation.hosts
        hosts = [(one, 1) for one in names] if len(names) > 1 else []
        for own in self._system.own_starters:
            yield Command((*own, *program))
        world = MpiWorld(program, 2, "prterun", hosts)
        yield mpi_command(world, OPEN_MPI, is_root=is_root)
        try:
            native = detect_native_mpi(there, mpiexec, timeout=self._timeout)
        except LaunchError:
            native = OPEN_MPI  # its options are fit for finding out that it does not work
        world = MpiWorld(program, 2, mpiexec, hosts, self._cluster.mpi.options, environment)
        yield mpi_command(world, native, is_root=is_root)

    def _try(self, there: Launcher, command: Command) -> str:
        """Return what a command does with two ranks, in words."""
        printed = Collected()
        process = there.start(
            command, printed
        )  # whose input stays open, as that of a run's mpiexec
        try:
            ended = process.wait(self._timeout)
        except CommandNotFound:
            return "is not there"
        except LaunchError as fault:
            process.kill()
            return fault.what
        sizes = re.findall(r"size (\d+)", printed.output)
        if sizes == ["2", "2"]:
            return TWO_RANKS
        if sizes == ["1", "1"]:
            return "starts two programs that do not find each other: it belongs to another MPI"
        lines = (printed.error or printed.output).strip().splitlines()
        return f"fails ({ended}): {lines[0] if lines else 'it says nothing'}"


def missing_starter(cluster: DeployedCluster, trial: JobTrial) -> Iterator[Finding]:
    """Yield that the `mpiexec` of the descriptor does not work in a job."""
    command, outcome = trial.starters[-1]
    if outcome != TWO_RANKS:
        works = [one for one, outcome in trial.starters if outcome == TWO_RANKS]
        instead = f"what works there: {', '.join(works)}" if works else "bring an MPI there"
        yield _finding(
            cluster, "job-mpiexec", f"in job {trial.job} {command} {outcome}",
            "it starts the ranks of the cluster",
            f"name another one in <mpi command-path='...'/>; {instead}",
        )  # fmt: skip


def _short(request: JobRequest) -> JobRequest:
    """Return a request for two ranks and a minute."""
    nodes = min(2, request.nodes)
    each = max(request.tasks_per_node, 2 // nodes)
    return replace(request, nodes=nodes, tasks_per_node=each, walltime=60.0, signal="", places=())


def _finding(
    cluster: DeployedCluster, code: str, what: str, why: str, fix: str, *, is_error: bool = True
) -> Finding:
    severity = Severity.ERROR if is_error else Severity.WARNING
    return Finding(code, severity, what, cluster.path, why, fix, cluster.location)
