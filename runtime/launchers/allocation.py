"""A job of a batch system: submitted, waited for, held by a lease, and given back.

The commands of the system run on the login node. The job holds the nodes only as long as a file
there is written again and again. The keeper does that, a process on the login node which is asked
to end when the run ends, when it is killed, loses its connection, or is on a laptop that is closed,
and which looks whether the guard lives that would ask for that: then it cancels the job, queued or
not. Where it cannot, the file stays as it is, and the job ends by itself.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from runtime.allocations import BatchJob, GrantedJob, JobPhase, JobRequest
from runtime.allocations.contract import Unreadable
from runtime.launchers.base import Command, Process
from runtime.launchers.errors import LauncherClosed, LaunchError
from runtime.launchers.job_queue import JobQueue, QueueSilent, login_words
from runtime.shown_text import LONGEST_CELL, shown

RENEWALS = 4
"""How often the lease is written during the time for which it is good."""

FIRST_POLL, LONGEST_POLL = 1.0, 30.0
"""Seconds between two questions to the batch system; each wait is half as long again."""

LAST_WORDS = 10
"""Seconds for a job that is ending to tell why."""

FIRST_WORD = 5
"""Seconds for a job whose processes were ended to tell that it is ending."""

MOST_SILENT = 300.0
"""Seconds without an answer after which the job is given up: a server may be started again."""

MOST_OF_NODES = 256 << 10
"""Letters of a list of nodes: its names, or some of them, become words of a command."""

_HOST = re.compile(r"\w[\w.-]{0,254}", re.ASCII)
"""The name of a node, which goes into the words of ssh and of an `mpiexec`."""

_KEEP = """\
lease=$1 pause=$2; shift 2
exec >/dev/null 2>&1  # the shell tells of commands that a signal has ended, also when nobody reads
mkdir -p "$HOME/${lease%/*}" && cd "$HOME" || exit 1
# ends are asked for from everything that runs here, so the commands that give the nodes back, too;
# the second time is for a job that was being submitted at the first
give_back() { trap "" TERM; rm -f "$lease" "$lease.new"; "$@"; sleep 0.5; "$@"; exit; }
trap 'give_back "$@"' TERM
n=0
while kill -0 "$PPID"; do  # a guard that was killed asks for nothing
    n=$((n + 1)); echo "$n" >"$lease.new" && mv "$lease.new" "$lease"; sleep "$pause"
