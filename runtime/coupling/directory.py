"""Which codes a deployment has, and where each of their ranks is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.code_port import CodePort, PortLink
from runtime.coupling.errors import NoSuchRank, UnknownCode
from runtime.coupling.message_paths import DRIVER, rank_path
from runtime.machine.paths import DRIVER_PATH
from runtime.rank_name import ClusterName, RankName

if TYPE_CHECKING:
    from runtime.topology import Grid, RankNames


class CodeDirectory:
    """The codes by name. The ranks of a code are numbered over all its clusters, in order.

    >>> directory = CodeDirectory({"ocean": [("0:0", 2), ("1:0", 2)]})
    >>> directory.path("ocean", 2), directory.whose("1:0:0")
    ('/ranks/1:0:0', ('ocean', 2))
    """

    def __init__(
        self,
        codes: Mapping[str, Sequence[tuple[str, int]]],
        has_driver: bool = False,
        links: Iterable[tuple[tuple[str, str], tuple[str, str]]] = (),
        settings: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """`links` connect ports of codes, and `settings` are the values that each code is given."""
        self._clusters = {name: tuple(clusters) for name, clusters in codes.items()}
        self.has_driver = has_driver
        self.sizes = {name: sum(n for _, n in parts) for name, parts in self._clusters.items()}
        """The number of ranks of each code."""
        if has_driver:
            self.sizes[DRIVER] = 1
        self.links = tuple(PortLink(CodePort(*giver), CodePort(*taker)) for giver, taker in links)
        """Which ports of codes are connected."""
        self.settings = {code: dict(values) for code, values in (settings or {}).items()}
        """What each code is given by its name."""

    @property
    def plain(self) -> tuple[Any, ...]:
        """The arguments of a directory for another process, as plain data."""
        links = tuple((tuple(one.giver), tuple(one.taker)) for one in self.links)
        return dict(self._clusters), self.has_driver, links, self.settings

    @property
    def codes(self) -> tuple[str, ...]:
        """The names of the deployed codes, without the driver."""
        return tuple(self._clusters)

    def clusters(self, code: str) -> tuple[tuple[str, int], ...]:
        """Return the clusters of a code and the number of ranks on each; raises UnknownCode."""
        self.check(code)
        return self._clusters.get(code, ())

    def check(self, code: str, rank: int | None = None) -> None:
        """Check that a code and a rank exist; raises UnknownCode, NoSuchRank."""
        if code not in self.sizes:
            raise self._unknown(code)
        if rank is not None and not 0 <= rank < self.sizes[code]:
            raise NoSuchRank(
                f"{code} has no rank {rank}",
                cure=f"Its ranks are 0 to {self.sizes[code] - 1}"
                if self.sizes[code]
                else "It has no ranks at all",
            )

    def path(self, code: str, rank: int) -> str:
        """Return the message path of a rank; raises UnknownCode, NoSuchRank."""
        self.check(code, rank)
        if code == DRIVER:
            return DRIVER_PATH
        for cluster, ranks in self._clusters[code]:
            if rank < ranks:
                return rank_path(f"{cluster}:{rank}")
            rank -= ranks
        raise AssertionError("the rank was checked")

    def whose(self, identifier: str) -> tuple[str, int]:
        """Return the code and the rank of `site:cluster:rank`; raises UnknownCode."""
        if identifier == DRIVER and self.has_driver:
            return DRIVER, 0
        rank = RankName.find(identifier)
        for name, parts in self._clusters.items():
            before = 0
            for known, ranks in parts:
                if rank is not None and known == rank.cluster and rank.rank < ranks:
                    return name, before + rank.rank
                before += ranks
        raise UnknownCode(f"no code has a rank {identifier}")

    def rank_names(self, grid: Grid) -> RankNames:
        """Return how messages name the ranks of all codes, and of which where there are several."""
        from runtime.topology import NamedCluster, RankNames

        named: dict[str, NamedCluster] = {}
        for code, parts in self._clusters.items():
            first, called = 0, code if len(self._clusters) > 1 else ""
            for identifier, ranks in parts:
                site, cluster = ClusterName.parse(identifier).position
                place = grid.sites[site]
                path = f"{place.name}/{place.clusters[cluster].name}"
                named[identifier] = NamedCluster(path, first, code=called)
                first += ranks
        return RankNames(named)

    def _unknown(self, code: str) -> UnknownCode:
        if code == DRIVER:
            return UnknownCode(
                "no Python program drives this run",
                cure="Deploy it with Machine(plan, steered=True) instead of gcm-deploy",
            )
        from gcm.suggestion import did_you_mean  # imported here: slow, and needed for errors only

        return UnknownCode(
            f"there is no code {code!r} in this deployment",
            cure=did_you_mean(code, self._clusters) or f"There is: {', '.join(self._clusters)}",
        )
