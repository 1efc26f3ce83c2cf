"""How other terminals inspect a run: a socket that answers only to the same user.

It is an abstract socket without a file, so nothing stays behind however the run ends. A question is
one line of JSON, the answer facts of the run as lines. Only Linux has such sockets.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, BinaryIO, Protocol, cast

from runtime.cli.errors import UsageError
from runtime.views.facts import Fact

NOTHING_RUNS = 1
"""The exit code where there is nothing to look at."""

_PREFIX = "gcm-deploy/"
_SOCKETS = "/proc/net/unix"
_LISTENS = re.compile(
    rf" 00010000 .* @({_PREFIX}([0-9]{{1,10}})/([0-9]{{1,10}})(?:/[0-9a-f]{{8}})?)$"
)
"""A line of that table: a socket that accepts connections, its name with its user and process.

The name has a third part where another account had taken the first two.
"""

_CREDENTIALS = struct.Struct("3i")  # of the other end: process, user, group
_MOST_ASKED = 4096
_MOST_ANSWERED = 64 << 20
_MOST_OF_OTHERS = 8 << 20
"""Bytes that root takes of what another user's process says it runs: facts take more memory."""
QUESTION_TIMEOUT, ANSWER_TIMEOUT = 5.0, 10.0
_AGAIN = 0.05
"""Seconds until somebody is asked again of whom others ask too much."""

Answer = Callable[[bool], Iterable[Fact]]
"""Returns what the run is doing, with the stacks of all threads if asked to; it may block."""


MOST_BEHIND = 50_000
"""A follower that is so many facts behind is sent no more."""


class FollowedRun(Protocol):
    """A run that others can follow; see `FactListeners`."""

    def follow(self, hear: Callable[[Fact], None]) -> list[Fact]:
        """Call `hear` with each fact from now on, and return those until now."""

    def leave(self, hear: Callable[[Fact], None]) -> int:
        """Call `hear` no more; return how many followers are left."""


Add = Callable[[Mapping[str, Any]], str]
"""Adds the component that an order describes, and returns its path; it may block."""


@contextmanager
def open_to_inspection(answer: Answer, run: FollowedRun, add: Add | None = None) -> Iterator[None]:
    """Answer the same user's questions inside the block, and let them follow and change the run."""
    followers = _Followers(run)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _take_name(listener)
        listener.listen()
    except OSError:  # another system, or a second run of this process: no inspection then
        listener.close()
        yield
        return
    serve = partial(_serve, listener, answer, followers, add)
    thread = threading.Thread(target=serve, name="inspection")
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        thread.join()
        listener.close()
        followers.close()


def _take_name(listener: socket.socket) -> None:
    """Bind a socket to the name of this process, a longer one where a stranger has taken that."""
    user, process = os.getuid(), os.getpid()
    name = f"{_PREFIX}{user}/{process}"
    try:
        listener.bind(f"\0{name}")
    except OSError as taken:
        if taken.errno != errno.EADDRINUSE or _is_of(user, process, name):
            raise
        listener.bind(f"\0{name}/{os.urandom(4).hex()}")


class _Followers:
    """Sends each follower the facts of a run from a thread of its own."""

    def __init__(self, run: FollowedRun) -> None:
        self._run = run
        self._threads: list[tuple[threading.Thread, SimpleQueue[Fact | None]]] = []

    def add(self, connection: socket.socket) -> None:
        queue: SimpleQueue[Fact | None] = SimpleQueue()
        thread = threading.Thread(target=self._send, args=(connection, queue), name="follower")
        self._threads.append((thread, queue))
        thread.start()

    def _send(self, connection: socket.socket, queue: SimpleQueue[Fact | None]) -> None:
        from runtime.views.fact_lines import heading, line_of

        past = self._run.follow(queue.put)
        try:
            with connection, suppress(OSError):
                connection.sendall(b"".join([heading(), *map(line_of, past)]))
                while queue.qsize() < MOST_BEHIND and (fact := queue.get()) is not None:
                    connection.sendall(line_of(fact))
        finally:
            self._run.leave(queue.put)

    def close(self) -> None:
        """Send what is left, but not for long to those that do not read."""
        for _, queue in self._threads:
            queue.put(None)
        for thread, _ in self._threads:
            thread.join(QUESTION_TIMEOUT)


