"""Each rank's output line by line under its own name, whatever `mpiexec` does to it on the way.

`mpiexec` cuts and mixes what ranks write at once. So a rank hands its output to a small process
beside it, which writes records no longer than the system writes in one piece. That process reads
until the rank and its children have ended, so nothing is lost when a rank is killed.

Needs nothing but the standard library: `python ranks.py program argument...` runs a native program
in this way.
"""

from __future__ import annotations

import os
import select
import sys

RECORD = b"\x1e"  # begins each record: rank, stream, whether the line ends here, text
COMPLETE, CONTINUED = b".", b"+"
OUTPUT, ERROR = b"o", b"e"
ATOMIC = 4096  # what a pipe takes in one piece, at least on Linux
ROOM = ATOMIC - 64  # for text, beside tags of ours and of `mpiexec`
RANK_NAMES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")


def rank_of_environment() -> int:
    """Return the rank `mpiexec` gave this process, 0 without one."""
    for name in RANK_NAMES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


def tag_output(rank: int) -> None:
    """From now on what this process writes leaves as records of this rank.

    To be called early: the process beside this one begins as a copy of it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    outputs, errors = os.pipe(), os.pipe()
    first = os.fork()
    if first == 0:
        try:
            if os.fork() == 0:  # nobody waits for a grandchild
                let_go({outputs[0], errors[0]})
                carry(rank, {outputs[0]: OUTPUT, errors[0]: ERROR})
        finally:
            os._exit(0)
    os.waitpid(first, 0)
    os.dup2(outputs[1], 1)
    os.dup2(errors[1], 2)
    for descriptor in (*outputs, *errors):
        os.close(descriptor)


def let_go(kept: set[int]) -> None:
    """Keep only stderr and what is named, and no part in signals for the rank's group.

    A copy of the rank's connection to `mpiexec`, held open here, would hide that the rank ended.
    """
    import signal

    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    first = 3
    for descriptor in (*sorted(kept), os.sysconf("SC_OPEN_MAX")):
        os.closerange(first, descriptor)
        first = descriptor + 1
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)


def carry(rank: int, streams: dict[int, bytes]) -> None:
    """Write records to stderr, the one way that is a pipe under every `mpiexec`, until all ends."""
    heads = {fd: RECORD + f"{rank} ".encode() + stream for fd, stream in streams.items()}
    rest = dict.fromkeys(streams, b"")
    poll = select.poll()
    for descriptor in streams:
        poll.register(descriptor, select.POLLIN)
    while rest:
        for descriptor, _ in poll.poll():
            data, head = os.read(descriptor, 65536), heads[descriptor]
            *lines, left = (rest[descriptor] + data).split(b"\n")
            said = [record for line in lines for record in records(head, line, COMPLETE)]
            if left and (not data or len(left) >= ROOM):
                said += records(head, left, CONTINUED)
                left = b""
            write_whole(said)
            rest[descriptor] = left
            if not data:
                poll.unregister(descriptor)
                del rest[descriptor]


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
