"""The membership of a peer as a component: its alive signals, and the list of hosts it keeps."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Sequence
from typing import Any

from gcm import provides
from runtime.clocks import clock
from runtime.peers.connections.connection import MemberConnection
from runtime.peers.contracts import LabMembership, Plain
from runtime.peers.credentials.credential import write_secret
from runtime.peers.daemon.context import DaemonContext, Repeated, Standing
from runtime.peers.daemon.finding import addresses_of, own_addresses
from runtime.peers.daemon.round_trips import RoundTrips
from runtime.peers.errors import PeerError, Refused
from runtime.peers.membership import HostList, OwnRow, Row, read_text, text_of
from runtime.peers.model import MOST_MEASURED, Address, Member, MemberRole, PeerName, Reason

log = logging.getLogger(__name__)


@provides("membership", LabMembership)
@provides("standing", Standing)
class MembershipService:
    """Tells a supernode that the peer is there, and works on where there is none."""

    _context: DaemonContext
    _own: OwnRow
    _hosts: HostList
    _round_trips: RoundTrips

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._repeated: list[Repeated] = []
        self._supernode: Address | None = None
        self._refresh_at = 0.0
        self._members: int | None = None
        self._state = "it has not reached a supernode yet"
        self._faults: list[str] = []

    def begin(self, context: DaemonContext) -> None:
        """Read what was known, and begin to signal."""
        found = context.configuration
        self._context = context
        self._hosts = HostList(str(context.me), found.number("known_hosts"))
        self._round_trips = RoundTrips(context)
        peer = Member(PeerName(context.me.name), own_addresses(context), found.share)
        self._own = OwnRow(peer, self._remembered() + 1)
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
        if self._supernode is not None:
            dialler = self._context.dialler
            try:
                with dialler.dial(self._supernode, timeout=1.0) as connection:
                    connection.stub(LabMembership, 1.0).leave(dialler.me)
            except PeerError as error:
                log.info("no supernode was told of the end: %s", error)

    # --- the contract ---------------------------------------------------------------------------

    def ping(self, caller: str) -> None:
        """Answer."""

    def alive(self, caller: str, row: list[Any]) -> Plain:
        """Take note of another peer, which finds no supernode."""
        found, _ = Row.of(row)
        if found.name != caller:
            raise Refused(f"{caller} speaks of {found.name}", reason=Reason.BAD_REQUEST)
        with self._lock:
            self._hosts.learn([found], is_complete=False)
        return {}

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
            rows = [known.row for known in self._hosts.all if not known.silences]
        chosen = random.sample(rows, max(0, min(most - 1, len(rows))))
        return {"rows": [row.plain() for row in chosen], "complete": False}

    def leave(self, caller: str) -> None:
        """Take note that a peer ends."""
        with self._lock:
            self._hosts.was_silent(caller, clock())

    def facts(self) -> dict[str, object]:
        """Return the addresses, the supernode, and the hosts with their round trips."""
        now = clock()
        with self._lock:
            known, candidates = self._hosts.all, self._hosts.candidates(now)
        asked = {one.principal for one in candidates}
        rows = []
        for one in known:
            peer, rtt = one.row.peer, self._round_trips.of(one.row.name, now)
            is_silent = peer.role is MemberRole.PEER and peer.principal not in asked
            milliseconds = None if rtt is None else round(1000 * rtt, 3)
            rows.append({**peer.facts, "milliseconds": milliseconds, "silent": is_silent})
        return {
            "addresses": [str(one) for one in self._own.peer.addresses],
            "supernode": str(self._supernode or ""),
            "state": self._state,
            "faults": self._faults,
            "hosts": rows,
        }

    # --- alive signals --------------------------------------------------------------------------

    def _signal(self) -> None:
        """Tell one supernode that this peer lives: the last one, else any that answers."""
        self._own.peer = Member(
            self._own.peer.name,
            own_addresses(self._context, [self._supernode] if self._supernode else []),
            self._context.configuration.share,
        )
        faults = []
        for address in self._supernodes():
            try:
                with self._context.dialler.dial(address) as connection:
                    self._signal_to(connection)
            except PeerError as error:
                faults.append(str(error))
            else:
                if self._supernode != address:
                    log.info("the supernode at %s answers", address)
                self._supernode = address
                return
        if self._supernode is not None or self._faults != faults:
            log.warning("no supernode answers:\n%s", "\n".join(faults) or "none is known")
        self._supernode, self._faults = None, faults
        self._state = "no supernode answers yet; it tries again, with the hosts that it knows"

    def _supernodes(self) -> Sequence[Address]:
        """Return where supernodes may be: the last one first, the others in any order."""
        with self._lock:
            heard = [one for peer in self._hosts.supernodes for one in peer.addresses]
        found = list(dict.fromkeys([*addresses_of(self._context), *heard]))
        random.shuffle(found)
        found.sort(key=lambda address: address != self._supernode)
        return found

    def _signal_to(self, connection: MemberConnection) -> None:
        """Tell a supernode that this peer lives, and fetch its hosts if that is due."""
        if connection.principal.role is not MemberRole.SUPERNODE:
            raise PeerError(
                f"{connection.principal} answers there, which is not a supernode",
                place=str(connection.address),
                cure="Correct `supernodes` in the configuration",
            )
        membership, me = connection.stub(LabMembership), self._context.dialler.me
        answer = membership.alive(me, self._own.beat().plain())
        faults = [str(answer["fault"])] if answer.get("fault") else []
        if answer.get("row"):
            row, _ = Row.of(answer["row"])
            if fault := self._own.take(row):
                faults.append(fault)
            self._save()
            membership.alive(me, self._own.beat().plain())
        self._state = (
            "nobody can reach it where it says it is"
            if answer.get("fault")
            else "its supernode knows it"
        )
        if faults and faults != self._faults:
            log.warning("%s", "\n".join(faults))
        self._faults = faults
        has_changed = self._members is not None and answer.get("members") != self._members
        if clock() >= self._refresh_at or has_changed:
            self._fetch(membership, me)

    def _fetch(self, membership: LabMembership, me: str) -> None:
        """Fetch hosts; a lab that is larger than the list is not followed in all its changes."""
        found = self._context.configuration
        most = found.number("known_hosts")
        answer = membership.hosts(me, most)
        rows = [Row.of(one)[0] for one in answer.get("rows", ())]
        with self._lock:
            self._hosts.learn(rows, is_complete=bool(answer.get("complete")))
        self._members = len(rows) if len(rows) < most else None
        self._refresh_at = clock() + found.seconds("refresh_every")
        self._save()

    # --- round trips ----------------------------------------------------------------------------

    def _measure(self) -> None:
        """Measure a few round trips; where no supernode answers, peers tell each other hosts."""
        with self._lock:
            candidates = self._hosts.candidates(clock())
        for peer in self._round_trips.due(candidates, clock()):
            name = str(peer.principal)
            try:
                with self._context.dialler.reach(peer) as connection:
                    self._round_trips.measure(peer, connection)
                    rows = [] if self._supernode else self._gossip(connection)
            except PeerError as error:
                log.info("%s is silent: %s", name, error)
                self._round_trips.forget(name)
                with self._lock:
                    self._hosts.was_silent(name, clock())
                continue
            with self._lock:
                self._hosts.answered(name)
                self._hosts.learn_from_peer(rows)

    def _gossip(self, connection: MemberConnection) -> list[Row]:
        membership, me = connection.stub(LabMembership), self._context.dialler.me
        membership.alive(me, self._own.beat().plain())
        answer = membership.hosts(me, self._context.configuration.number("known_hosts"))
        return [Row.of(one)[0] for one in answer.get("rows", ())]

    # --- the file -------------------------------------------------------------------------------

    def _remembered(self) -> int:
        """Read the file, and return how many lives the peer has had."""
        file = self._context.folder.hosts
        try:
            rows, incarnation = read_text(file.read_text(encoding="ascii"))
        except FileNotFoundError:
            return 0
        except (OSError, UnicodeDecodeError, PeerError) as error:
            log.warning("%s is not used: %s", file, error)
            return 0
        self._hosts.learn(rows, is_complete=False)
        return incarnation

    def _save(self) -> None:
        with self._lock:
            text = text_of(self._hosts, self._own.incarnation)
        try:
            write_secret(self._context.folder.hosts, text)
        except PeerError as error:
            log.warning("the list of hosts is not kept: %s", error)