def _serve(listener: socket.socket, answer: Answer, followers: _Followers, add: Add | None) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with suppress(Exception), connection:  # a malformed question gets no answer
            connection.settimeout(QUESTION_TIMEOUT)
            if _user_of(connection) in (os.getuid(), 0):
                asked = json.loads(connection.recv(_MOST_ASKED))
                if asked.get("follow"):
                    followers.add(connection.dup())
                    continue
                if order := asked.get("add"):
                    _carry_out(add, order, connection.dup())
                    continue
                from runtime.views.fact_lines import heading, line_of  # not for every run

                lines = map(line_of, answer(bool(asked["stacks"])))
                connection.sendall(b"".join([heading(), *lines]))


def _carry_out(add: Add | None, order: Mapping[str, Any], connection: socket.socket) -> None:
    """Add a component in a thread of its own, which nobody joins: its hooks may never return."""

    def carry_out() -> None:
        try:
            if add is None:
                raise UsageError("nothing can be added to this run")
            told = {"added": add(order)}
        except Exception as error:  # who asks is told
            told = {"refused": str(error)}
        with suppress(OSError), connection:
            connection.sendall(json.dumps(told).encode() + b"\n")

    threading.Thread(target=carry_out, name="adding a component", daemon=True).start()


def ordered(process: int, order: Mapping[str, object]) -> str:
    """Let a run of this user add a component; return its path once it is started.

    Raises:
        UsageError: it is no run of this user, has ended, or refuses that, with the reason.
    """
    with _asked(process, {"add": order}) as (connection, user):
        if user != os.getuid():
            raise NotARun(f"process {process} is a run of another user")
        connection.settimeout(None)  # components may take long to start
        with connection.makefile("rb") as stream:
            told = json.loads(stream.readline(_MOST_ANSWERED) or b"{}")
    if "added" in told:
        return str(told["added"])
    raise UsageError(str(told.get("refused", f"the run of process {process} has ended")))


def _user_of(connection: socket.socket) -> int:
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(found)[1]
    return user


def running_deployments() -> list[int]:
    """Return the processes of this user's runs on this machine, or of all users for root."""
    me, named = os.getuid(), _listening()
    return [
        process
        for process in sorted(named)
        if any(me in (0, user) and _is_of(user, process, name) for user, name in named[process])
    ]


def _is_of(user: int, process: int, name: str) -> bool:
    """Tell whether this very process of the user listens by a name, which anybody can take."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        try:
            connection.connect(f"\0{name}")
        except OSError:  # it has gone; or so many ask just now that who it is cannot be told
            return False
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return _CREDENTIALS.unpack(found)[:2] == (process, user)


def _listening() -> Mapping[int, list[tuple[int, str]]]:
    """Return which processes seem to be runs, whose, by what names: anybody can take such ones."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        with open(_SOCKETS, encoding="utf-8", errors="replace") as table:
            for line in table:
                if (match := _LISTENS.search(line)) is not None:
                    found.setdefault(int(match[3]), []).append((int(match[2]), match[1]))
    except OSError:
        return {}
    return found


def only_run(command: str) -> int | None:
    """Return the process of this user's only run; None if there is none, which is said.

    Raises:
        UsageError: there are several.
    """
    runs = running_deployments()
    if len(runs) > 1:
        raise UsageError(
            f"you have {len(runs)} runs: processes {', '.join(map(str, runs))}",
            cure=f"Name one of them: gcm-deploy {command} PID",
        )
    if not runs:
        print("gcm-deploy: you have no runs on this machine", file=sys.stderr)
        return None
    return runs[0]


