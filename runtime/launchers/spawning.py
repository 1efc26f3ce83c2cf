"""Starting one command in a session of its own, with its three pipes at this end.

Needs nothing but the standard library: it travels to hosts where this package is not installed.
"""

from __future__ import annotations

import os

from runtime.launchers import wire

TYPE_CHECKING = False  # known to type checkers; importing `typing` would take longer than the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")  # one of them is in the folder of an environment
MOST_LINKS = 40
SIGPIPE, SIGXFSZ = 13, 25  # Python ignores these two; a command should not


class ChildProcess:
    """One command: its process, its three pipes and what is still to be written to it."""

    def __init__(self, number: int, pid: int, pipes: list[int]) -> None:
        self.number = number
        self.pid = pid
        self.stdin: int | None = pipes[0]
        self.outputs = {pipes[1]: wire.OUTPUT, pipes[2]: wire.ERROR}
        self.pending = bytearray()
        self.closing = False
        self.status: int | None = None
        self.ended_at = 0.0
        self.kill_at = 0.0
        self.repeated = b""  # written to it every so many seconds
        self.repeat_every = self.repeat_at = 0.0
        self.left_some = False
        self.is_guard = False  # another one, on another host, which ends when its input does
        self.shared: set[str] = set()  # what its family may leave in memory


def spawn(
    number: int, argv: list[bytes], environment: dict[bytes, bytes], cwd: bytes, home: int
) -> ChildProcess:
    """Start the process; raises OSError. `home` is a descriptor of the folder to come back to.

    A `~` at the beginning of its path is the home folder here.
    """
    argv = [os.path.expanduser(argv[0]), *argv[1:]]

    def start(inner: list[int]) -> int:
        return os.posix_spawn(
            find_program(argv[0], environment.get(b"PATH", os.defpath.encode())),
            argv,
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(inner)],
            setsid=True,
            setsigmask=[],
            setsigdef=[SIGPIPE, SIGXFSZ],
        )

    return _piped(number, start, cwd, home)


def part(
    number: int, program: Callable[[], int], environment: dict[bytes, bytes], cwd: bytes, home: int
) -> ChildProcess:
    """Run a program in a copy of this process, which keeps nothing of it but what is loaded.

    Raises OSError. `home` is a descriptor of the folder to come back to.
    """

    from runtime.launchers.forking import fork  # not where only Python is

    def start(inner: list[int]) -> int:
        pid = fork()
        if pid == 0:
            become(program, inner, environment)
        return pid

    return _piped(number, start, cwd, home)


def _piped(number: int, start: Callable[[list[int]], int], cwd: bytes, home: int) -> ChildProcess:
    """Start a process in a folder, with three pipes; `start` gets the ends that are its own."""
    ends = [os.pipe(), os.pipe(), os.pipe()]
    inner = [ends[0][0], ends[1][1], ends[2][1]]
    outer = [ends[0][1], ends[1][0], ends[2][0]]
    try:
        if cwd:
            os.chdir(cwd)
        pid = start(inner)
    except OSError:
        for descriptor in outer:
            os.close(descriptor)
        raise
    finally:
        os.fchdir(home)
        for descriptor in inner:
            os.close(descriptor)
    os.set_blocking(outer[0], False)
    return ChildProcess(number, pid, outer)


def become(
    program: Callable[[], int], inner: list[int], environment: dict[bytes, bytes]
) -> NoReturn:
    """Go on in a copy of a process as another program, which leads a session of its own.

    `inner` are the descriptors of its three standard streams; all others are closed. It ends with
    the number that the program returns.
    """
    import signal
    import sys

    code = 1
    try:
        os.setsid()
        for which in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(which, signal.SIG_DFL)  # also those that are ignored here
        for place, descriptor in enumerate(inner):
            os.dup2(descriptor, place)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environb.clear()
        os.environb.update(environment)
        code = program()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def find_program(name: bytes, path: bytes) -> bytes:
    """Find a command the way a shell does; raises FileNotFoundError."""
    if b"/" in name:
        return name
    for folder in path.split(b":"):
        full = os.path.join(folder or b".", name)
        if os.path.isfile(full) and os.access(full, os.X_OK):
            return full
    raise FileNotFoundError(2, "not found on PATH=" + os.fsdecode(path), name)


def activated(executable: str, path: str) -> tuple[str, str]:
    """Return a Python and the search path as activating its virtual environment would make them.

    Then the `mpiexec` that was installed with a Python is found. A link that leads into an
    environment from elsewhere is followed up to the Python that knows where its environment is.
    Without an environment both are already what the user wants.
    """
    python = executable
    for _ in range(MOST_LINKS):
        folder = os.path.dirname(python)
        above = os.path.dirname(folder)
        if any(os.path.exists(os.path.join(above, one)) for one in ENVIRONMENTS):
            if folder not in path.split(os.pathsep):
                path = os.pathsep.join(filter(None, [folder, path]))
            return python, path
        if not os.path.islink(python):
            break
        python = os.path.join(folder, os.readlink(python))
    return executable, path