done
give_back "$@"
"""
_FORGET = 'cd "$HOME" && rm -f "$1" "$1.new"'


class JobFailed(LaunchError):
    """A batch system does not give the nodes that a cluster needs."""


class TooEarly(JobFailed):
    """Nodes cannot be reserved as early as asked for, but in `earliest` seconds; 0 is unknown."""

    earliest = 0.0


class JobAllocation:
    """The nodes of one cluster. All methods wait, so none is for the thread of a launcher.

    `queue` is that of the login node. `place` is the cluster in messages.
    """

    def __init__(self, queue: JobQueue, request: JobRequest, *, place: str) -> None:
        self._queue = queue
        self._system = queue.system
        self._request = request
        self._place = place
        self._name = f"gcm-{os.urandom(4).hex()}"
        self._lease = f".cache/gcm/leases/{self._name}"
        self._keeper: Process | None = None
        self._number = ""
        self._begins = 0.0
        self._grant: GrantedJob | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The nodes that were granted, the first one first."""
        return self._grant.hosts if self._grant is not None else ()

    def submit(self, after: float | None = None) -> None:
        """Submit the job, with nodes that are reserved in `after` seconds if given.

        One that runs already is taken as it is, and neither held nor given back.

        Raises:
            TooEarly: the nodes could be reserved from a later time on.
            JobFailed: the system refused the job, with its own words.
            LaunchError: there is no connection to the login node.
        """
        system = self._system
        if self._request.job:
            self._number = self._request.job
            return
        renew = f"{self._request.lease / RENEWALS:.3f}"
        give_back = system.cancel(self._name)
        keep = login_words(("/bin/sh", "-c", _KEEP, "gcm", self._lease, renew, *give_back))
        self._keeper = self._queue.login.start(Command(keep))
        script = system.script(self._request, self._name, self._lease)
        reserve = () if after is None else system.reserve(self._request, self._name, after)
        code, printed, errors = self._queue.run(reserve or system.submit(), script)
        if code:
            earliest = system.earliest(printed) if reserve else None
            if earliest is not None:
                refusal = TooEarly(f"{system.name} reserves nothing as early", place=self._place)
                refusal.earliest = earliest
                raise refusal
            raise JobFailed(
                f"{system.name} refused the job",
                place=self._place,
                cause=errors or shown(printed.strip(), LONGEST_CELL) or f"exit code {code}",
                cure="Correct <batch>; a dry run shows the script",
            )
        self._begins = time.monotonic() + after if after is not None and reserve else 0.0
        try:
            self._number = system.number(printed)
        except Unreadable as fault:
            raise JobFailed(str(fault), place=self._place, cause=errors) from None

    def await_nodes(
        self, given_up: threading.Event, changed: Callable[[BatchJob], None]
    ) -> BatchJob:
        """Wait in the queue; return the job with its nodes, whose names are in `hosts` then.

        `changed` is called with what the batch system says of the job, whenever that is something
        else; while it says nothing, `UNKNOWN` with the reason. Raises JobFailed if the job ends
        instead, LauncherClosed once it is given up.
        """
        pause, heard, known = FIRST_POLL, time.monotonic(), None
        while True:
            try:
                job = self._queue.job(self._number, age=pause)
                if job.phase is JobPhase.ENDING:
                    job = self._last_job(given_up.wait)
            except QueueSilent as fault:
                if time.monotonic() - heard > MOST_SILENT:
                    raise JobFailed(
                        fault.what, place=self._place, cause=fault.cause, cure=fault.cure
                    ) from None
                reason = (fault.cause or fault.what).splitlines()[-1]
                job = BatchJob(self._number, JobPhase.QUEUED, "UNKNOWN", reason)
            else:
                heard = time.monotonic()
            if job.phase is JobPhase.RUNNING:
                self._grant = GrantedJob(job, self._names(job), self._request.slots)
                return job
            if job.phase is not JobPhase.QUEUED:
                too_early = "anything was started on its nodes" if job.nodes else "it had any nodes"
                raise JobFailed(
                    f"{job}, before {too_early}",
                    place=self._place,
                    cure="Ask the batch system why, or the administrator of the site",
                )
            if job != known:
                known = job
                changed(job)
            early = self._begins - time.monotonic()
            if given_up.wait(min(pause, early) if early > 0.0 else pause):
                raise LauncherClosed("the run ended while the job was queued", place=self._place)
            pause = FIRST_POLL if 0.0 < early <= pause else min(1.5 * pause, LONGEST_POLL)

    def is_running(self) -> bool:
        """Tell whether the job still has its nodes.

        Raises:
            QueueSilent: that cannot be told just now, or it is still ending.
            LaunchError: there is no connection to the login node.
        """
        job = self._last_job()
        if job.phase is JobPhase.ENDING:
            raise QueueSilent(str(job), place=self._place)
        return job.phase is JobPhase.RUNNING

    def await_end(self, given_up: threading.Event) -> bool:
        """Wait until the job is over; return whether it is, or this was given up."""
        pause = FIRST_POLL
        while not given_up.wait(pause):
            pause = min(1.5 * pause, LONGEST_POLL)
            try:
                if self._queue.job(self._number, age=pause).phase is JobPhase.OVER:
                    return True
            except QueueSilent:
                continue
            except LaunchError:
                break  # without a connection the keeper and the guards end everything
        return False

    def inside(self) -> tuple[str, ...]:
        """Return what goes before a command on the login node that runs on the first node."""
        assert self._grant is not None
        return tuple(login_words(self._system.inside(self._grant)))

    def state(self) -> str:
        """Return what the batch system says of the job, "" where it says nothing."""
        try:
            return str(self._last_job())
        except LaunchError:
            return ""

    def state_at_end(self, given_up: threading.Event) -> str:
        """Return what the batch system says of a job that seems to end, "" if it still runs.

        A system that ends a job ends its processes first, and tells of it seconds later.
        """
        try:
            job = self._last_job(given_up.wait, seems_to_end=True)
        except LaunchError:
            return ""
        return "" if job.phase is JobPhase.RUNNING else str(job)

    def _last_job(
        self, wait: Callable[[float], object] = time.sleep, *, seems_to_end: bool = False
    ) -> BatchJob:
        """Return the job. Why it is ending is told only later: this waits for that, a few seconds.

        For one that `seems_to_end` it also waits for word that it does. `wait` may come back early:
        whoever gives the job up needs no reason any more.

        Raises:
            LaunchError: nothing is told of it.
        """
        begun = time.monotonic()
        limits = {JobPhase.ENDING: LAST_WORDS, JobPhase.RUNNING: FIRST_WORD if seems_to_end else 0}
        job = self._queue.job(self._number)
        while time.monotonic() - begun < limits.get(job.phase, 0):
            if wait(0.5):  # a queue can only be asked again
                break
            job = self._queue.job(self._number)
        return job

    def end(self) -> None:
        """Give the nodes back; without a connection the keeper or the lease does that."""
        if self._keeper is None:
            return
        self._queue.forget(self._number)
        with suppress(LaunchError):
            self._queue.run(self._system.cancel(self._name))
        with suppress(LaunchError):
            self._keeper.kill()
            self._queue.run(("/bin/sh", "-c", _FORGET, "gcm", self._lease))

    def _names(self, job: BatchJob) -> tuple[str, ...]:
        code, printed, errors = 1, "", ""
        if len(job.nodes) <= MOST_OF_NODES:
            code, printed, errors = self._queue.run(self._system.host_names(job.nodes))
        names = tuple(printed.split())
        if code or len(names) != self._request.nodes or not all(map(_HOST.fullmatch, names)):
            nodes = shown(job.nodes, LONGEST_CELL)
            raise JobFailed(
                f"{job} on '{nodes}', which are not {self._request.nodes} nodes",
                place=self._place,
                cause=errors or shown(printed, LONGEST_CELL),
            )
        return names
