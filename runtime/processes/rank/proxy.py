"""What `mpiexec` starts for a rank that is forked by a process which has loaded all it needs.

    python -I -S proxy.py ADDRESS MODULE WORD ...

It hands over all that `mpiexec` gave it, passes signals on, and ends as the rank ends. Where nobody
forks one, it becomes the rank itself: `python -P -m MODULE WORD ...`. Interpreter and modules
are nine tenths of what a rank costs before it can say anything, so this imports nothing that is not
built in.
"""

from __future__ import annotations

import _socket
import marshal
import posix
import sys

TYPE_CHECKING = False  # known to type checkers; `typing` would take longer than all the rest
if TYPE_CHECKING:
    import signal as _signal
    from typing import NoReturn
else:
    import _signal  # `signal` needs `enum`

MOST_DESCRIPTORS = 200  # the system passes on 253 at once
HERE, STAYS, NOT_HERE = b"+", b"*", b"-"
"""What the rank answers: it is here; and its proxy stays, see `ranks.await_end`; or not here."""

WORD = 4
"""Bytes of a number on the connection."""

_LOOK_AGAIN = 0.5  # seconds

_PASSED_ON = (
    _signal.SIGHUP,
    _signal.SIGINT,
    _signal.SIGQUIT,
    _signal.SIGTERM,
    _signal.SIGUSR1,
    _signal.SIGUSR2,
)
_LEAVE_CORES = {
    _signal.SIGQUIT,
    _signal.SIGILL,
    _signal.SIGTRAP,
    _signal.SIGABRT,
    _signal.SIGBUS,
    _signal.SIGFPE,
    _signal.SIGSEGV,
    _signal.SIGSYS,
}


def main(address: str, module: str, words: list[str]) -> NoReturn:
    """Be the proxy of a rank, or become the rank."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(address)
        answer = _hand_over(connection, words)
    except OSError:
        answer = NOT_HERE  # nobody is there any more
    if answer not in (HERE, STAYS):
        posix.execv(sys.executable, [sys.executable, "-P", "-m", module, *words])
    rank = _number(connection)
    for number in _PASSED_ON:
        _signal.signal(number, lambda number, _: posix.kill(rank, number))
    parent = posix.getppid()
    status = _number(connection)
    if answer == STAYS:
        _stay(parent)
    _end_as(status)


def _stay(parent: int) -> None:
    import time

    while posix.getppid() == parent:
        time.sleep(_LOOK_AGAIN)


def _hand_over(connection: _socket.socket, words: list[str]) -> bytes:
    """Hand everything over; return what the rank answers, nothing if there is none."""
    given = _descriptors(connection.fileno())
    if len(given) > MOST_DESCRIPTORS:
        return NOT_HERE
    asked = marshal.dumps(
        (
            words,
            posix.environ,
            posix.getcwdb(),
            sorted(posix.sched_getaffinity(0)),
            given,
        )
    )
    copies = b"".join(one.to_bytes(WORD, sys.byteorder) for one in given)
    length = len(asked).to_bytes(WORD, sys.byteorder)
    connection.sendmsg([length], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, copies)])
    connection.sendall(asked)
    return connection.recv(1)


def _descriptors(own: int) -> list[int]:
    """Return what is open, without `own` and what was needed to find out."""
    found = []
    for name in posix.listdir("/proc/self/fd"):
        try:
            posix.fstat(int(name))
        except OSError:
            continue
        found.append(int(name))
    return sorted(set(found) - {own})


def _number(connection: _socket.socket) -> int:
    """Read one; where nobody is left to say how the rank ended, that of exit code 1."""
    data = b""
    while len(data) < WORD:
        more = connection.recv(WORD - len(data))
        if not more:
            return 1 << 8
        data += more
    return int.from_bytes(data, sys.byteorder)


def _end_as(status: int) -> NoReturn:
    if posix.WIFSIGNALED(status):
        number = posix.WTERMSIG(status)
        if number in _LEAVE_CORES:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the rank has left its own
        if number != _signal.SIGKILL:
            _signal.signal(number, _signal.SIG_DFL)
        posix.kill(posix.getpid(), number)
    posix._exit(posix.WEXITSTATUS(status))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
