"""Each rank's output line by line under its own name, whatever `mpiexec` does to it on the way.

`mpiexec` cuts and mixes what ranks write at once, and may stop listening when a rank ends. So the
process it started stays behind as a carrier: it turns what the rank writes into records no longer
than the system writes in one piece, and ends as the rank ended once all is said.

Needs nothing but the standard library: `python ranks.py program argument...` runs a native program
in this way.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
import time
from typing import NoReturn

RECORD = b"\x1e"  # begins each record: rank, stream, whether the line ends here, text
COMPLETE, CONTINUED = b".", b"+"
OUTPUT, ERROR = b"o", b"e"
ATOMIC = 4096  # what a pipe takes in one piece, at least on Linux
ROOM = ATOMIC - 64  # for text, beside tags of ours and of `mpiexec`
LINGER = 1.0  # seconds to listen to what a rank left running after its end
RANK_NAMES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")


def rank_of_environment() -> int:
    """Return the rank `mpiexec` gave this process, 0 without one."""
    for name in RANK_NAMES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


def tag_output(rank: int) -> None:
    """From now on what this process writes leaves as records of this rank.

    Returns in a child of the process that called it, which only carries records from then on. To
    be called first of all: before threads, before MPI, before anything large is imported.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    outputs, errors = os.pipe(), os.pipe()
    child = os.fork()
    if child != 0:
        _stay_behind(rank, child, {outputs[0]: OUTPUT, errors[0]: ERROR})
    copies = _copies_of_output()
    os.dup2(outputs[1], 1)
    os.dup2(errors[1], 2)
    for descriptor in (*copies, *outputs, *errors):
        os.close(descriptor)


def _copies_of_output() -> list[int]:
    """Find further ends of our own stdout and stderr: MPICH leaves some open in its ranks.

    They would keep `mpiexec` waiting for whatever a rank leaves running after its end.
    """
    own = [os.fstat(descriptor) for descriptor in (1, 2)]
    copies = []
    for descriptor in range(3, 256):
        try:
            found = os.fstat(descriptor)
        except OSError:
            continue  # not open
        if stat.S_ISFIFO(found.st_mode) and any(os.path.samestat(found, one) for one in own):
            copies.append(descriptor)
    return copies


def _stay_behind(rank: int, child: int, streams: dict[int, bytes]) -> NoReturn:
    """Carry what the child says, then end as it did."""
    code = 1
    try:
        _let_go(set(streams))
        status = Carrier(rank, child, streams).run()
        if os.WIFSIGNALED(status):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
        code = os.WEXITSTATUS(status)
    finally:
        os._exit(code)


def _let_go(kept: set[int]) -> None:
    """Keep only stderr and what is named; leave the signals of the rank's group to the rank.

    A copy of the rank's connection to `mpiexec`, held open here, would hide that the rank ended.
    """
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    first = 3
    for descriptor in (*sorted(kept), os.sysconf("SC_OPEN_MAX")):
        os.closerange(first, descriptor)
        first = descriptor + 1
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)


class Carrier:
    """Writes records to stderr, the one way that is a pipe under every `mpiexec`."""

    def __init__(self, rank: int, child: int, streams: dict[int, bytes]) -> None:
        self._child = child
        self._heads = {fd: RECORD + f"{rank} ".encode() + name for fd, name in streams.items()}
        self._rest = dict.fromkeys(streams, b"")
        self._status: int | None = None
        self._deadline: float | None = None

    def run(self) -> int:
        """Carry until the child has ended and all is said; return its wait status."""
        woken, raised = os.pipe()
        os.set_blocking(raised, False)
        signal.set_wakeup_fd(raised, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        for descriptor in (*self._rest, woken):
            poll.register(descriptor, select.POLLIN)
        self._look()
        while self._rest and not self._late():
            wait = None if self._deadline is None else self._deadline - time.monotonic()
            for descriptor, _ in poll.poll(None if wait is None else max(0.0, wait) * 1000):
                if descriptor == woken:
                    os.read(woken, 64)
                    self._look()
                elif not self._carry(descriptor):
                    poll.unregister(descriptor)
        for descriptor, left in list(self._rest.items()):
            self._write(descriptor, [], left, ended=True)
        return os.waitpid(self._child, 0)[1] if self._status is None else self._status

    def _look(self) -> None:
        """Notice the end of the child."""
        if self._status is None:
            pid, status = os.waitpid(self._child, os.WNOHANG)
            if pid != 0:
                self._status, self._deadline = status, time.monotonic() + LINGER

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _carry(self, descriptor: int) -> bool:
        data = os.read(descriptor, 65536)
        *lines, left = (self._rest[descriptor] + data).split(b"\n")
        self._write(descriptor, lines, left, ended=not data)
        if not data:
            del self._rest[descriptor]
        return bool(data)

    def _write(self, descriptor: int, lines: list[bytes], left: bytes, *, ended: bool) -> None:
        head = self._heads[descriptor]
        said = [record for line in lines for record in records(head, line, COMPLETE)]
        if left and (ended or len(left) >= ROOM):
            said += records(head, left, CONTINUED)
            left = b""
        write_whole(said)
        self._rest[descriptor] = left


def records(head: bytes, line: bytes, end: bytes) -> list[bytes]:
    """Return a line as records; the last one says whether the line ends there."""
    cuts = range(0, len(line) or 1, ROOM)
    return [
        head + (CONTINUED if cut < cuts[-1] else end) + b" " + line[cut : cut + ROOM] + b"\n"
        for cut in cuts
    ]


def write_whole(said: list[bytes]) -> None:
    """Write records in as few writes as possible, none of which the system may split."""
    piece = b""
    for record in said:
        if len(piece) + len(record) > ATOMIC:
            os.write(2, piece)
            piece = b""
        piece += record
    if piece:
        os.write(2, piece)


def main(argv: list[str]) -> None:
    """Become a native program whose output is tagged."""
    tag_output(rank_of_environment())
    try:
        os.execvp(argv[0], argv)
    except OSError as fault:
        sys.exit(f"{argv[0]}: {fault.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