def inspected(process: int, *, stacks: bool) -> list[Fact]:
    """Return what a run reports of itself; its texts are cleaned, since any process may pretend.

    Raises:
        UsageError: it has ended, does not answer, or belongs to another user.
    """
    from runtime.views.fact_lines import read_facts

    with _asked(process, {"stacks": stacks}) as (connection, user):
        answer = _answer(connection, _MOST_ANSWERED if user == os.getuid() else _MOST_OF_OTHERS)
        return list(read_facts(io.BytesIO(answer), f"the answer of process {process}"))


def followed(process: int) -> Iterator[Fact]:
    """Yield the facts of a run until it ends; its texts are cleaned as those of `inspected`.

    Raises:
        UsageError: it has ended, does not answer, or belongs to another user.
    """
    from runtime.views.fact_lines import read_facts

    with _asked(process, {"follow": True}) as (connection, user):
        connection.settimeout(None)
        with connection.makefile("rb") as stream:
            is_mine = user == os.getuid()
            source = stream if is_mine else cast("BinaryIO", _Bounded(stream, _MOST_OF_OTHERS))
            yield from read_facts(source, f"the answer of process {process}")


class _Bounded:
    """Lines of a stream, up to so many bytes in all."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream = stream
        self._most = self._left = most

    def readline(self, most: int) -> bytes:
        """Return the next line; raises ValueError at the end of what is taken."""
        line = self._stream.readline(min(most, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise ValueError(f"it is another user's, and tells more than {self._most >> 20} MiB")
        return line


@contextmanager
def _asked(process: int, question: Mapping[str, object]) -> Iterator[tuple[socket.socket, int]]:
    """Yield a connection to a run that was asked something, and whose run that is."""
    from runtime.views.fact_lines import UnreadableFacts

    connection, user = _connected(process)
    with connection:
        connection.settimeout(ANSWER_TIMEOUT)
        try:
            connection.sendall(json.dumps(question).encode())
            yield connection, user
        except UnreadableFacts as fault:
            raise unanswered(process, fault.what) from fault
        except (OSError, ValueError) as fault:
            raise unanswered(process, str(fault)) from fault


class NotARun(UsageError):
    """A process is no run of those whom its name says: it has ended, or somebody pretends."""


def _connected(process: int) -> tuple[socket.socket, int]:
    """Connect to the run of a process: this user's, or for root anybody's; return whose it is.

    Raises:
        NotARun: nobody whose name it has listens there.
    """
    me, deadline, is_busy = os.getuid(), time.monotonic() + ANSWER_TIMEOUT, True
    while is_busy and time.monotonic() < deadline:
        is_busy = False
        for user, name in _listening().get(process, ()):
            if me not in (0, user):
                continue
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.setblocking(False)  # a stranger who accepts nobody holds nobody up
            try:
                connection.connect(f"\0{name}")
                if _user_of(connection) == user:
                    return connection, user
            except OSError as error:
                is_busy |= isinstance(error, BlockingIOError)
            connection.close()
        if is_busy:
            time.sleep(_AGAIN)
    raise NotARun(
        f"process {process} is not one of your runs",
        cure="gcm-deploy ps lists the runs of this machine",
    )


def unanswered(process: int, why: str) -> UsageError:
    """Return that a process does not answer as a run does: any process can take such a name."""
    return UsageError(
        f"process {process} does not say what it runs: {why}",
        cure="gcm-deploy ps lists the runs of this machine",
    )


def _answer(connection: socket.socket, most: int) -> bytes:
    """Read all that comes within the time and the size of an answer."""
    deadline = time.monotonic() + ANSWER_TIMEOUT
    data = bytearray()
    while len(data) <= most:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        part = connection.recv(1 << 16)
        if not part:
            return bytes(data)
        data += part
    raise ValueError(f"it answers with more than {most >> 20} MiB")
