"""The locations of all ranks: as reported in the handshake, and as changed since then."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Self

from gcm.records import dataclass
from runtime.machine.deaths import UnreadableReport, read_fields
from runtime.membership.bind_address import NOT_ADVERTISED, AdvertisedAddresses

Report = dict[str, Any]
"""The entry of a rank or of a front-end in the table that all ranks get."""


@dataclass(frozen=True, slots=True)
class RankArrival:
    """The report of a rank about itself when its MPI has started.

    `rank` and `size` are those of its native MPI; `size` is None where MPI does not know it. `tags`
    is the greatest tag that MPI has, `segments` are files of its shared memory, which are removed
    when the rank could not. `doors` are the addresses that it advertises to ranks of other
    clusters. `order` is that of the bytes of its numbers. Its front-end knows the `incarnation`.
    """

    host: str
    pid: int
    rank: int = 0
    size: int | None = None
    mpi: str = ""
    tags: int | None = None
    segments: tuple[str, ...] = ()
    doors: AdvertisedAddresses = NOT_ADVERTISED
    order: str = sys.byteorder
    incarnation: int = 1

    @classmethod
    def parse(cls, plain: object) -> Self:
        """Return the arrival that another process has sent as `plain`.

        Raises:
            UnreadableReport: the data are no arrival.
        """
        known = read_fields(plain, _ARRIVAL, needed=("host", "pid", "segments", "doors"))
        if len(known["doors"]) != 2:
            raise UnreadableReport("its 'doors' are no machine and addresses")
        machine, addresses = known["doors"]
        if not isinstance(addresses, list | tuple):
            raise UnreadableReport("the addresses of its 'doors' are no list")
        for text in (machine, *addresses, *known["segments"]):
            if not isinstance(text, str):
                raise UnreadableReport(f"a {type(text).__name__} stands where a text belongs")
        advertised, segments = (machine, tuple(addresses)), tuple(known["segments"])
        return cls(**{**known, "doors": advertised, "segments": segments})

    @property
    def plain(self) -> Report:
        """The arrival as plain data, for the wire."""
        return {name: getattr(self, name) for name in _ARRIVAL}


_ARRIVAL: dict[str, type | tuple[type, ...]] = {
    "host": str,
    "pid": int,
    "rank": int,
    "size": (int, type(None)),
    "mpi": str,
    "tags": (int, type(None)),
    "segments": (list, tuple),
    "doors": (list, tuple),
    "order": str,
    "incarnation": int,
}


def replacement(index: int, rank: str, incarnation: int, arrival: RankArrival | None) -> Report:
    """Return the report of a rank that takes the place of a lost one, under an index of its own.

    One that has not arrived could not be started.
    """
    return {**report(rank, arrival), "index": index, "incarnation": incarnation}


def front_end_report(cluster: str, forwarder: AdvertisedAddresses) -> Report:
    """Return what others know of the front-end of a cluster: where it forwards.

    It has no `rank`, and stands for no rank: a cluster that relays may have none.
    """
    return {"front-end": cluster, "forwarder": forwarder}


def report(rank: str, arrival: RankArrival | None) -> Report:
    """Return what others know of a rank: its name alone if it is started later.

    The first rank of a cluster stands for its MPI, too, which has tags up to `tags`. Everybody gets
    all of these, so they hold nothing else.
    """
    if arrival is None:
        return {"rank": rank, "host": "", "doors": NOT_ADVERTISED, "incarnation": 0}
    found: Report = {"rank": rank}
    if rank.endswith(":0") and arrival.tags is not None:
        found["tags"] = arrival.tags
    place = {"host": arrival.host, "doors": arrival.doors, "incarnation": arrival.incarnation}
    return {**found, **place}


class Whereabouts:
    """A front-end's table of all ranks; those of a code that starts later have moved.

    >>> known = Whereabouts()
    >>> known.moved([report("0:0:0", RankArrival("here", pid=7, incarnation=2))])
    >>> known.handshake([report("0:0:0", None), report("0:1:0", None)])
    >>> [one["host"] for one in known.everybody]
    ['here', '']
    """

    def __init__(self) -> None:
        self._reported: dict[str, Report] = {}
        self._moved: dict[str, Report] = {}
        self._replacing: list[Report] = []

    def handshake(self, everybody: Iterable[Report]) -> None:
        """Record the reports of all ranks in the handshake, in their order."""
        self._reported = {one.get("rank") or one["front-end"]: one for one in everybody}

    def moved(self, reports: Iterable[Report]) -> None:
        """Record ranks that were started later or again; the handshake may come after."""
        for one in reports:
            if "index" in one:
                self._replacing.append(one)
            else:
                self._moved[one["rank"]] = one

    @property
    def everybody(self) -> list[Report]:
        """The reports of all ranks as they are now, and of front-ends, which never move.

        Behind them are those that have taken the place of lost ones, in the order of their indexes.
        """
        moved = self._moved
        current = [
            {**one, **moved[at]} if at in moved else one for at, one in self._reported.items()
        ]
        return current + self._replacing
