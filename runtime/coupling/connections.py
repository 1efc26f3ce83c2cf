"""The view of one rank on the ranks of other codes: their addresses and connections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime.coupling.message_paths import rank_path
from runtime.machine.contracts import CodeRoutes
from runtime.membership.everybody import everybody
from runtime.transport.keys import parsed
from runtime.wire import MessageSink, PeerConnections
from runtime.wire.dialling.connecting import LANE, PROBES, DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.forward_requests import coupled_stop
from runtime.wire.dialling.references import ReferenceController
from runtime.wire.opening import front_end_parties

if TYPE_CHECKING:
    import socket

    from runtime.coupling.directory import CodeDirectory
    from runtime.membership.bind_address import AdvertisedAddresses
    from runtime.membership.rank_link import RankLink
    from runtime.wire.dialling.routed import RoutedConnector


class CodeConnections(PeerConnections):
    """What `runtime.wire` needs to know of the ranks of all codes, as seen by one rank.

    A rank has the same index at all members and in all its incarnations: its position among the
    ranks of the machine. The address of a listening rank is known once the launcher has sent it. A
    rank that connects before that is identified by the key it proves to have.
    """

    def __init__(
        self,
        link: RankLink,
        machine: bytes,
        sink: MessageSink,
        listeners: Sequence[socket.socket],
        found: AdvertisedAddresses,
        *,
        codes: CodeDirectory,
    ) -> None:
        """Accept connections at `listeners`; `found` are the addresses it advertises."""
        known = everybody(link, machine)
        self._names = codes.rank_names(known.grid)
        self._places = RankDirectory(
            tuple(
                Party(
                    str(one.identifier),
                    one.host,
                    cluster=known.cluster_name(one.identifier),
                    names=self._names,
                )
                for one in known.residents[: known.grid.size]
            )
        )
        me = self._places.index(link.name)
        assert me is not None  # the launcher has said which code this rank belongs to
        own = self._places.party(me)
        self._places.put(
            Party(own.name, own.host, *found, link.incarnation, own.cluster, self._names)
        )
        self.routed: RoutedConnector | None = None
        if known.front_ends:
            from runtime.wire.dialling.routed import (
                RoutedConnector,  # only if some ranks cannot be dialled
            )

            self.routed = RoutedConnector(
                me,
                self._places,
                link.credentials,
                known.grid,
                front_ends=front_end_parties(known.front_ends),
                peers=lambda peer: link.to(CodeRoutes, rank_path(self.name_of(peer))),
                share=lambda _: None,
                stop_of=coupled_stop,
            )
        self.references = ReferenceController(
            self.routed or DirectConnector(me, self._places, link.credentials)
        )
        super().__init__(
            me, self._places, sink, self.references,
            listeners=listeners, credentials=link.credentials,
        )  # fmt: skip
        self.references.keeper = self

    def name_of(self, peer: int) -> str:
        """Return the identifier of a rank."""
        return self._places.party(peer).name

    def index_of(self, name: str) -> int | None:
        """Return the index of a rank, or None if there is no such rank."""
        return self._places.index(name)

    def is_known(self, peer: int) -> bool:
        """Return whether the address of a rank is known."""
        return bool(self._places.party(peer).addresses)

    def incarnation_of(self, peer: int) -> int:
        """Return the incarnation of a rank that is known here, 0 if none is."""
        return self._places.party(peer).incarnation

    def learn(self, report: dict[str, Any]) -> None:
        """Record the address of a rank."""
        machine, addresses = report["doors"]
        self._add_rank(report["rank"], report["incarnation"], report["host"], machine, addresses)

    def rows(self) -> tuple[list[Any], dict[str, int]]:
        """Return the traffic per cluster, and how ranks were reached."""
        traffic = self.traffic()
        return self.references.rows(traffic, self._places), self.references.figures(traffic)

    def _add_rank(
        self,
        name: str,
        incarnation: int,
        host: str = "",
        machine: str = "",
        addresses: Sequence[str] = (),
    ) -> None:
        index = self._places.index(name)
        if index in (None, self.me):
            return
        known = self._places.party(index)
        party = Party(
            name,
            host or known.host,
            machine,
            tuple(addresses),
            incarnation,
            known.cluster,
            self._names,
        )
        if incarnation > known.incarnation:
            self.renew(party)
        elif incarnation == known.incarnation and addresses:
            self._places.put(party)

    def _admitted(self, connected: socket.socket, name: str, received: bytes) -> None:
        if not name.endswith(PROBES):
            self._add_rank(*parsed(name.removesuffix(LANE)))
        super()._admitted(connected, name, received)
