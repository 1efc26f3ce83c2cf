"""Whether the kernel has killed processes of this host for lack of memory, from its counters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


class MemoryKills:
    """The counters when the job began, to be compared when one of its ranks was killed."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._before = dict(_counters(root))

    def words(self, host: str = "") -> str:
        """Return what the kernel has done since, "" for nothing: the cgroup's counter says most.

        Of another host than this one nothing is known, and that is said.
        """
        if host not in ("", os.uname().nodename):
            return f"whether {host} lacked memory was not looked at: see the log of its kernel"
        for place, number in _counters(self._root):
            if (killed := number - self._before.get(place, number)) > 0:
                many = "a process" if killed == 1 else f"{killed} processes"
                return f"the kernel has killed {many} for lack of memory meanwhile ({place})"
        return ""


def _counters(root: Path) -> Iterator[tuple[str, int]]:
    """Yield each counter that can be read: where the lack was, and how many were killed there."""
    for file, limit in (*_of_cgroups(root), (root / "proc/vmstat", None)):
        try:
            counters = dict(line.split() for line in file.read_text("ascii").splitlines())
            number = int(counters["oom_kill"])
        except (OSError, ValueError, KeyError):
            continue
        yield ("of this host" if limit is None else f"its cgroup may use {_size(limit)}"), number


def _of_cgroups(root: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files of events and of the limit of the cgroups of this process."""
    try:
        lines = (root / "proc/self/cgroup").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inside = path.lstrip("/")
        if not controllers:  # version 2
            folder = root / "sys/fs/cgroup" / inside
            yield folder / "memory.events", folder / "memory.max"
        elif "memory" in controllers.split(","):
            folder = root / "sys/fs/cgroup/memory" / inside
            yield folder / "memory.oom_control", folder / "memory.limit_in_bytes"


def _size(limit: Path) -> str:
    try:
        return f"{int(limit.read_text('ascii')) >> 20} MiB"
    except (OSError, ValueError):
        return "what its parent may"
