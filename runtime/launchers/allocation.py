"""A job of a batch system: submitted, waited for, held by a lease, and given back.

The commands of the system run on the login node, through a launcher that leads there. The job holds
the nodes only as long as a file on the login node is written again and again. A process there does
that, which ends with its launcher: so the nodes are given back when the run ends, and when it is
killed, loses its connection, or is on a laptop that is closed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from runtime.allocations import BatchJob, BatchSystem, JobPhase, JobRequest
from runtime.allocations.contract import Unreadable
from runtime.launchers.base import Command, Launcher, Process
from runtime.launchers.errors import LauncherClosed, LaunchError, StillRunning
from runtime.launchers.lines import Collected

RENEWALS = 4
"""How often the lease is written during the time for which it is good."""

FIRST_POLL, LONGEST_POLL = 1.0, 30.0
"""Seconds between two questions to the batch system; each wait is half as long again."""

ANSWER_TIMEOUT = 60.0
"""Seconds for a command of the batch system: one that hangs must not hang the run."""

MOST_SILENT = 5
"""After so many questions without an answer the job is given up."""

_KEEP = (
    'mkdir -p "$HOME/${1%/*}" && cd "$HOME" || exit 1; n=0;'
    ' while :; do n=$((n + 1)); echo "$n" >"$1.new" && mv "$1.new" "$1"; sleep "$2"; done'
)
_FORGET = 'cd "$HOME" && rm -f "$1" "$1.new"'


class JobFailed(LaunchError):
    """A batch system does not give the nodes that a cluster needs."""


class JobAllocation:
    """The nodes of one cluster. All methods wait, so none is for the thread of a launcher.

    `login` leads to where the commands of the batch system are, and stays its maker's. `place` is
    the cluster in messages.
    """

    def __init__(
        self, login: Launcher, system: BatchSystem, request: JobRequest, *, place: str
    ) -> None:
        self._login = login
        self._system = system
        self._request = request
        self._place = place
        self._name = f"gcm-{os.urandom(4).hex()}"
        self._lease = f".cache/gcm/leases/{self._name}"
        self._keeper: Process | None = None
        self.hosts: tuple[str, ...] = ()
        """The nodes that were granted, the first one first."""
        self._number = ""

    def submit(self) -> None:
        """Submit the job; raises JobFailed, with the system's own words, or LaunchError."""
        system = self._system
        renew = f"{self._request.lease / RENEWALS:.3f}"
        self._keeper = self._login.start(
            Command(("/bin/sh", "-c", _KEEP, "gcm", self._lease, renew))
        )
        script = system.script(self._request, self._name, self._lease)
        code, printed, said = self._run(system.submit(), script)
        if code:
            raise JobFailed(
                f"{system.name} refused the job",
                place=self._place,
                cause=said or printed or f"exit code {code}",
                cure="Correct <batch>; a dry run shows the script",
            )
        try:
            self._number = system.number(printed)
        except Unreadable as fault:
            raise JobFailed(
                str(fault), place=self._place, cause=said, cure="Look for it by hand, and cancel it"
            ) from None

    def await_hosts(
        self, given_up: threading.Event, changed: Callable[[BatchJob], None]
    ) -> tuple[str, ...]:
        """Wait in the queue; return the names of the nodes.

        `changed` is called with what the batch system says of the job, whenever that is something
        else. Raises JobFailed if the job ends instead, LauncherClosed once it is given up.
        """
        pause, silent, known = FIRST_POLL, 0, None
        while True:
            code, printed, said = self._run(self._system.status(self._number))
            if code and not self._system.is_forgotten(said):
                silent += 1
                if silent == MOST_SILENT:
                    raise JobFailed(
                        f"{self._system.name} does not tell of job {self._number}",
                        place=self._place,
                        cause=said or f"exit code {code}",
                        cure="Look whether the batch system works there",
                    )
            else:
                silent = 0
                job = self._job(printed)
                if job.phase is JobPhase.RUNNING:
                    self.hosts = self._names(job)
                    return self.hosts
                if job.phase is JobPhase.OVER:
                    raise JobFailed(
                        f"{job}, before it had any nodes",
                        place=self._place,
                        cure="Ask the batch system why, or the administrator of the site",
                    )
                if job != known:
                    known = job
                    changed(job)
            if given_up.wait(pause):
                raise LauncherClosed("the run ended while the job was queued", place=self._place)
            pause = min(1.5 * pause, LONGEST_POLL)

    def inside(self) -> tuple[str, ...]:
        """Return what goes before a command on the login node that runs on the first node."""
        return tuple(login_words(self._system.inside(self._number, self.hosts[0])))

    def state(self) -> str:
        """Return what the batch system says of the job, "" where it says nothing."""
        try:
            code, printed, _ = self._run(self._system.status(self._number))
            return "" if code else str(self._job(printed))
        except LaunchError:
            return ""

    def end(self) -> None:
        """Give the nodes back; without a connection the lease does that."""
        with suppress(LaunchError):
            if self._number:
                self._run(self._system.cancel(self._number))
        with suppress(LaunchError):
            if self._keeper is not None:
                self._keeper.kill()
                self._run(("/bin/sh", "-c", _FORGET, "gcm", self._lease))

    def _names(self, job: BatchJob) -> tuple[str, ...]:
        code, printed, said = self._run(self._system.host_names(job.nodes))
        names = tuple(printed.split())
        if code or len(names) != self._request.nodes:
            raise JobFailed(
                f"{job} on {job.nodes!r}, which are not {self._request.nodes} nodes",
                place=self._place,
                cause=said or printed,
            )
        return names

    def _job(self, printed: str) -> BatchJob:
        try:
            return self._system.job(self._number, printed)
        except Unreadable as fault:
            raise JobFailed(str(fault), place=self._place) from None

    def _run(self, words: Sequence[str], text: str = "") -> tuple[int, str, str]:
        """Run a command on the login node; return its exit code and what it has printed."""
        said = Collected()
        process = self._login.start(Command(login_words(words), first_input=text.encode()), said)
        process.close_input()
        try:
            code = process.wait(ANSWER_TIMEOUT).shell_code
        except StillRunning:
            process.kill()
            return 1, "", f"{words[0]} has not answered within {ANSWER_TIMEOUT:g} s"
        return code, said.output, said.error.strip()


def login_words(words: Sequence[str]) -> Sequence[str]:
    """Return a command as a login shell runs it, whose profile says where batch systems are.

    >>> login_words(("squeue", "--me"))
    ('/bin/sh', '-lc', 'exec "$@"', 'gcm', 'squeue', '--me')
    """
    return ("/bin/sh", "-lc", 'exec "$@"', "gcm", *words)
