"""The output of ranks, nodes and helpers on its way to the listener: in order, within bounds.

Each front-end may say so many bytes that the listener has not taken yet; then its ranks wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from runtime.launchers.lines import Buffer
from runtime.processes.launcher.openings import Post
from runtime.rank_name import RankName
from runtime.replicas.lines import ReplicaLines
from runtime.views.facts import OutputWritten
from runtime.views.stream import FactStream

MOST_WAITING = 64 << 20
"""About how many bytes of output may wait for the listener, in all."""

LEAST_CREDIT, MOST_CREDIT = 256 << 10, 4 << 20
"""Bytes of credit that a front-end gets for output, with very many and with few of them."""


def credit_for(front_ends: int) -> int:
    """Return how many bytes of output each of so many front-ends may have in flight.

    >>> [credit_for(number) >> 10 for number in (1, 16, 100, 1000)]
    [4096, 4096, 655, 256]
    """
    return max(LEAST_CREDIT, min(MOST_CREDIT, MOST_WAITING // max(1, front_ends)))


class OutputSpreader:
    """Passes output on. `post` lets the engine's thread do something, which alone may `say`.

    `replicas` has the rank of each process, where ranks have several: each line is said once.
    """

    def __init__(
        self,
        facts: FactStream,
        post: Post,
        replicas: Mapping[RankName, int],
    ) -> None:
        self._facts = facts
        self._post = post
        self._replicas = ReplicaLines(replicas) if replicas else None

    def ranks(
        self, cluster: str, batch: Iterable[tuple[int | None, str, Buffer]], credit: CreditGrants
    ) -> None:
        """Say what came from a cluster, or its `mpiexec` if no rank; raises ListenerRaised."""
        for rank, stream, block in batch:
            name, written = cluster if rank is None else f"{cluster}:{rank}", bytes(block)
            if self._replicas is not None and rank is not None:
                first, written = self._replicas.written(RankName.parse(name), stream, written)
                name = str(first)
            self.block(name, stream, written, credit, len(block))

    def finish(self) -> None:
        """Say what is left of lines that were never completed."""
        for name, stream, rest in () if self._replicas is None else self._replicas.finish():
            self._facts.tell(name, OutputWritten(stream, rest))

    def block(
        self, name: str, stream: str, block: bytes, credit: CreditGrants, came: int = 0
    ) -> None:
        """Say what came from a front-end, or nothing of so many bytes; raises ListenerRaised."""
        came = came or len(block)
        if not block:
            credit.taken(came)
            return
        self._facts.tell(name, OutputWritten(stream, block), lambda: credit.taken(came))

    def line(self, name: str, stream: str, text: str) -> None:
        """Say a line now."""
        data = f"{text}\n".encode(errors="replace")
        self._facts.tell(name, OutputWritten(stream, data))

    def helper(self, name: str, stream: str, text: str) -> None:
        """Say a line of a helper process, from its own thread."""
        self._post(lambda: self.line(name, stream, text))


class CreditGrants:
    """Grants a front-end more credit as the listener takes its output, a quarter at a time."""

    def __init__(self, size: int, grant: Callable[[int], None]) -> None:
        """Have `grant` called with bytes of credit; there is `size` of it in all."""
        self._grant = grant
        self._enough = max(1, size // 4)
        self._lock = threading.Lock()
        self._due = size

    def taken(self, size: int) -> None:
        """Count bytes that the listener has taken; from any thread."""
        with self._lock:
            self._due += size
            if self._due < self._enough:
                return
            granted, self._due = self._due, 0
        self._grant(granted)
