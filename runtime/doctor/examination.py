"""Examines all hosts in parallel: connects, asks the probes, tries connections."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from gcm.documents import Severity
from gcm.records import dataclass
from runtime.deployment import (
    DeployedCluster,
    Deployment,
    DeploymentPlan,
    Position,
    make_plan,
)
from runtime.doctor.asking import Conversation
from runtime.doctor.between import findings_of
from runtime.doctor.hosts import hosts_of, the_launcher, this_machine
from runtime.doctor.jobs import JobExamination, JobTrial, missing_starter, refusals
from runtime.doctor.records import Dial, ExaminedHost, Finding, HostFacts, Record, facts_of
from runtime.launchers.base import Launcher
from runtime.launchers.errors import LaunchError, WrongMpiexec
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import check_mpi_pair, detect_native_mpi
from runtime.native_mpi import AUTO, native_mpi
from runtime.processes.launcher.configuring import is_on_this_machine
from runtime.processes.launcher.package import bring_mpi_to_try
from runtime.processes.launcher.queued_place import LoginNodes
from runtime.processes.launcher.reaching import usual_launcher
from runtime.topology import Reachability
from runtime.transport.passage import host_and_port

AT_A_TIME = 32
TELL_EVERY = 5.0

Say = Callable[[str], None]
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found, and the records behind it."""

    findings: tuple[Finding, ...]
    records: tuple[Record, ...]
    dials: tuple[Dial, ...]
    lab: str = ""
    """What was seen of the lab in which the machine will be booked, if it will."""
    jobs: tuple[JobTrial, ...] = ()
    """What was seen in jobs of batch systems, where that was asked for."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings with which a run will fail."""
        return tuple(one for one in self.findings if one.severity is Severity.ERROR)


def examine(
    deployment: Deployment | None, python: str, *, timeout: float, say: Say, in_job: bool = False
) -> Examination:
    """Examine what a deployment needs, or this machine if none is given.

    Of a machine that has to be booked, nothing is known but who books it. Each wait ends after
    `timeout` seconds, and a host that cannot be reached does not keep the others from being
    examined. `say` is called from time to time with what is being waited for. With `in_job` each
    cluster behind a queue gets a job of one minute, in which two ranks are tried.
    """
    is_booked = deployment is not None and deployment.peers is not None
    plan = None if deployment is None or is_booked else make_plan(deployment)
    if deployment is None:
        hosts = [this_machine(python)]
    else:
        hosts = [the_launcher(python)] if is_booked else hosts_of(deployment, python)
    with _Visit(plan, hosts, timeout, say) as visit:
        records = visit.records()
        dials = visit.dials(records)
        batch = visit.batch(records, in_job=in_job)
    grid = None if plan is None else plan.grid
    findings = (*findings_of(records, grid, dials), *(one for each, _ in batch for one in each))
    trials = tuple(one for _, one in batch if one is not None)
    return Examination(_sorted(findings), tuple(records), tuple(dials), jobs=trials)


