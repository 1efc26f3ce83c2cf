"""Ranks that our own process manager starts on its host, in place of an `mpiexec`, as a value."""

from __future__ import annotations

import json
from dataclasses import asdict

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class ManagedRanks:
    """What the process manager is told, in one line of its standard input.

    The command of each rank is `start` and `words`; a process that listens at `fork_server` may
    fork it with the `words` alone. Their ends are told to the front-end whose run directory
    `reports_to` is, if there is one, as those of the ranks from `first` on, in their `incarnation`.
    Where it `stays`, the end of a rank is none for the others, and the manager ends when it is
    told to.

    Where their native MPI has ranks on several `hosts`, which are the numbers of these, the ranks
    here are those after the first `before`, and `name` is that of the key-value space for all. What
    is put in each barrier is then exchanged in lines over standard output and input.
    """

    start: tuple[str, ...]
    words: tuple[str, ...]
    ranks: int
    first: int = 0
    incarnation: int = 1
    fork_server: str = ""
    reports_to: str = ""
    stays: bool = False
    before: int = 0
    hosts: tuple[int, ...] = ()
    name: str = ""

    @property
    def size(self) -> int:
        """How many ranks the native MPI has."""
        return sum(self.hosts) or self.ranks

    @property
    def line(self) -> bytes:
        """The line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> ManagedRanks:
        r"""Read such a line.

        >>> told = ManagedRanks(("python3",), ("\udcff",), 4)
        >>> ManagedRanks.parse(told.line) == told
        True
        """
        found = json.loads(line)
        lists = {name: tuple(found[name]) for name in ("start", "words", "hosts")}
        return cls(**{**found, **lists})
