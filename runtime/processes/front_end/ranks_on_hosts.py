"""The ranks of one native MPI on several hosts: a process manager on each, and what passes between.

Each host is reached as a run reaches any other, over ssh or the starter of its batch system, which
know who may. A guard of ours starts the process manager there. What the PMI of one host has for the
others comes as lines of its output, over that connection, and goes on as lines of their input, so
nothing listens.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from runtime.launchers.base import Command, Exit, OutputStream, Reach
from runtime.launchers.command import CommandLauncher
from runtime.launchers.errors import LaunchError
from runtime.launchers.hops import Hop
from runtime.launchers.ssh import SshLauncher
from runtime.native_mpi import PmiExchange

if TYPE_CHECKING:
    from runtime.launchers.base import Sink
    from runtime.launchers.guarded import GuardedProcess
    from runtime.launchers.local import LocalLauncher
    from runtime.launchers.session import GuardSession

LONGEST_LINE = 1 << 26
"""Bytes in which a host may say what its ranks have put."""

NOT_PASSED_ON = frozenset(
    ("HOSTNAME", "PWD", "OLDPWD", "SHLVL", "_", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY",
     "XDG_RUNTIME_DIR", "XDG_SESSION_ID", "DISPLAY")
)  # fmt: skip
"""What is true of one host or one login alone."""

_STARTERS = ("LSB_JOBID", "OAR_JOB_ID", "PE_HOSTFILE")
"""Tell of jobs of LSF, OAR and Grid Engine, whose nodes let in what their own starters bring."""

_CHOSEN = ("HYDRA_BOOTSTRAP", "HYDRA_BOOTSTRAP_EXEC", "HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXEC")
"""By these a user, or a site, says how Hydra reaches hosts."""

_SLURM = "SLURM_JOB_ID"


def are_reached(environment: Mapping[str, str]) -> bool:
    """Tell whether the hosts of a cluster reach each other by ssh, or are in a job of Slurm.

    >>> are_reached({}), are_reached({"SLURM_JOB_ID": "1", "HYDRA_BOOTSTRAP": "slurm"})
    (True, True)
    >>> are_reached({"HYDRA_LAUNCHER_EXEC": "rsh"}), are_reached({"LSB_JOBID": "1"})
    (False, False)
    """
    if _SLURM in environment:
        return True
    chosen = {environment.get(name, "ssh") for name in _CHOSEN}
    return chosen == {"ssh"} and not any(name in environment for name in _STARTERS)


class HostSessions:
    """The guards of hosts whose ranks one front-end starts, each made when it is asked for."""

    def __init__(self, local: LocalLauncher, python: str) -> None:
        """Reach hosts with programs that run under `local`; `python` is that of the ranks."""
        self._local, self._python = local, python
        self._sessions: dict[str, GuardSession] = {}

    def __getitem__(self, host: str) -> GuardSession:
        """Return the session with a host; raises LaunchError."""
        if host not in self._sessions:
            self._sessions[host] = self._opened(host)
        return self._sessions[host]

    def _opened(self, host: str) -> GuardSession:
        own = os.uname().nodename
        if host in (own, own.partition(".")[0], "localhost"):
            return self._local
        if _SLURM in os.environ:
            step = (
                "srun", "--overlap", f"--nodelist={host}", "--nodes=1", "--ntasks=1", "--mpi=none",
                "--input=all", "--unbuffered", "--quiet", "--kill-on-bad-exit=0",
            )  # fmt: skip
            return CommandLauncher(
                self._local, lambda words: Command((*step, *words)), place=host,
                python=self._python, timeout=60.0,
            )  # fmt: skip
        return SshLauncher([Hop(host)], self._local, python=self._python, timeout=60.0)

    def close(self) -> None:
        """End everything on other hosts, on all at once: some may not answer any more."""
        ending = [
            threading.Thread(target=session.close)
            for session in tuple(self._sessions.values())  # one may be opened just now
            if session is not self._local
        ]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()
        self._sessions.clear()


def kvs_name() -> str:
    """Return a name for the key-value space of a native MPI that no other one has."""
    return f"gcm_{secrets.token_hex(8)}"


class RanksOnHosts:
    """The process managers of one native MPI as if they were one process: the first failure counts.

    Callbacks come on the threads of the sessions.
    """

    def __init__(
        self,
        hosts: Sequence[tuple[GuardSession, Command]],
        sink: Callable[[], Sink],
    ) -> None:
        """Start them; each has a `sink` of its own for what its ranks write. Raises LaunchError."""
        self._exchange = PmiExchange(len(hosts))
        self._lock = threading.Lock()
        self._managers: list[GuardedProcess] = []
        self._first: Exit | LaunchError | None = None
        self._left = len(hosts)
        self._callbacks: list[Callable[[], None]] = []
        self._tail: tuple[str, ...] = ()
        self.pid: int | None = None
        """None: there is more than one process."""
        with self._lock:  # nothing is passed on before all are there
            for at, (session, command) in enumerate(hosts):
                self._managers.append(session.start(command, _HostSink(self, at, sink())))
        for at, manager in enumerate(self._managers):
            manager.when_done(partial(self._ended, at))

    @property
    def tail(self) -> tuple[str, ...]:
        """What the first host that failed said last."""
        return self._tail

    def put(self, host: int, line: bytes) -> None:
        """Pass on what the ranks of a host have put, once all hosts have told that."""
        with self._lock:
            everything = self._exchange.put(host, json.loads(line))
            if everything is not None:
                for manager in self._managers:
                    manager.post(json.dumps(dict(everything)).encode() + b"\n")

    def signal(self, number: int, reach: Reach = Reach.GROUP) -> None:
        """Send a signal to all of them."""
        for manager in self._managers:
            manager.signal(number, reach)

    def close_input(self) -> None:
        """Need nothing: what is exchanged is their input."""

    def wait(self, _timeout: float | None = None) -> Exit:
        """Return how the first one that failed has ended; raises LaunchError. They have ended."""
        if isinstance(self._first, LaunchError):
            raise self._first
        return self._first or Exit(code=0)

    def when_done(self, call: Callable[[], None]) -> None:
        """Call once all have ended."""
        with self._lock:
            if self._left:
                self._callbacks.append(call)
                return
        call()

    def _ended(self, at: int) -> None:
        how: Exit | LaunchError
        try:
            how = self._managers[at].wait(0)
        except LaunchError as fault:
            how = fault
        has_failed = isinstance(how, LaunchError) or not how.ok
        with self._lock:
            is_first = has_failed and self._first is None
            if is_first:
                self._first, self._tail = how, self._managers[at].tail
            self._left -= 1
            callbacks = [] if self._left else self._callbacks
        if is_first:  # the ranks of the others would wait for those that are gone
            self.signal(signal.SIGKILL, Reach.TREE)
        for call in callbacks:
            call()


class _HostSink:
    """Takes what the process manager of a host says: lines for the others, and what ranks write."""

    def __init__(self, ranks: RanksOnHosts, host: int, written: Sink) -> None:
        self._ranks, self._host, self._written = ranks, host, written
        self._rest = b""

    def received(self, stream: OutputStream, data: bytes) -> None:
        """Take what comes."""
        if stream is OutputStream.ERROR:
            self._written.received(stream, data)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._ranks.put(self._host, line)
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
            self._ranks.signal(signal.SIGKILL, Reach.TREE)

    def finished(self) -> None:
        """Take what never got its newline."""
        self._written.finished()
