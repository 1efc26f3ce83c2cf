"""One assembly, in one process or on the nodes of a grid. Nothing in it says which.

    gcm run examples/12_components_on_nodes/farm.fractal
    gcm-deploy descriptors/components-on-nodes.xml

Both print the same number. The assembly names virtual nodes, and the descriptor maps them: the
farmer to one node, and the workers to four others, each in its own process. On standard error every
component says where it lives. `GCM_NODE` is the name of the node in the process of a node, and not
set elsewhere.

Exceptions keep their traceback between processes: try `--set limit=-1` for the first command and
`arguments="limit=-1"` of <assembly> for the second.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Annotated, Protocol

from gcm import Cardinality, Runnable, attribute, distribute, provides, requires, round_robin, total


class Search(Protocol):
    """What the farmer sees: a list goes out, one number comes back."""

    @distribute(round_robin)
    def count_primes(self, ranges: list[range]) -> Annotated[int, total]: ...


class Work(Protocol):
    """What each worker sees: one element of the list."""

    def count_primes(self, ranges: range) -> int: ...


@provides("work", Work)
class Worker:
    def on_start(self) -> None:
        tell_where("a worker")

    def count_primes(self, ranges: range) -> int:
        if ranges.start < 0:
            raise ValueError(f"there are no primes below 0, so not in {ranges}")
        return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in ranges if n > 1)


@provides("run", Runnable)
class Farmer:
    limit: Annotated[int, attribute()]
    workers: Annotated[Search, requires(cardinality=Cardinality.MULTICAST)]

    def on_start(self) -> None:
        tell_where("the farmer")

    def run(self) -> str:
        size = max(self.limit // 8, 1)
        starts = range(0, self.limit, size) if self.limit >= 0 else [self.limit]
        ranges = [range(start, min(start + size, self.limit)) for start in starts]
        return f"primes below {self.limit}: {self.workers.count_primes(ranges)}"


def tell_where(who: str) -> None:
    """Say in which process a component lives."""
    node = os.environ.get("GCM_NODE", "no node")
    process = f"process {os.getpid()} of {socket.gethostname()}"
    print(f"{who} lives on {node}: {process}", file=sys.stderr)
