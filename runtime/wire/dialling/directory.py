"""Who is where: the name, the host and the addresses of every rank of the machine, by index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcm.records import dataclass
from runtime.part_names import cluster_of
from runtime.transport.keys import member_name
from runtime.transport.passage import host_and_port, host_port
from runtime.transport.transports import of_use
from runtime.wire.errors import WireError

if TYPE_CHECKING:
    from runtime.membership.everybody import Resident
    from runtime.topology import RankNames


@dataclass(frozen=True, slots=True)
class Party:
    """One rank: its `name` is `site:cluster:rank`.

    `addresses` are where it listens; Unix sockets and 127.0.0.1 are of use on its `machine` only,
    which is another than `host` where several share one name. Without any it was not there when
    the table was made. `cluster` is the name that the user gave its cluster.
    """

    name: str
    host: str = ""
    machine: str = ""
    addresses: tuple[str, ...] = ()
    incarnation: int = 0
    """How often it was started until now; 0 if that does not matter."""
    cluster: str = ""
    names: RankNames | None = None
    """How errors name it, by its number in COMM_WORLD, where that is known."""

    @classmethod
    def of(cls, one: Resident, cluster: str, names: RankNames) -> Party:
        """Return where a rank is, as the table of all ranks says."""
        where = one.host, one.machine, one.addresses
        return cls(str(one.identifier), *where, one.incarnation, cluster, names)

    @property
    def member(self) -> str:
        """Return the name that it proves in a handshake.

        >>> Party("0:1:2", incarnation=3).member
        '0:1:2#3'
        """
        return member_name(self.name, self.incarnation) if self.incarnation else self.name

    def __str__(self) -> str:
        """Return how errors name it.

        >>> str(Party("0:1:2", "blade07", "", ("10.0.0.7:4711",)))
        'rank 0:1:2 on blade07 (10.0.0.7:4711)'
        """
        where = f" on {self.host}" if self.host else ""
        addresses = ", ".join(map(host_port, self.addresses))  # no token of a passage
        addresses = f" ({addresses})" if addresses else ""
        name = f"rank {self.name}" if self.names is None else self.names.name(self.name)
        return f"{name}{where}{addresses}"


class RankDirectory:
    """All ranks in the order of their indexes."""

    def __init__(self, parties: tuple[Party, ...]) -> None:
        self._parties = list(parties)
        self._indexes = {party.name: index for index, party in enumerate(parties)}

    def add(self, party: Party) -> None:
        """Know a rank that has taken the place of a lost one, under the next index.

        From now on its name means this one, and the lost one is refused if it comes back.
        """
        self._parties.append(party)
        self._indexes[party.name] = len(self._parties) - 1

    def put(self, party: Party) -> None:
        """Know more of a rank, or another process in its place, under the index that it has.

        Raises:
            KeyError: there is no such rank.
        """
        self._parties[self._indexes[party.name]] = party

    def __len__(self) -> int:
        """Return the number of ranks."""
        return len(self._parties)

    def party(self, index: int) -> Party:
        """Return the rank with an index; raises WireError if there is none."""
        if not 0 <= index < len(self._parties):
            raise WireError(f"there is no rank {index} among {len(self._parties)}")
        return self._parties[index]

    def index(self, name: str) -> int | None:
        """Return the index of a rank, or None if there is no such rank."""
        return self._indexes.get(name)

    def link(self, source: int, target: int) -> str:
        """Return how errors name what is between two ranks.

        >>> RankDirectory((Party("0:0:0", cluster="a"), Party("1:0:0"))).link(0, 1)
        'the link from cluster a to cluster 1:0'
        """
        ends = [self.party(one) for one in (source, target)]
        here, there = (one.cluster or cluster_of(one.name) for one in ends)
        if here == there:
            return f"the link inside cluster {here}"
        return f"the link from cluster {here} to cluster {there}"

    def clusters_at(self, host: str) -> str:
        """Return which clusters have ranks that listen at an address of a host; "" if none has.

        >>> one = Party("0:0:0", addresses=("10.0.0.7:4711",), cluster="a")
        >>> RankDirectory((one,)).clusters_at("10.0.0.7")
        'a'
        """
        found = (
            one.cluster or cluster_of(one.name)
            for one in self._parties
            if any(host_and_port(way)[0].strip("[]") == host for way in one.addresses)
        )
        return ", ".join(dict.fromkeys(found))

    def ways(self, source: int, target: int | Party) -> tuple[str, ...]:
        """Return the addresses at which a rank can try to reach another one, or a front-end.

        They are in the order of the transports of the run.
        """
        party = self.party(target) if isinstance(target, int) else target
        is_near = bool(party.machine) and party.machine == self.party(source).machine
        return of_use(party.addresses, is_near=is_near)
