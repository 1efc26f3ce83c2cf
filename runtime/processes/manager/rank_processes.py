"""A rank as its process manager has it: a process, and this end of the socket for its PMI."""

from __future__ import annotations

import marshal
import os
import socket
import sys
from contextlib import suppress

from runtime.launchers.ranks import pipe_of
from runtime.launchers.spawning import SIGPIPE, SIGXFSZ, find_program
from runtime.native_mpi import ManagedRanks
from runtime.processes.rank.proxy import HERE, NOT_HERE, STAYS, WORD

PMI_DESCRIPTOR = 9
"""What the socket is called in a rank. Shells and small programs use lower numbers themselves."""

STANDARD = 0, 1, 2


def rank_environment(local: int, told: ManagedRanks) -> dict[bytes, bytes]:
    """Return what a rank finds in its environment, as under the `mpiexec` of MPICH."""
    own = {
        "PMI_RANK": told.before + local,
        "PMI_SIZE": told.size,
        "PMI_FD": PMI_DESCRIPTOR,
        "PMI_SPAWNED": 0,
        "MPI_LOCALRANKID": local,
        "MPI_LOCALNRANKS": told.ranks,
        "GFORTRAN_UNBUFFERED_PRECONNECTED": "y",
    }
    return {**os.environb, **{name.encode(): f"{one}".encode() for name, one in own.items()}}


class RankProcess:
    """One rank: a child of this process, or one that was forked for it by another.

    `rank` is its number in its native MPI, `pmi` is this end of its socket, and `unsent` what it
    has not read yet.
    """

    def __init__(self, local: int, told: ManagedRanks) -> None:
        """Make its socket; raises OSError."""
        self.rank = told.before + local
        self._local = local
        self._told = told
        self.pmi, self._given = socket.socketpair()
        self.pmi.setblocking(False)
        self.unsent = bytearray()
        self.pid = 0
        """Its process, 0 as long as that is not known."""
        self.request: socket.socket | None = None
        """The connection to who has forked it, as long as that has not told its end."""
        self._heard = b""
        self.has_ended = False

    # --- its beginning ----------------------------------------------------------------------------

    def ask_for_fork(self, address: str) -> None:
        """Ask the process at an address for a copy of it; raises OSError if nobody is there."""
        request = socket.socket(socket.AF_UNIX)
        try:
            request.connect(address)
            environment = rank_environment(self._local, self._told)
            placed = [*STANDARD, PMI_DESCRIPTOR]
            asked = marshal.dumps(
                (
                    list(self._told.words),
                    environment,
                    os.getcwdb(),
                    sorted(os.sched_getaffinity(0)),
                    placed,
                )
            )
            length = len(asked).to_bytes(WORD, sys.byteorder)
            socket.send_fds(request, [length], [*STANDARD, self._given.fileno()])
            request.sendall(asked)
        except OSError:
            request.close()
            raise
        request.setblocking(False)
        self.request = request

    def spawn(self) -> None:
        """Start it as a child of this process; raises OSError."""
        environment = rank_environment(self._local, self._told)
        words = [os.fsencode(one) for one in (*self._told.start, *self._told.words)]
        pipes = self._output_pipes()
        placed = {**pipes, PMI_DESCRIPTOR: self._given.fileno()}
        try:
            self.pid = os.posix_spawn(
                find_program(words[0], environment.get(b"PATH", os.defpath.encode())),
                words,
                environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, one, place) for place, one in placed.items()],
                setsid=True,
                setsigmask=[],
                setsigdef=[SIGPIPE, SIGXFSZ],
            )
        finally:
            for pipe in pipes.values():
                os.close(pipe)
        self._given.close()

    def _output_pipes(self) -> dict[int, int]:
        """Open what the front-end has made for its output, if it has; by place in the rank.

        What it writes before it opens them itself has then come before its end is told.
        """
        if not self._told.reports_to:
            return {}
        pipes: dict[int, int] = {}
        for place, stream in ((1, "stdout"), (2, "stderr")):
            path = pipe_of(self._told.reports_to, self._told.first + self.rank, stream)
            with suppress(OSError):  # with many ranks there are none
                pipes[place] = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(pipes[place], True)
        return pipes

    # --- what who forks it tells ------------------------------------------------------------------

    def told(self) -> int | None:
        """Take what the other end tells; return its wait status once it has ended.

        Raises ConnectionRefusedError if it is not forked there, and ConnectionError if nobody is
        left who would tell its end.
        """
        assert self.request is not None
        while True:
            try:
                data = self.request.recv(1 + 2 * WORD)
            except BlockingIOError:
                return None
            except OSError:
                data = b""
            self._heard += data
            if self._heard[:1] == NOT_HERE or not (data or self._heard):
                raise ConnectionRefusedError
            if self._heard[:1] not in (HERE, STAYS) or not data:
                raise ConnectionAbortedError
            if not self.pid and len(self._heard) > WORD:
                self.pid = int.from_bytes(self._heard[1 : 1 + WORD], sys.byteorder)
                self._given.close()
            if len(self._heard) == 1 + 2 * WORD:
                return int.from_bytes(self._heard[1 + WORD :], sys.byteorder)

    def forget_request(self) -> None:
        """Take note that who has forked it tells nothing more."""
        if self.request is not None:
            self.request.close()
            self.request = None
        self._heard = b""

    # --- while it runs ----------------------------------------------------------------------------

    def read(self) -> bytes | None:
        """Return what it says next; b"" at the end, None if there is nothing now."""
        try:
            return self.pmi.recv(1 << 16)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self) -> None:
        """Let it have what it can take now of what is unsent; nothing, once it has ended."""
        try:
            while self.unsent:
                del self.unsent[: self.pmi.send(self.unsent)]
        except BlockingIOError:
            return
        except OSError:
            self.unsent.clear()

    def signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.pid and not self.has_ended:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
