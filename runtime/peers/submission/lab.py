"""The lab as a user sees it: who is there, how far away, and connections to them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from runtime.peers.booking import Offer, best_first
from runtime.peers.connections.connection import MemberConnection
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.contracts import LabMembership, StatusService
from runtime.peers.credentials.credential import Credential
from runtime.peers.daemon.talking import TalkHolder
from runtime.peers.errors import PeerError
from runtime.peers.latency import SUBMITTER, Distances, Sites
from runtime.peers.membership import LabHosts, read_text
from runtime.peers.model import MOST_MEASURED, Address, Member, PeerMachine, is_status_of

C = TypeVar("C")
FAR = 1e6
"""The distance of a peer that has not answered: whoever answers comes first."""

FEWEST_HOSTS = 100
"""So many are asked for at least: the answer has supernodes too, and not the nearest first."""

BOOKED_TIMEOUT = 15.0
"""How long a peer that holds places may take to answer: it is more likely busy than gone."""

SITES_TIMEOUT = 10.0
"""How long peers are asked for the ways between them; what is not known then counts as far."""

MOST_DIALS = 32

UNKNOWN_LOAD = 1e6
"""How busy a host counts as that does not tell."""


class Lab:
    """Peers by name, and at most one connection for calls to each; `close` ends these.

    Hosts come from a supernode, or from `cache`, the list of last time, while all are gone.
    `by_load` says whether offers tell how busy the hosts are.
    """

    def __init__(
        self, credential: Credential, cache: Path, timeout: float = 3.0, *, by_load: bool = False
    ) -> None:
        self._by_load = by_load
        self.dialler = MemberDialler(credential, timeout)
        self.peers: dict[str, Member] = {}
        self.source = ""
        """Where the hosts come from, for people."""
        self._credential = credential
        self._cache = cache
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connections: dict[str, MemberConnection] = {}
        self._hosts = LabHosts(self.me, credential.header.lab)
        self._finding = threading.Lock()
        self._placing = threading.Lock()  # for both of these
        self._distances = Distances()
        self._sites = Sites()

    @property
    def me(self) -> str:
        """Who calls."""
        return self.dialler.me

    def find_hosts(self, most: int) -> Sequence[str]:
        """Learn of at most so many peers, or a few more; return the names of all that are known.

        Raises:
            PeerError: nobody can be asked, and nothing is known of last time.
        """
        try:
            known = read_text(self._cache.read_text(encoding="utf-8"))[0]
        except (OSError, PeerError):
            known = []
        header = self._credential.header
        self._hosts = LabHosts(self.me, header.lab, known)
        talks = TalkHolder(self.dialler, self._finding, self._keep)
        talks.hold(self._hosts.find(header.supernodes, max(most, FEWEST_HOSTS)))
        self.source = self._hosts.source or f"the list of last time ({self._cache})"
        self.peers |= self._hosts.peers
        return list(self.peers)

    def offers(self, names: Iterable[str]) -> list[Offer]:
        """Return what peers may offer, with the round trip to each and its site.

        Silent ones are far away, and have none.

        Those that are silent and that no supernode names are not remembered for the next time.
        """
        names = list(names)
        with ThreadPoolExecutor(min(MOST_DIALS, len(names)) or 1, "round trips") as threads:
            # All connect before any is measured: a handshake would make pings of others late.
            reached = list(threads.map(self._is_reached, names))
            offers = list(threads.map(self._offer, names, reached))
        offers = self._with_sites(offers)
        if self._by_load:
            with ThreadPoolExecutor(min(MOST_DIALS, len(names)) or 1, "load") as threads:
                offers = list(threads.map(self._with_load, offers))
        if self._hosts.silent({one.peer for one in offers if one.rtt >= FAR}):
            self._keep()
        return offers

    def _with_sites(self, offers: Sequence[Offer]) -> list[Offer]:
        """Return the offers with the sites of those that answer, by what these have measured."""
        answering = best_first([one for one in offers if one.rtt < FAR])
        deadline = time.monotonic() + SITES_TIMEOUT

        def near_to(first: str, others: Sequence[str]) -> list[str]:
            unknown = [one for one in others if self._distances.are_near(first, one) is None]
            for begin in range(0, len(unknown), MOST_MEASURED):
                if time.monotonic() < deadline:
                    self._ask_for_round_trips(first, unknown[begin : begin + MOST_MEASURED])
            return [one for one in others if self._distances.are_near(first, one)]

        with self._placing:
            for one in answering:
                self._distances.learn(SUBMITTER, one.peer, one.rtt)
            self._sites.place([one.peer for one in answering], near_to)
            of = dict(self._sites.of)
        return [
            Offer(one.peer, one.places, one.rtt, of[one.peer] if one.rtt < FAR else "")
            for one in offers
        ]

    def _with_load(self, offer: Offer) -> Offer:
        """Return the offer with how busy the host is; one that does not tell comes last."""
        busy = UNKNOWN_LOAD
        if offer.rtt < FAR:
            with suppress(PeerError):
                status: Any = self.service(offer.peer, StatusService).status(self.me)
                if is_status_of(str(self.peers[offer.peer].principal), status):
                    told = PeerMachine.of(status.get("machine")).busy
                    busy = UNKNOWN_LOAD if told is None else round(told, 1)
        return replace(offer, busy=busy)

    def _ask_for_round_trips(self, peer: str, others: Sequence[str]) -> None:
        """Learn how far a peer is from others; of one that does not tell, nothing is learnt."""
        wanted = {str(self.peers[one].principal): one for one in others}
        try:
            answer: Any = self.service(peer, LabMembership, SITES_TIMEOUT).round_trips(
                self.me, [self.peers[one].plain() for one in others]
            )
        except PeerError:
            return
        for who, name in wanted.items() if isinstance(answer, dict) else ():
            match answer.get(who):
                case int() | float() as rtt if 0 <= rtt < FAR:
                    self._distances.learn(peer, name, float(rtt))

    def service(self, name: str, contract: type[C], timeout: float | None = None) -> C:
        """Return a service of a peer; raises PeerError."""
        return self._connection(name).stub(contract, timeout or self._timeout)

    def connect(self, name: str) -> MemberConnection:
        """Return a connection of its own to a peer that is booked; raises PeerError."""
        return self.dialler.reach(self.peers[name], BOOKED_TIMEOUT)

    def address_of(self, name: str) -> Address:
        """Return where a peer was reached, or else where it says it is."""
        connection = self._connections.get(name)
        return connection.address if connection else self.peers[name].addresses[0]

    def forget(self, name: str) -> None:
        """Close the connection to a peer: it is gone, or may be."""
        with self._lock:
            connection = self._connections.pop(name, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close all connections."""
        for name in list(self._connections):
            self.forget(name)

    # --------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        with suppress(OSError):
            self._cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = self._cache.with_suffix(".new")
            beside.write_text(self._hosts.text, encoding="utf-8")
            beside.replace(self._cache)

    def _is_reached(self, name: str) -> bool:
        try:
            self._connection(name)
        except PeerError:
            return False
        return True

    def _offer(self, name: str, is_reached: bool) -> Offer:
        places = self.peers[name].share.processes
        if not is_reached:
            return Offer(name, places, FAR)
        try:
            return Offer(name, places, self._connection(name).round_trip(self.me))
        except PeerError:
            self.forget(name)
            return Offer(name, places, FAR)

    def _connection(self, name: str) -> MemberConnection:
        with self._lock:
            found = self._connections.get(name)
        if found is not None:
            return found
        made = self.dialler.reach(self.peers[name], self._timeout)
        with self._lock:
            kept = self._connections.setdefault(name, made)
        if kept is not made:
            made.close()
        return kept
