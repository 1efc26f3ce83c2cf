"""The process that forks the ranks of this machine: it loads once what all of them need.

An interpreter, mpi4py with its MPI, and our `MPI` module are most of what a rank costs before
its program begins. The process manager of a cluster asks here for a copy of this process for each
rank, and hands over what that is to have: environment, descriptors, folder, processors. Where there
is an `mpiexec`, it starts a proxy for each rank (see `runtime.processes.rank.proxy`) that asks.
MPI itself is initialised in the copy.
"""

from __future__ import annotations

import _socket
import gc
import os
import select
import signal
import sys
import time
from contextlib import suppress

from runtime.launchers import family
from runtime.launchers.forking import fork
from runtime.launchers.guard import (
    GRACE,
    LOOK_AGAIN,
    MARK,
    catch_signals,
    collect_children,
    end_with,
)
from runtime.launchers.ranks import report_end
from runtime.launchers.segments import orphaned_segments, remove_segments
from runtime.processes.rank import main as rank_main
from runtime.processes.rank.forked_rank import OwnModules, become
from runtime.processes.rank.proxy import WORD

NAME = "gcm-ranks"
"""What this process is called where processes are listed."""

STDIN = 0
"""A pipe whose other end only the guard has, and closes at its end, however that comes."""


class _Job:
    """The ranks of one native MPI: process numbers of those that live and those that have ended."""

    __slots__ = ("_setting", "alive", "ended", "kill_at", "mark")

    def __init__(self, mark: bytes) -> None:
        self.mark = mark
        self._setting = MARK.encode() + b"=" + mark
        self.alive: set[int] = set()
        self.ended: set[int] = set()
        self.kill_at = 0.0

    def left_behind(self) -> set[int]:
        """Return what its ranks have started, also what has left its parent or its session."""
        table = family.processes()
        mine = family.descendants({os.getpid()}, table)
        roots = {
            one
            for one in mine
            if table[one][1] in self.ended or self._setting in family.environment_of(one)
        }
        return family.descendants(roots, table) | roots

    def is_left(self) -> bool:
        """Tell whether anything of it is left, and end that when its time is over."""
        left = self.left_behind()
        if left and time.monotonic() > self.kill_at:
            family.send_signal(left, family.KILL)
            return False
        return bool(left)


class _Rank:
    """A copy of this process that is to be a rank, the connection of who asked, and a pipe.

    Through that it says which rank it has become, and of which job. It `was_killed` if who asked
    was, which says nothing about the rank.
    """

    __slots__ = ("began", "connection", "job", "pid", "place", "was_killed")

    def __init__(self, pid: int, connection: _socket.socket, began: int) -> None:
        self.pid = pid
        self.connection = connection
        self.was_killed = False
        self.began = began
        self.job: _Job | None = None
        self.place: tuple[str, int] | None = None
        """The private folder of its run, and which rank it is; None if it is none."""

    def told(self) -> bytes:
        """Take what it says of itself; return what marks its job, nothing if it is no rank."""
        said = os.read(self.began, 4096)
        os.close(self.began)
        self.began = -1
        if not said:
            return b""
        rank, mark, run_directory = said.split(b" ", 2)
        self.place = os.fsdecode(run_directory), int(rank)
        return mark


