"""Barrier: a native barrier in each cluster, empty messages between clusters and sites.

Optimum: one empty message over each link between a cluster and its site's gate, each way, and one
over each link between two sites, each way; the slowest member waits one WAN latency.
"""

from __future__ import annotations

from runtime.collectives.blocks import Blocks
from runtime.collectives.layout import Layout
from runtime.collectives.port import CollectivePort, Pending, Steps


def barrier(layout: Layout, port: CollectivePort) -> Steps[None]:
    """Return when every member has come."""
    part = layout.mine
    alone = len(part.members) == 1
    token = memoryview(bytearray(1))
    if layout.me != part.members[0]:
        yield [*port.gather(memoryview(b"\1"), None, 0), *port.bcast(token, 0)]
        return
    if not alone:
        yield port.gather(None, Blocks.in_a_row([1] * len(part.members)), 0)
    gate = layout.gate(part.site)
    if layout.me == gate:
        yield from _meet_other_sites(layout, port)
    else:
        yield [port.send(gate, b""), port.receive(gate, token[:0])]
    if not alone:
        yield port.bcast(token, 0)


def _meet_other_sites(layout: Layout, port: CollectivePort) -> Steps[None]:
    """Wait for this site's clusters, exchange with the other gates, release these clusters."""
    nothing = memoryview(bytearray())
    clusters = [part.members[0] for part in layout.my_site if part is not layout.mine]
    if clusters:
        yield [port.receive(leader, nothing) for leader in clusters]
    gates = [layout.gate(site) for site in range(len(layout.sites)) if site != layout.mine.site]
    exchanged: list[Pending] = [port.send(gate, b"") for gate in gates]
    exchanged += [port.receive(gate, nothing) for gate in gates]
    if exchanged:
        yield exchanged
    if clusters:
        yield [port.send(leader, b"") for leader in clusters]
