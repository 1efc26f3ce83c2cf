"""The front-ends of this machine, started as one process that imports once and then forks.

Each of them dials the launcher over a socket in a private folder, so that their bytes do not pass
through the guard.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from runtime.deployment.planning.plan import DeploymentPlan
from runtime.launchers.base import Command, Process, last_words
from runtime.launchers.errors import LaunchError
from runtime.launchers.local import LocalLauncher
from runtime.launchers.mpiexec import VersionQuestion, mpiexec_here
from runtime.lazy_import import logger
from runtime.membership.run_directory import address_in
from runtime.native_mpi import AUTO, Job, RankProxy
from runtime.processes.configuration import LISTENER, Keys, as_first_input
from runtime.processes.launcher.place import ClusterPlace, RequestHandler
from runtime.processes.launcher.supply import Supplied, supply
from runtime.processes.launcher.warm_start import WarmStart, can_fork
from runtime.processes.rank import proxy
from runtime.step_name import StepKind, StepName
from runtime.transport.credentials import Credentials
from runtime.transport.keys import RunKeys
from runtime.transport.listening import Listener
from runtime.transport.streams import SocketStream

_log = logger(__name__)

_CREDENTIALS = struct.Struct("3i")  # process, user, group


class LocalFrontEnds:
    """Starts the front-ends of clusters on this machine that have the same Python."""

    def __init__(self, places: Sequence[ClusterPlace], handler: RequestHandler) -> None:
        self._places = {place.identifier: place for place in places}
        self._handler = handler

    def open(
        self,
        plan: DeploymentPlan,
        keys: Keys,
        local: LocalLauncher,
        warm: WarmStart | None = None,
    ) -> None:
        """Start the front-ends, from a warm start if it fits; raises LaunchError, Unreachable.

        None is started once one of them was given up: they share a process.
        """
        address = address_in(local.make_folder(), LISTENER)
        credentials = Credentials(RunKeys(keys.secret).keyring([LISTENER]), LISTENER)
        listener = Listener(self._handler.reactor, address, credentials, self._admit)
        questions = self._questions(plan, local)
        given: list[Supplied] = []
        for place in self._places.values():
            place.check_wanted()  # where there are many this takes long
            address = listener.address
            given.append(supply(plan, place.cluster, local, keys, address, idle=place.idle))
        if warm is not None:
            warm.load(plan)
        forks = "" if warm is None else warm.ranks
        given = [_prepared(one, questions, forks) for one in given]
        for place, found in zip(self._places.values(), given, strict=True):
            place.work, place.folder, place.supplied = found.work, found.folder, found
        leader, first = given[0], as_first_input([found.configuration for found in given])
        command = Command(
            leader.argv, leader.environment, leader.configuration.run_directory, first
        )
        self._watch((local if warm is None else warm).start(command))

    def _questions(self, plan: DeploymentPlan, local: LocalLauncher) -> dict[str, VersionQuestion]:
        """Ask each `mpiexec` once what it is, for all front-ends that would find the same one."""
        clusters = [place.cluster for place in self._places.values()]
        asked = {
            _found_mpiexec(job)
            for one in clusters
            if one.ranks and one.mpi.flavour == AUTO and one.front_end.python == sys.executable
            and (job := plan.step(StepName(StepKind.RANKS, one.identifier)).job) is not None
        }  # fmt: skip
        return {mpiexec: VersionQuestion(local, mpiexec) for mpiexec in asked}

    def _watch(self, process: Process) -> None:
        for place in self._places.values():
            place.process = process
        if any(place.was_killed for place in self._places.values()):
            process.kill()  # they were given up before there was something to kill
        process.when_done(lambda: self._ended(last_words(process)))

    def _ended(self, words: str) -> None:
        for place in self._places.values():
            self._handler.ended(place, words)

    def _admit(self, connected: socket.socket, name: str, received: bytes) -> None:
        place = self._places.get(name)
        if place is None or place.channel is not None:
            _log.warning("%s was refused: no such front-end is expected", name)
            connected.close()
            return
        handler = self._handler
        found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        place.pid = _CREDENTIALS.unpack(found)[0]
        channel = place.connect(
            handler.reactor,
            SocketStream(connected),
            partial(handler.handle_call, place),
            received,
        )
        channel.when_closed(lambda ended: handler.ended(place, ended.what))


def _found_mpiexec(job: Job) -> str:
    return mpiexec_here(job.mpiexec, job.environment)


def _prepared(given: Supplied, questions: Mapping[str, VersionQuestion], forks: str) -> Supplied:
    """Name the native MPI of a job, and let the process at the address `forks` fork its ranks.

    Where the MPI is not known the front-end asks, and tells why.
    """
    job = given.configuration.job
    if job is None:
        return given
    mpiexec = _found_mpiexec(job) if questions else ""
    if job.flavour == AUTO and mpiexec in questions:
        with suppress(LaunchError):
            job = replace(job, flavour=questions[mpiexec].answer().name, mpiexec=mpiexec)
    if forks and can_fork(job):
        job = replace(job, program=replace(job.program, proxy=RankProxy(_proxy(), forks)))
    return replace(given, configuration=replace(given.configuration, job=job))


def _proxy() -> str:
    """Return the file of the proxy: its byte code where that is new, since each rank loads it."""
    source, code = proxy.__file__, proxy.__spec__.cached or ""
    try:
        return code if os.path.getmtime(code) >= os.path.getmtime(source) else source
    except OSError:
        return source