class RankForkServer:
    """Forks ranks, and tells who asked for them how they ended."""

    def __init__(self, listener: _socket.socket) -> None:
        """Serve every process that connects to this socket."""
        self._began = time.time()
        self._listener = listener
        self._poll = select.poll()
        self._poll.register(listener, select.POLLIN)
        self._signals = catch_signals()
        self._poll.register(self._signals, select.POLLIN)
        self._poll.register(STDIN, 0)
        self._ranks: dict[int, _Rank] = {}
        self._begins: dict[int, _Rank] = {}
        self._jobs: dict[bytes, _Job] = {}
        self._over: list[_Job] = []

    def serve(self) -> tuple[_socket.socket, int] | None:
        """Serve until a signal says that it is enough, or the guard is gone that sends one.

        In a copy of this process that is to be a rank it returns the connection of who asked, and a
        pipe in which the copy is to say which rank it is.
        """
        while True:
            for descriptor, _ in self._poll.poll(LOOK_AGAIN * 1000 if self._over else None):
                if descriptor == self._signals:
                    if set(os.read(descriptor, 4096)) - {signal.SIGCHLD}:
                        return None
                elif descriptor == STDIN:
                    return None
                elif descriptor == self._listener.fileno():
                    connection = _accepted(self._listener)
                    if _credentials(connection)[1] != os.getuid():
                        connection.close()  # it stands for no process here
                    elif (begins := self._fork(connection)) is not None:
                        return connection, begins
                elif descriptor in self._begins:
                    self._begun(self._begins[descriptor])
                else:
                    self._kill(descriptor)
            self._end_children()

    def _fork(self, connection: _socket.socket) -> int | None:
        """Make a copy of this process; return its pipe if this is the copy."""
        began, begins = os.pipe()
        parent = os.getpid()
        pid = fork()
        if pid == 0:
            family.die_with(parent)  # who else would see how it ends?
            os.close(began)
            self._forget_all()
            return begins
        os.close(begins)
        self._ranks[pid] = self._begins[began] = _Rank(pid, connection, began)
        self._poll.register(began, select.POLLIN)
        self._poll.register(connection, 0)  # nothing is heard of it but its end
        return None

    def _begun(self, rank: _Rank) -> None:
        """Take note of which rank a copy has become, or that it is none."""
        self._poll.unregister(rank.began)
        del self._begins[rank.began]
        if mark := rank.told():
            rank.job = self._jobs.setdefault(mark, _Job(mark))
            rank.job.alive.add(rank.pid)

    def _forget_all(self) -> None:
        """Keep nothing of the process that has forked this one, but what is loaded."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for rank in self._ranks.values():
            rank.connection.close()
        for began in self._begins:
            os.close(began)
        self._listener.close()

    def _kill(self, descriptor: int) -> None:
        """End the rank whose connection has ended: who asked for it has gone, or became it."""
        for rank in self._ranks.values():
            if rank.connection.fileno() == descriptor:
                self._poll.unregister(descriptor)
                rank.was_killed = True
                remove_segments(end_with({rank.pid}, family.KILL))

    def _end_children(self) -> None:
        now, ended = time.monotonic(), [*collect_children()]  # none of these follows from another
        for pid, status in ended:
            rank = self._ranks.pop(pid, None)
            if rank is not None:
                if rank.began >= 0:
                    self._begun(rank)
                is_told = not (rank.was_killed and os.WIFSIGNALED(status))
                if rank.place is not None and is_told:
                    report_end(*rank.place, status, at=now)
                self._report_status(rank.connection, status)
                self._has_ended(rank)
                if rank.was_killed:
                    remove_segments(orphaned_segments(self._began))
        self._over = [job for job in self._over if job.is_left()]

    def _report_status(self, connection: _socket.socket, status: int) -> None:
        with suppress(KeyError):  # then its proxy has gone
            self._poll.unregister(connection)
        with suppress(OSError):  # then it goes just now
            connection.send(status.to_bytes(WORD, sys.byteorder))
        connection.close()

    def _has_ended(self, rank: _Rank) -> None:
        job = rank.job
        if job is None:
            return
        job.alive.discard(rank.pid)
        job.ended.add(rank.pid)
        if not job.alive:
            del self._jobs[job.mark]
            if self._has_more_children():
                job.kill_at = time.monotonic() + GRACE
                family.send_signal(job.left_behind(), family.TERM)
                self._over.append(job)

    def _has_more_children(self) -> bool:
        """Tell whether there may be others than ranks that live: what a rank leaves comes here."""
        try:
            with open("/proc/thread-self/children", "rb", 0) as file:
                return not self._ranks.keys() >= set(map(int, file.read().split()))
        except OSError:
            return True  # this system has no such list


def _accepted(listener: _socket.socket) -> _socket.socket:
    descriptor, _ = listener._accept()  # type: ignore[attr-defined]  # what `socket` is built upon
    return _socket.socket(fileno=descriptor)


def _credentials(connection: _socket.socket) -> tuple[int, int]:
    """Return the process that has connected, and its user."""
    data = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(data[:4], sys.byteorder), int.from_bytes(data[4:8], sys.byteorder)


def main(words: list[str]) -> int:
    """Run as this process, and as each rank that it forks; return the exit code.

    The words are the number of the socket at which proxies are expected, and what COMM_WORLD is.
    """
    family.adopt_orphans()
    family.rename(NAME)
    listener = _socket.socket(fileno=int(words[0]))
    os.set_inheritable(listener.fileno(), False)
    _load(words[1])
    own = OwnModules()
    gc.freeze()  # what is loaded stays, and all ranks share it
    forked = RankForkServer(listener).serve()
    if forked is None:
        os._exit(0)  # to take apart what is loaded would only take time
    request = become(*forked)
    family.rename(os.path.basename(sys.executable))
    sys.argv[1:] = request.words
    code = rank_main.main(request.words, is_child=True)
    own.outlive_python()
    return code


def _load(comm_world: str) -> None:
    """Import what a rank needs before its program begins."""
    import faulthandler  # noqa: F401 - for ranks to come

    from runtime.machine import deaths  # noqa: F401 - likewise
    from runtime.membership import bind_address, rank_link  # noqa: F401 - likewise
    from runtime.mpi.process import native
    from runtime.processes.rank import program, waits  # noqa: F401 - likewise

    native.load()
    if comm_world == "grid":
        # What the first collective needs is loaded here as well, once for all ranks.
        from runtime.mpi.collectives import (  # noqa: F401 - likewise
            object_plans,
            plans,
            reduction_plans,
            state,
        )
        from runtime.mpi.surface import (  # noqa: F401 - likewise
            extensions,
            install,
            library_calls,
            lifetime,
            rank_state,
            sessions,
            start,
        )
        from runtime.mpi.windows import face  # noqa: F401 - likewise
        from runtime.processes.rank import native_libraries  # noqa: F401 - likewise
