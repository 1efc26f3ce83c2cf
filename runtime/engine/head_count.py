"""Looking at ranks from outside: one that died before it said anything."""

from __future__ import annotations

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


def _command_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
