"""The whole machine as a rank knows it, from the view of its front-end: all ranks and hosts.

The handshake gathers the table of all ranks and distributes it, so later no rank has to ask. It
has less than 200 bytes for each rank. A rank loads this only for a program that asks.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gcm.records import dataclass
from runtime.machine.table import decoded
from runtime.membership.bind_address import NOT_ADVERTISED
from runtime.part_names import cluster_of
from runtime.rank_name import ClusterName, RankName
from runtime.topology import NO_NAMES, Grid, RankNames

if TYPE_CHECKING:
    from runtime.machine.rank_settings import RankSettings
    from runtime.machine.table import Report
    from runtime.membership.bind_address import AdvertisedAddresses
    from runtime.membership.rank_link import RankLink


@dataclass(frozen=True, slots=True)
class Resident:
    """One rank: the host it runs on, and where it listens for ranks of other clusters.

    `machine` is the same for ranks that can reach each other by Unix sockets. All is empty for a
    rank that was not there when the table was made.
    """

    identifier: RankName
    host: str = ""
    machine: str = ""
    addresses: tuple[str, ...] = ()
    incarnation: int = 0


@dataclass(frozen=True, slots=True)
class Everybody:
    """The machine as it was planned, and all its ranks in the order of COMM_GRID.

    Behind them are those that have taken the place of lost ones.
    """

    grid: Grid
    me: RankName
    residents: tuple[Resident, ...]
    front_ends: dict[tuple[int, int], AdvertisedAddresses]
    """Where the front-ends of clusters forward, as far as they do."""
    tag_limit: int | None = None
    """The greatest tag that the MPIs of all clusters have, as far as they are known."""
    names: RankNames = NO_NAMES
    """How messages name the ranks."""

    @property
    def index(self) -> int:
        """The rank of this process in COMM_GRID, or what it has instead in place of a lost one."""
        return max(at for at, one in enumerate(self.residents) if one.identifier == self.me)

    @property
    def place(self) -> int:
        """The index of the process that was the first to have the rank of this one."""
        return self.place_of(self.me)

    def place_of(self, rank: RankName) -> int:
        """Return the index of the process that was the first to have a rank."""
        return next(at for at, one in enumerate(self.residents) if one.identifier == rank)

    def cluster_name(self, rank: RankName) -> str:
        """Return the name that the user gave the cluster of a rank, with that of its site."""
        site = self.grid.sites[rank.site]
        return f"{site.name}/{site.clusters[rank.number].name}"


def everybody(link: RankLink, pickled: bytes = b"") -> Everybody:
    """Return the machine from the table that the rank received in the handshake.

    `pickled` is a `Grid`; without it the grid has the ranks of the own code alone.
    """
    wrapper = link.wrapper
    # From the launcher, over proved connections.
    grid = pickle.loads(pickled or wrapper.settings.grid)
    assert isinstance(grid, Grid)
    table = decoded(wrapper.table)
    reports = {one["rank"]: one for one in table if "rank" in one and "index" not in one}
    residents = []
    tag_limits = [report["tags"] for report in reports.values() if "tags" in report]
    for identifier in grid.identifiers():
        report = reports.get(str(identifier))
        machine, addresses = report["doors"] if report else NOT_ADVERTISED
        host = report["host"] if report else ""
        incarnation = report["incarnation"] if report else 0
        residents.append(Resident(identifier, host, machine, tuple(addresses), incarnation))
    # To who was there at first they are news, which come with the next view.
    if pickled or link.is_again or wrapper.settings.replicas > 1:
        residents += replacing(table, grid)
    me = RankName.parse(link.name)
    limit = min(tag_limits, default=None)
    names = NO_NAMES if pickled else _names(grid, wrapper.settings)
    return Everybody(grid, me, tuple(residents), front_ends_in(table), limit, names)


def front_ends_in(table: Sequence[Report]) -> dict[tuple[int, int], AdvertisedAddresses]:
    """Return where the front-ends of clusters forward, as far as they do."""
    return {
        ClusterName.parse(one["front-end"]).position: (
            one["forwarder"][0],
            tuple(one["forwarder"][1]),
        )
        for one in table
        if "front-end" in one
    }


def _names(grid: Grid, settings: RankSettings) -> RankNames:
    """Return how messages name the ranks of this program."""
    world = grid.size // settings.replicas if settings.replicas > 1 else 0
    is_of_cluster = settings.comm_world == "cluster"
    return RankNames.of_grid(grid, world=world, is_of_cluster=is_of_cluster)


def replacing(table: Sequence[Report], grid: Grid, known: int = 0) -> list[Resident]:
    """Return those that have taken the places of lost ranks of a grid, but the first `known`.

    Their index in the table counts those of all codes, and says who came first. In the grid of one
    code the others have no ranks; all of its ranks number those of their own alike, from its size
    on.
    """
    mine = {f"{site}:{number}" for site, number, one in grid.clusters() if one.size}
    told = sorted((one for one in table if "index" in one), key=lambda one: int(one["index"]))
    own = [one for one in told if cluster_of(one["rank"]) in mine]
    return [
        Resident(
            RankName.parse(one["rank"]),
            one["host"],
            one["doors"][0],
            tuple(one["doors"][1]),
            one["incarnation"],
        )
        for one in own[known:]
    ]