def _sorted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with the errors first."""
    return tuple(sorted(findings, key=lambda one: one.severity is not Severity.ERROR))


class _Visit:
    """The launchers and dialogues of one examination."""

    def __init__(
        self, plan: DeploymentPlan | None, hosts: Sequence[ExaminedHost], timeout: float, say: Say
    ) -> None:
        self._plan = plan
        self._hosts = hosts
        self._timeout = timeout
        self._say = say
        self._open = ExitStack()
        self._launchers: dict[int, Future[Launcher]] = {
            at: Future() for at, host in enumerate(hosts) if host.behind is None
        }
        self._talks: dict[int, Conversation] = {}
        self._doing: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> _Visit:
        self._local = self._open.enter_context(LocalLauncher())
        return self

    def __exit__(self, *_: object) -> None:
        for talk in self._talks.values():
            talk.close()
        self._open.close()

    # --- one host after the other, each in a thread of its own ----------------------------------

    def records(self) -> list[Record]:
        """Return what is known of each host, in their order."""
        return self._all([partial(self._record, at) for at in range(len(self._hosts))])

    def _record(self, at: int) -> Record:
        host = self._hosts[at]
        try:
            launcher = self._launcher(at)
            with self._busy(host, "its answers about itself"):
                talk = self._talk(at, launcher)
                names = [name for name in host.names if name]
                facts = facts_of(
                    talk.ask(
                        self._timeout, do="facts", mpiexec=host.mpiexec, names=names,
                        folder=host.folder, library=host.needs_mpi4py, modules=host.modules,
                    )
                )  # fmt: skip
                begun = time.time()
                there = float(talk.ask(self._timeout, do="clock"))
                ahead = (there - time.time(), there - begun)
        except LaunchError as error:
            return Record(host, fault=error)
        record = Record(host, facts, ahead=ahead)
        if host.behind is None and host.needs_mpi:
            record = replace(record, mpi_fault=self._mpi_fault(launcher, host, facts))
        return record

    def _mpi_fault(
        self, launcher: Launcher, host: ExaminedHost, facts: HostFacts
    ) -> LaunchError | None:
        """Return why the MPI of a host, or the one that is brought there, cannot run two ranks."""
        if brings := native_mpi(host.flavour).brings:
            return self._try_brought(launcher, host, facts.python, brings)
        if not facts.mpiexec:
            return None
        has_mpi4py = bool(facts.library) and host.needs_mpi4py
        return self._try_mpi(launcher, host, facts.mpiexec, facts.python, two=has_mpi4py)

    def _launcher(self, at: int) -> Launcher:
        """Return the launcher for a host, or for the one that it is behind."""
        host = self._hosts[at]
        if host.behind is not None:
            with self._busy(host, "its front-end"):
                return self._launchers[host.behind].result(2 * self._timeout)
        try:
            with self._busy(
                host, "the start of a process" if host.is_here else f"the way to {host.name}"
            ):
                launcher = self._reached(host)
        except LaunchError as error:
            self._launchers[at].set_exception(error)
            raise
        self._launchers[at].set_result(launcher)
        return launcher

    def _reached(self, host: ExaminedHost) -> Launcher:
        if host.is_here or self._plan is None:
            self._local.ready(self._timeout)
            return self._local
        cluster = self._plan.deployment.cluster(host.clusters[0])
        launcher = usual_launcher(cluster, self._local, timeout=self._timeout)
        with self._lock:
            self._open.push(launcher)
        launcher.ready(self._timeout + 1)
        return launcher

    def _talk(self, at: int, launcher: Launcher) -> Conversation:
        host = self._hosts[at]
        python = os.path.expanduser(host.python)
        if host.hops or host.launcher is not None:
            python = launcher.ready().python
        self._talks[at] = talk = Conversation(
            launcher, python, node=host.name if host.behind is not None else ""
        )
        return talk

    def _try_mpi(
        self, launcher: Launcher, host: ExaminedHost, mpiexec: str, python: str, *, two: bool
    ) -> LaunchError | None:
        """Return why `mpiexec` cannot run two ranks, or None."""
        with self._busy(host, f"two ranks of {mpiexec}"):
            try:
                native = detect_native_mpi(launcher, mpiexec, timeout=self._timeout)
                if host.flavour not in (AUTO, native.name):
                    what = (
                        f"{mpiexec} belongs to {native.name},"
                        f" and the descriptor says {host.flavour}"
                    )
                    return WrongMpiexec(what)
                if two:
                    check_mpi_pair(launcher, native, mpiexec, python, timeout=self._timeout)
            except LaunchError as error:
                return error
        return None

    def _try_brought(
        self, launcher: Launcher, host: ExaminedHost, python: str, brings: str
    ) -> LaunchError | None:
        """Return why the MPI that a run brings along cannot run two ranks, or None."""
        with self._busy(host, f"two ranks of {brings}, which is brought there"):
            try:
                mpi = bring_mpi_to_try(launcher, python, brings, launcher.make_folder())
                if host.needs_mpi4py:
                    check_mpi_pair(
                        launcher, native_mpi(host.flavour), mpi.mpiexec, python,
                        environment=mpi.environment, timeout=self._timeout,
                    )  # fmt: skip
            except LaunchError as error:
                return error
        return None

    # --- batch systems --------------------------------------------------------------------------

    def batch(
        self, records: Sequence[Record], *, in_job: bool
    ) -> list[tuple[list[Finding], JobTrial | None]]:
        """Ask batch systems whether they take the jobs; with `in_job` try two ranks in each."""
        clusters = [] if self._plan is None else self._plan.deployment.clusters()
        queued = [one for one in clusters if one.batch is not None]
        if not queued:
            return []
        reached = {at for one in records if one.facts is not None for at in one.host.clusters}
        modules = {at: one.host.modules for one in records for at in one.host.clusters}
        outwards = sorted({hop.host for one in clusters for hop in one.hops[-1:]})
        logins = LoginNodes(self._local, self._timeout)
        self._open.callback(logins.close)

        def examined(cluster: DeployedCluster) -> tuple[list[Finding], JobTrial | None]:
            queue, place = logins.queue_of(cluster), modules[cluster.position]
            try:
                queue.ready()
                found = list(refusals(cluster, queue))
                if found or not in_job:
                    return found, None
                job = JobExamination(cluster, queue, self._local, self._timeout)
                trial = job.trial(place, outwards)
            except LaunchError as fault:
                why = "its batch system could not be asked"
                return [Finding("batch-silent", Severity.ERROR, fault.what, cluster.path, why,
                                fault.cure, cluster.location)], None  # fmt: skip
            if isinstance(trial, Finding):
                return [trial], None
            return list(missing_starter(cluster, trial)), trial

        return self._all([partial(examined, one) for one in queued if one.position in reached])

    # --- connections ----------------------------------------------------------------------------

    def dials(self, records: Sequence[Record]) -> list[Dial]:
        """Try connections from the host of each front-end to the others; return the outcomes."""
        if self._plan is None or is_on_this_machine(self._plan):
            return []
        grid = self._plan.grid
        owners = {
            position: at
            for at, record in enumerate(records)
            if record.facts is not None
            for position in record.host.clusters
            if grid.cluster_at(*position).size
        }
        word = os.urandom(8).hex()
        endpoints: dict[tuple[Position, bool], str] = {}
        listening = self._all(
            [partial(self._listen, one, at, records[at], word) for one, at in owners.items()]
        )
        for found in listening:
            endpoints |= found
        dialled = self._all(
            [partial(self._dial, one, at, endpoints, owners, word) for one, at in owners.items()]
        )
        return [dial for found in dialled for dial in found]

    def _listen(
        self, position: Position, at: int, record: Record, word: str
    ) -> dict[tuple[Position, bool], str]:
        """Listen as the ranks and the front-end of a cluster do; return their addresses."""
        assert self._plan is not None
        assert record.facts is not None
        cluster = self._plan.deployment.cluster(position)
        endpoints: dict[tuple[Position, bool], str] = {}
        wanted = []
        if cluster.reachability is Reachability.DIRECT:
            wanted.append((False, record.facts.host, 0))
        if cluster.reachability in (Reachability.DIRECT, Reachability.FRONT_END):
            wanted.append((True, cluster.front_end.address, cluster.front_end.port))
        for is_front_end, name, port in wanted:
            with suppress(LaunchError), self._busy(record.host, "a listening port"):
                found = self._talks[at].ask(self._timeout, do="listen", port=port, word=word)
                endpoints[position, is_front_end] = f"{name}:{found.get('port', port)}"
        return endpoints

    def _dial(
        self,
        source: Position,
        at: int,
        endpoints: dict[tuple[Position, bool], str],
        owners: dict[Position, int],
        word: str,
    ) -> list[Dial]:
        there = {
            endpoint: address
            for endpoint, address in endpoints.items()
            if owners[endpoint[0]] != owners[source]
        }
        pairs = map(host_and_port, there.values())
        with self._busy(self._hosts[at], "connections to the other clusters"):
            try:
                outcomes = self._talks[at].ask(
                    self._timeout,
                    do="dial",
                    to=[(host, int(port)) for host, port in pairs],
                    word=word,
                )
            except LaunchError:
                return []
        return [
            Dial(source, target, is_front_end, address, outcome)
            for ((target, is_front_end), address), outcome in zip(
                there.items(), outcomes, strict=False
            )
        ]

    # --- waiting --------------------------------------------------------------------------------

    def _all(self, calls: Sequence[Callable[[], _Result]]) -> list[_Result]:
        """Make all calls in parallel and return their results."""
        if not calls:
            return []
        pool = ThreadPoolExecutor(min(AT_A_TIME, len(calls)))
        try:
            futures = [pool.submit(call) for call in calls]
            waiting = set(futures)
            while waiting:
                _, waiting = wait(waiting, TELL_EVERY)
                if waiting:
                    self._report()
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _busy(self, host: ExaminedHost, what: str) -> Iterator[None]:
        with self._lock:
            self._doing[host.where] = (what, time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                self._doing.pop(host.where, None)

    def _report(self) -> None:
        with self._lock:
            doing = list(self._doing.items())
        now = time.monotonic()
        for where, (what, since) in doing:
            self._say(f"{where}: waiting for {what}, {now - since:.0f} s of {self._timeout:g} s")
