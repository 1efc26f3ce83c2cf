"""Each rank's output line by line under its own name, whatever `mpiexec` does to it on the way.

`mpiexec` cuts and mixes what ranks write at once, and may stop listening when a rank ends. So a
rank on the host of its front-end writes into pipes that the front-end has made for it. On another
host a carrier turns what the rank writes into records no longer than the system takes in one piece.

The process that `mpiexec` started becomes the parent of the rank: it sees how the rank ends, tells
the front-end, and ends in the same way, once all is said.

Needs nothing but the standard library.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

RECORD = b"\x1e"  # begins each record, which is one line: rank, stream, what was written
OUTPUT, ERROR, END = b"o", b"e", b"x"
ESCAPE, NEWLINE, ITSELF = b"\x10", b"\x10n", b"\x10p"
TAG_LIKE, NO_TAG = b"]<std", b"]\x10<std"
"""What every tag of an Open MPI has, and how it is written so that a rank's text has none."""
ATOMIC = 4096  # what a pipe takes in one piece, at least on Linux
ROOM = ATOMIC - 64  # for text, beside tags of ours and of `mpiexec`
LINGER = 1.0  # seconds to listen to what a rank left running after its end
LOOK_AGAIN = 0.5
"""How often the parent of a rank looks whether `mpiexec` is still there, in seconds."""
ENDS = "ends"
"""The pipe in the folder of a front-end through which it is told how ranks on its host end."""
RANK_NAMES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")


def rank_of_environment() -> int:
    """Return the rank `mpiexec` gave this process, 0 without one."""
    return rank_of(f"{name}={os.environ.get(name, '')}".encode() for name in RANK_NAMES)


def rank_of(settings: Iterable[bytes]) -> int:
    """Return the rank that an `mpiexec` gave a process of this environment, 0 without one."""
    given = dict(one.partition(b"=")[::2] for one in settings)
    numbers = (given.get(name.encode(), b"") for name in RANK_NAMES)
    return next((int(number) for number in numbers if number.isdigit()), 0)


