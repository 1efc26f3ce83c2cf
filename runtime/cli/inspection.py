"""How other terminals inspect a run: a socket that answers only to the same user.

It is an abstract socket without a file, so nothing stays behind however the run ends. A question is
one line of JSON, the answer facts of the run as lines. Only Linux has such sockets.
"""

from __future__ import annotations

import io
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from runtime.cli.errors import UsageError
from runtime.views.facts import Fact

_PREFIX = "gcm-deploy/"
_SOCKETS = "/proc/net/unix"
_CREDENTIALS = struct.Struct("3i")  # of the other end: process, user, group
_MOST_ASKED = 4096
_MOST_ANSWERED = 64 << 20
QUESTION_TIMEOUT, ANSWER_TIMEOUT = 5.0, 10.0

Answer = Callable[[bool], Iterable[Fact]]
"""Returns what the run is doing, with the stacks of all threads if asked to; it may block."""


@contextmanager
def open_to_inspection(answer: Answer) -> Iterator[None]:
    """Answer the same user's questions inside the block."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(f"\0{_PREFIX}{os.getuid()}/{os.getpid()}")
        listener.listen()
    except OSError:  # another system, or a second run of this process: no inspection then
        listener.close()
        yield
        return
    thread = threading.Thread(target=_serve, args=(listener, answer), name="inspection")
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        thread.join()
        listener.close()


def _serve(listener: socket.socket, answer: Answer) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(Exception):  # a malformed question gets no answer
            connection.settimeout(QUESTION_TIMEOUT)
            if _user_of(connection) in (os.getuid(), 0):
                asked = json.loads(connection.recv(_MOST_ASKED))
                from runtime.views.fact_lines import heading, line_of  # not for every run

                told = map(line_of, answer(bool(asked["stacks"])))
                connection.sendall(b"".join([heading(), *told]))


def _user_of(connection: socket.socket) -> int:
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(found)[1]
    return user


def running_deployments() -> list[int]:
    """Return the processes of this user's runs on this machine, or of all users for root."""
    try:
        with open(_SOCKETS, encoding="utf-8", errors="replace") as table:
            names = {line.split()[-1] for line in table}
    except OSError:
        return []
    mine = f"@{_PREFIX}" if os.getuid() == 0 else f"@{_PREFIX}{os.getuid()}/"
    found = {one.rpartition("/")[2] for one in names if one.startswith(mine)}
    return sorted(int(one) for one in found if one.isdecimal())


def inspected(process: int, *, stacks: bool) -> list[Fact]:
    """Return what a run reports of itself; its texts are cleaned, since any process may pretend.

    Raises:
        UsageError: it has ended, does not answer, or belongs to another user.
    """
    from runtime.views.fact_lines import UnreadableFacts, read_facts

    user = os.getuid()
    with suppress(OSError):
        user = os.stat(f"/proc/{process}").st_uid
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_TIMEOUT)
        try:
            connection.connect(f"\0{_PREFIX}{user}/{process}")
            if _user_of(connection) not in (user, os.getuid()):
                raise UsageError(f"process {process} is not one of your runs")
            connection.sendall(json.dumps({"stacks": stacks}).encode())
            answer = _answer(connection)
            return list(read_facts(io.BytesIO(answer), f"the answer of process {process}"))
        except UnreadableFacts as fault:
            raise unanswered(process, fault.what) from fault
        except (OSError, ValueError) as fault:
            raise unanswered(process, str(fault)) from fault


def unanswered(process: int, why: str) -> UsageError:
    """Return that a process does not answer as a run does: any process can take such a name."""
    return UsageError(
        f"process {process} does not say what it runs: {why}",
        cure="gcm-deploy ps lists the runs of this machine",
    )


def _answer(connection: socket.socket) -> bytes:
    """Read all that comes within the time and the size of an answer."""
    deadline = time.monotonic() + ANSWER_TIMEOUT
    data = bytearray()
    while len(data) <= _MOST_ANSWERED:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        part = connection.recv(1 << 16)
        if not part:
            return bytes(data)
        data += part
    raise ValueError(f"it answers with more than {_MOST_ANSWERED >> 20} MiB")
