"""The membership of a peer as a component: its core has the list, this its threads and its file."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterable
from typing import Any

from gcm import provides
from runtime.clocks import clock
from runtime.peers.contracts import LabMembership, Plain
from runtime.peers.credentials.credential import write_secret
from runtime.peers.daemon.context import DaemonContext, Repeated, Standing
from runtime.peers.daemon.finding import addresses_of, own_addresses
from runtime.peers.daemon.round_trips import RoundTrips
from runtime.peers.daemon.talking import TalkHolder
from runtime.peers.errors import PeerError, Refused
from runtime.peers.membership import MembershipSettings, PeerMembership
from runtime.peers.model import MOST_MEASURED, Address, Member, MemberRole, PeerName, Reason

log = logging.getLogger(__name__)


@provides("membership", LabMembership)
@provides("standing", Standing)
class MembershipService:
    """Tells a supernode that the peer is there, and works on where there is none."""

    _context: DaemonContext
    _core: PeerMembership
    _talks: TalkHolder
    _round_trips: RoundTrips

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._repeated: list[Repeated] = []

    def begin(self, context: DaemonContext) -> None:
        """Read what was known, and begin to signal."""
        found = context.configuration
        self._context = context
        settings = MembershipSettings(found.number("known_hosts"), found.seconds("refresh_every"))
        self._core = PeerMembership(self._me(), settings, clock=clock, chance=random)
        self._round_trips = RoundTrips(context, self._core.round_trips, self._lock)
        self._talks = TalkHolder(context.dialler, self._lock, self._save)
        self._remember()
        self._save()
        self._repeated = [
            Repeated("peer alive", self._signal, found.seconds("alive_every")),
            Repeated("peer pings", self._measure, found.seconds("ping_every")),
        ]

    def end(self) -> None:
        """Tell a supernode that the peer leaves."""
        for one in self._repeated:
            one.close()
        self._save()
        try:
            self._talks.hold(self._core.leave())
        except PeerError as error:
            log.info("no supernode was told of the end: %s", error)

    # --- the contract ---------------------------------------------------------------------------

    def ping(self, caller: str) -> None:
        """Answer."""

    def alive(self, caller: str, row: list[Any]) -> Plain:
        """Take note of another peer, which finds no supernode."""
        with self._lock:
            return self._core.alive(caller, row)

    def exchange(self, caller: str, news: Plain) -> Plain:  # noqa: ARG002 - the contract's
        """Refuse: only supernodes have a table."""
        raise Refused(f"{self._context.me} is not a supernode", reason=Reason.BAD_REQUEST)

    def round_trips(self, caller: str, peers: list[Any]) -> Plain:  # noqa: ARG002 - the contract's
        """Return the round trips to other peers."""
        if len(peers) > MOST_MEASURED:
            raise Refused(
                f"the way to at most {MOST_MEASURED} peers is measured at once",
                reason=Reason.BAD_REQUEST,
            )
        members = [Member.of(one) for one in peers]
        return dict(
            self._round_trips.to([one for one in members if one.principal != self._context.me])
        )

    def hosts(self, caller: str, most: int) -> Plain:  # noqa: ARG002 - the contract's
        """Return some of the hosts that this peer knows, itself among them."""
        with self._lock:
            return self._core.some_hosts(most)

    def leave(self, caller: str) -> None:
        """Take note that a peer ends."""
        with self._lock:
            self._core.left(caller)

    def facts(self) -> dict[str, object]:
        """Return the addresses, the supernode, and the hosts with their round trips."""
        now, core = clock(), self._core
        with self._lock:
            known, candidates = core.hosts.all, core.hosts.candidates(now)
        asked = {one.principal for one in candidates}
        rows = []
        for one in known:
            peer, rtt = one.row.peer, self._round_trips.of(one.row.name, now)
            is_silent = peer.role is MemberRole.PEER and peer.principal not in asked
            milliseconds = None if rtt is None else round(1000 * rtt, 3)
            rows.append({**peer.facts, "milliseconds": milliseconds, "silent": is_silent})
        return {
            "addresses": [str(one) for one in core.own.peer.addresses],
            "supernode": str(core.supernode or ""),
            "state": core.state,
            "faults": core.faults,
            "hosts": rows,
        }

    # --- what goes on by itself -----------------------------------------------------------------

    def _signal(self) -> None:
        """Tell a supernode that this peer lives. Names are looked up before, while nobody waits."""
        supernode = self._core.supernode
        me = self._me([supernode] if supernode else [])
        self._talks.hold(self._core.signal(me, addresses_of(self._context)))

    def _measure(self) -> None:
        self._talks.hold(self._core.measure())

    def _me(self, seen: Iterable[Address] = ()) -> Member:
        name = PeerName(self._context.me.name)
        return Member(name, own_addresses(self._context, seen), self._context.configuration.share)

    # --- the file -------------------------------------------------------------------------------

    def _remember(self) -> None:
        """Take what the file has, if there is one."""
        file = self._context.folder.hosts
        try:
            self._core.remember(file.read_text(encoding="ascii"))
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError, PeerError) as error:
            log.warning("%s is not used: %s", file, error)

    def _save(self) -> None:
        with self._lock:
            text = self._core.text
        try:
            write_secret(self._context.folder.hosts, text)
        except PeerError as error:
            log.warning("the list of hosts is not kept: %s", error)