def report_end(
    folder: str, rank: int, status: int, incarnation: int = 1, *, at: float | None = None
) -> bool:
    """Tell the front-end on this host with which wait status a rank has ended, and when.

    The `incarnation` is that of the process that had the rank. The parent of a rank does this
    before anybody else, `mpiexec` above all, can know. It names the time `at` which it has looked
    where it saw several ends then, in no order: none of them follows from another.
    Returns False where no such front-end is.
    """
    try:
        pipe = os.open(os.path.join(folder, ENDS), os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        at = time.monotonic() if at is None else at
        os.write(pipe, f"{rank} {status} {at!r} {incarnation}\n".encode())
    finally:
        os.close(pipe)
    return True


def run_below(folder: str, rank: int, *, incarnation: int = 1, stays: bool = False) -> None:
    """Go on in a child of this process, which tells the front-end how that ends; first of all.

    With `stays` this process is there until it is killed, see `await_end`.
    """
    life = os.pipe()
    child = os.fork()
    if child != 0:
        _stay_behind(
            None, lambda: await_end(child, folder, rank, incarnation=incarnation, stays=stays)
        )
    os.close(life[1])
    die_with_holder_of(life[0])


def die_with_holder_of(pipe: int) -> None:
    """Let the system kill this process as soon as nobody holds the other end of a pipe any more.

    A rank whose parent was killed would go on alone: `mpiexec` waits for the end of its connection,
    which the rank holds, too, and the others for the rank.
    """
    import fcntl

    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def pipe_of(folder: str, rank: int, stream: str) -> str:
    """Return where a front-end makes the pipe for a rank's `stdin`, `stdout` or `stderr`."""
    return os.path.join(folder, f"{rank}.{stream}")


def write_to_pipes(folder: str, rank: int, *, keeps: bool = True) -> bool:
    """From now on what this process writes goes into its pipes; False if there are none.

    If it `keeps` what `mpiexec` gave it, that stays open: an `mpiexec` may take the end of that for
    the end of the rank.
    """
    try:
        pipes = [os.open(pipe_of(folder, rank, one), os.O_WRONLY) for one in ("stdout", "stderr")]
    except FileNotFoundError:
        return False
    sys.stdout.flush()
    sys.stderr.flush()
    for place, pipe in enumerate(pipes, 1):
        if keeps:
            os.dup(place)
        os.dup2(pipe, place)
        os.close(pipe)
    return True


def read_from_pipe(folder: str, rank: int) -> None:
    """From now on this process reads what comes through its pipe; nothing, if there is none.

    What `mpiexec` gave it differs: some never end what ranks but the first one read, and some end
    the whole job if the first one does not read fast enough.
    """
    try:
        # One that waits would wait for ever if the front-end has gone.
        source = os.open(pipe_of(folder, rank, "stdin"), os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(source, True)
    except FileNotFoundError:
        source = os.open(os.devnull, os.O_RDONLY)
    if source:
        os.dup2(source, 0)
        os.close(source)


def tag_output(rank: int, *, folder: str = "", incarnation: int = 1, stays: bool = False) -> None:
    """From now on what this process writes leaves as records of this rank.

    Returns in a child of the process that called it, which tells how that ends to the front-end
    whose `folder` this is, or behind the records. To be called first of all: before threads, before
    MPI, before anything large is imported.

    The process that `mpiexec` knows also holds its connection open until it ends itself. MPICH
    needs that: when it sees the connection of a rank that died close before it learns how, it kills
    what is left of it, and every crash would look like a SIGKILL.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    outputs, errors, life, parent = os.pipe(), os.pipe(), os.pipe(), os.pipe()
    carrier = os.fork()
    if carrier == 0:
        streams = {outputs[0]: OUTPUT, errors[0]: ERROR}
        _stay_behind({*streams, life[0]}, lambda: carry(rank, streams, life[0]))
    child = os.fork()
    if child != 0:
        for descriptor in (*outputs, *errors, life[0], parent[0]):
            os.close(descriptor)
        _stay_behind(
            None,
            lambda: await_end(
                child, folder, rank, carrier, life[1], incarnation=incarnation, stays=stays
            ),
        )
    os.dup2(outputs[1], 1)
    os.dup2(errors[1], 2)
    for descriptor in (*outputs, *errors, *life, parent[1]):
        os.close(descriptor)
    die_with_holder_of(parent[0])


def _stay_behind(kept: set[int] | None, work: Callable[[], int]) -> NoReturn:
    """Do the work of a helper and end with its code; it keeps only stderr and what is named.

    A copy of the rank's connection to `mpiexec`, held open here, would hide that the rank ended,
    unless that is wanted: None keeps all. Signals for the rank's group are left to the rank.
    """
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if kept is not None:
            _close_all_but(kept)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        code = work()
    finally:
        os._exit(code)


def _close_all_but(kept: set[int]) -> None:
    first = 3
    for descriptor in (*sorted(kept), os.sysconf("SC_OPEN_MAX")):
        os.closerange(first, descriptor)
        first = descriptor + 1


def await_end(
    child: int,
    folder: str,
    rank: int,
    carrier: int = 0,
    life: int = -1,
    *,
    incarnation: int = 1,
    stays: bool = False,
) -> int:
    """Wait for the rank, then for its last words, tell how it ended, and end so as well.

    This is the process `mpiexec` knows: some stop listening once it has ended. Where the other
    ranks go on without one that is lost it `stays` until `mpiexec` ends, which would kill them all
    if it saw that one has ended without finalising MPI.
    """
    parent = os.getppid()
    _, status = os.waitpid(child, 0)
    is_reported = report_end(folder, rank, status, incarnation)
    if carrier:
        os.close(life)
        os.waitpid(carrier, 0)
        if not is_reported:
            head = RECORD + f"{rank} ".encode() + END + b" "
            for record in records(head, f"{status} {incarnation}".encode()):
                os.write(2, record)
    while stays and os.getppid() == parent:
        time.sleep(LOOK_AGAIN)
    if os.WIFSIGNALED(status):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the rank has left its own
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def carry(rank: int, streams: dict[int, bytes], life: int) -> int:
    """Write records to stderr, the one way that is a pipe under every `mpiexec`.

    Goes on until all has been said, or for a while after `life` closed: the rank has ended, but
    something it left running has not. In a session of its own, because some `mpiexec` kills the
    whole group of a rank that died, last words or not.
    """
    os.setsid()
    heads = {fd: RECORD + f"{rank} ".encode() + name + b" " for fd, name in streams.items()}
    deadline: float | None = None
    poll = select.poll()
    for descriptor in (*streams, life):
        poll.register(descriptor, select.POLLIN)
    while heads and (deadline is None or time.monotonic() < deadline):
        for descriptor, _ in poll.poll(None if deadline is None else LINGER * 1000):
            if descriptor == life:
                poll.unregister(life)
                deadline = time.monotonic() + LINGER
                continue
            data = os.read(descriptor, 65536)
            for record in records(heads[descriptor], data):
                os.write(2, record)
            if not data:
                poll.unregister(descriptor)
                del heads[descriptor]
    return 0


def records(head: bytes, data: bytes) -> list[bytes]:
    """Return what was written as records, none of which the system may split.

    >>> records(b"0 o ", b"one\\ntwo\\n")
    [b'0 o one\\x10ntwo\\x10n\\n']
    """
    text = data.replace(ESCAPE, ITSELF).replace(b"\n", NEWLINE).replace(TAG_LIKE, NO_TAG)
    found, begin = [], 0
    while begin < len(text):
        end = min(begin + ROOM, len(text))
        end -= text[end - 1 : end] == ESCAPE  # it stays together with what follows it
        found.append(head + text[begin:end] + b"\n")
        begin = end
    return found


def unescaped(text: bytes) -> bytes:
    """Return what was written from the text of a record."""
    return text.replace(NEWLINE, b"\n").replace(NO_TAG, TAG_LIKE).replace(ITSELF, ESCAPE)
