"""A machine of components in one process: hosts that are joined in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from runtime.hosting.host import Host
from runtime.transport.queued import MemoryStream
from runtime.transport.reactor import Reactor


@contextmanager
def joined_hosts(*homes: str) -> Iterator[tuple[Host, ...]]:
    """Yield a host for each home, and join each pair of them by a channel in memory.

    A call from one to another is encoded, sent, dispatched and answered as between nodes, with
    copies of its arguments and results. What is published with a path below the home of one host
    is found from all others.

    >>> with joined_hosts("/left", "/right") as (left, right):
    ...     right.publish("/right/server", server)
    ...     client.bind("out", left.find("/right/server", "ping"))
    """
    with ExitStack() as stack:
        reactor = stack.enter_context(Reactor())
        hosts = tuple(Host(home, reactor) for home in homes)
        for host in hosts:
            stack.callback(host.close)
        for one, other in itertools.combinations(hosts, 2):
            near, far = MemoryStream.pair()
            one.channel(near, other.home, [other.home])
            other.channel(far, one.home, [one.home])
        yield hosts
