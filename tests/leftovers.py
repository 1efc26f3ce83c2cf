"""What runs have left behind: processes that carry a mark in their environment, and files."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_START_TIME = 19
"""Which field behind the name in /proc/PID/stat has the time of the start."""

GONE_WITHIN = 20.0
"""In how many seconds everything of a run has to have gone."""


def marked_processes(variable: str, mark: str) -> dict[int, str]:
    """Return name and command of every process with this variable, however far it wandered.

    They come in the order in which they were started.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
            name, command = (entry / "comm").read_text(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if f"{variable}={mark}".encode() in environment.split(b"\0") and command:
            words = command.replace(b"\0", b" ").decode()
            found[int(entry.name)] = f"{name.strip()} {words}"
    return {pid: found[pid] for pid in in_order_of_start(found)}


def in_order_of_start(pids: Iterable[int]) -> list[int]:
    """Return the processes that there still are, that first which was started first.

    Their numbers say nothing of that: they begin anew with small ones.
    """
    begun = []
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            begun.append((int(fields[_START_TIME]), pid))
    return [pid for _, pid in sorted(begun)]


def files_below(folder: Path) -> list[str]:
    """Return what is in a folder, of which some may be removed meanwhile."""
    return [
        os.path.join(where, name)
        for where, folders, files in os.walk(folder)
        for name in (*folders, *files)
    ]


def await_end(pid: int, deadline: float) -> None:
    """Wait until a process has ended, or a time of the monotonic clock has come."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()  # a number may be too large for `select.select`
    poll.register(handle, select.POLLIN)
    try:
        poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
    finally:
        os.close(handle)


def wait_until_gone(
    left: Callable[[], list[str]],
    processes: Callable[[], Iterable[int]],
    seconds: float = GONE_WITHIN,
) -> list[str]:
    """Wait until nothing is `left`; return what still is after so many seconds."""
    deadline = time.monotonic() + seconds
    while (found := left()) and time.monotonic() < deadline:
        for pid in processes():
            await_end(pid, deadline)
    return found
