"""Looking at a job from outside: how many ranks live, and what `mpiexec` runs them with."""

from __future__ import annotations

import os

from runtime.launchers.family import descendants, processes


def living_ranks(mpiexec: int, words: str) -> int | None:
    """Return how many ranks run below an `mpiexec` on this host; None where nobody can tell.

    A rank is a process whose command line has `words` in it, below one whose has not.
    """
    table = processes()
    if mpiexec not in table:
        return None
    ranks = {pid for pid in descendants({mpiexec}, table) if words in _command_of(pid)}
    return sum(1 for pid in ranks if table[pid][0] not in ranks)


def helpers_between(mpiexec: int, words: str) -> dict[int, str]:
    """Return number and name of each process between an `mpiexec` on this host and its ranks."""
    table = processes()
    below = descendants({mpiexec}, table)
    ranks = {pid for pid in below if words in _command_of(pid)}
    parents = {table[pid][0] for pid in ranks}
    return {pid: _name_of(pid) for pid in parents & below - ranks}


def _name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.path.basename(os.fsdecode(file.read().split(b"\0")[0]))
    except OSError:
        return ""


def _command_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
