"""Which ranks exchange messages, as bindings: computed from who is where, kept nowhere.

A rank is bound to the other clusters of its site and to the other sites, in each to all ranks of
its own code. What a binding leads to is a collective interface of that cluster or site.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.machine.contracts import CONTRACTS, Delivery
from runtime.machine.paths import part_path
from runtime.rank_name import ClusterName

if TYPE_CHECKING:
    from runtime.topology import Grid

DELIVERY = CONTRACTS[Delivery]
PEERS = "peers"
"""The client interface of a rank, and of its cluster, for messages to other ranks."""


def at_site(interface: str, code: str) -> str:
    """Return the name that an interface for the messages of one code has at a site.

    No two codes have the same: punctuation is written as in an address, with `-` for the `%`.

    >>> at_site("delivery", "ocean_2"), at_site("peers", "air.2")
    ('delivery-ocean_2', 'peers-air-2e2')
    """
    kept = (one if one.isalnum() or one == "_" else f"-{ord(one):02x}" for one in code)
    return f"{interface}-{''.join(kept)}"


def bound_to(grid: Grid, cluster: str, code: str) -> list[str]:
    """Return what the ranks of a cluster are bound to; `grid` has the ranks of their code alone.

    >>> from runtime.topology import Cluster, Grid, Node, Site
    >>> one = Cluster("c", (Node("n", ranks=2),))
    >>> bound_to(Grid((Site("a", (one, one)), Site("b", (one,)))), "0:1", "ocean")
    ['/grid/site0/cluster0.delivery', '/grid/site1.delivery-ocean']
    """
    found, own_site = [], ClusterName.parse(cluster).site
    for number, site in enumerate(grid.sites):
        filled = [place for place, one in enumerate(site.clusters) if one.size]
        if number == own_site:
            names = [f"{number}:{place}" for place in filled]
            found += [f"{part_path(name)}.{DELIVERY}" for name in names if name != cluster]
        elif filled:
            found.append(f"{part_path(str(number))}.{at_site(DELIVERY, code)}")
    return found
