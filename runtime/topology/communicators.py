"""Which process has which rank in each hierarchical communicator, seen from one process."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum
from itertools import accumulate

from gcm.records import dataclass
from runtime.errors import GridError
from runtime.rank_name import RankName
from runtime.topology.tree import Grid


class Communicator(StrEnum):
    """The communicators every process of a grid has."""

    CLUSTER = "COMM_CLUSTER"
    SITE = "COMM_SITE"
    GRID = "COMM_GRID"
    SITE_GATEWAYS = "COMM_SITE_GATEWAYS"
    """The first rank of each cluster of the site."""
    GRID_GATEWAYS = "COMM_GRID_GATEWAYS"
    """The first rank of each site of the grid."""


@dataclass(frozen=True, slots=True)
class Block:
    """Ranks 0 to `count` - 1 of one cluster, consecutive in a communicator."""

    site: int
    cluster: int
    count: int


class RankTable:
    """The members of one communicator: rank to identifier and back.

    The table keeps one entry per cluster, not per rank, so it is small and quick to make for
    grids of any size.
    """

    __slots__ = ("_blocks", "_ends", "_starts")

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self._blocks = tuple(block for block in blocks if block.count)
        self._ends = tuple(accumulate(block.count for block in self._blocks))
        self._starts = {
            (block.site, block.cluster): (end - block.count, block.count)
            for block, end in zip(self._blocks, self._ends, strict=True)
        }

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[RankName]:
        for block in self._blocks:
            for rank in range(block.count):
                yield RankName(block.site, block.cluster, rank)

    def identifier(self, rank: int) -> RankName:
        """Return the process that has a rank; raises `GridError` when the rank is not there."""
        if not 0 <= rank < len(self):
            raise GridError(
                f"there is no rank {rank}", cure=f"The communicator has {len(self)} ranks."
            )
        position = bisect_right(self._ends, rank)
        block = self._blocks[position]
        return RankName(block.site, block.cluster, rank - (self._ends[position] - block.count))

    def rank(self, identifier: RankName) -> int | None:
        """Return the rank of a process, or None when it is not a member."""
        start, count = self._starts.get((identifier.site, identifier.number), (0, 0))
        return start + identifier.rank if identifier.rank < count else None


def rank_table(grid: Grid, communicator: Communicator, me: RankName) -> RankTable:
    """Return the members of a communicator as `me` sees them.

    Raises `GridError` when the grid has no process `me`. A process that is not a gateway gets the
    table of its site's or the grid's gateways too, without a rank of its own.
    """
    grid.cluster_of(me)
    everyone = [Block(site, number, found.size) for site, number, found in grid.clusters()]
    return RankTable(tuple(_members(communicator, everyone, me)))


def _members(communicator: Communicator, everyone: list[Block], me: RankName) -> list[Block]:
    my_site = [block for block in everyone if block.site == me.site]
    match communicator:
        case Communicator.CLUSTER:
            return [block for block in my_site if block.cluster == me.number]
        case Communicator.SITE:
            return my_site
        case Communicator.GRID:
            return everyone
        case Communicator.SITE_GATEWAYS:
            return [_gateway(block) for block in my_site]
        case Communicator.GRID_GATEWAYS:
            first_clusters = {block.site: block for block in reversed(everyone) if block.count}
            return [_gateway(first_clusters[site]) for site in sorted(first_clusters)]


def translate(rank: int, source: RankTable, target: RankTable) -> int | None:
    """Return the rank in `target` of the process that has `rank` in `source`.

    None means that the process is not a member of `target`. Raises `GridError` when `source` has
    no such rank.
    """
    return target.rank(source.identifier(rank))


def _gateway(block: Block) -> Block:
    return Block(block.site, block.cluster, min(block.count, 1))
