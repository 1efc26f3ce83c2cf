"""The membership of a supernode as a component: it takes alive signals and compares with others."""

from __future__ import annotations

import logging
import os
import random
import threading
from typing import Any

from gcm import provides
from runtime.clocks import clock
from runtime.peers.connections.serving import calling_host
from runtime.peers.contracts import LabMembership, Plain
from runtime.peers.daemon.context import DaemonContext, Repeated, Standing
from runtime.peers.daemon.finding import addresses_of, own_addresses
from runtime.peers.errors import PeerError, Refused
from runtime.peers.latency import near_and_others, network_of
from runtime.peers.membership import AT_ONCE, MemberState, MemberTable, OwnRow, Row
from runtime.peers.model import Address, Member, MemberRole, PeerName, Reason, Share

log = logging.getLogger(__name__)

MOST_HOSTS = 20_000
CHECK_TIMEOUT = 5.0
MOST_CHECKS = 4  # at once


@provides("membership", LabMembership)
@provides("standing", Standing)
class SupernodeService:
    """The table has the truth, this has its lock, its clock and its connections."""

    _context: DaemonContext
    _table: MemberTable
    _own: OwnRow
    _repeated: tuple[Repeated, ...] = ()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checks: dict[str, Row] = {}
        self._checked: dict[str, tuple[Member, str]] = {}
        self._partners: dict[Address, str] = {}

    def begin(self, context: DaemonContext) -> None:
        """Begin to compare."""
        found = context.configuration
        self._context = context
        self._began = clock()
        self._table = MemberTable(os.urandom(8).hex(), found.seconds("expire_after"))
        me = Member(PeerName(context.me.name), (), Share(0, 0), MemberRole.SUPERNODE)
        self._own = OwnRow(me)
        every = found.seconds("exchange_every")
        self._checker = [
            Repeated(f"peer checks {number}", self._check, found.seconds("alive_every"))
            for number in range(MOST_CHECKS)
        ]
        self._repeated = (
            Repeated("peer alive", self._beat, found.seconds("alive_every")),
            Repeated("peer exchange", self._exchange, every),
            *self._checker,
        )

    def end(self) -> None:
        """Tell another supernode that this one ends."""
        for one in self._repeated:
            one.close()
        with self._lock:
            self._table.take(self._own.last(), 0.0, clock())
        self._exchange()

    # --- the contract ---------------------------------------------------------------------------

    def ping(self, caller: str) -> None:
        """Answer."""

    def alive(self, caller: str, row: list[Any]) -> Plain:
        """Take the alive signal of a member."""
        found = _row_of(caller, row)
        with self._lock:
            self._advance(clock())
            fault = self._fault_of(found)
            answer: Plain = {"members": len(self._table.living)}
            if fault:
                answer["fault"] = fault
            if fault == "" and not self._table.take(found, 0.0, clock()):
                known = self._table.known(found.name)
                answer["row"] = known.plain() if known else None
        return answer

    def exchange(self, caller: str, news: Plain) -> Plain:
        """Compare with another supernode."""
        now = clock()
        with self._lock:
            self._table.compare(caller, news, now)
            self._advance(now)
            return self._table.news(caller, now)

    def round_trips(self, caller: str, peers: list[Any]) -> Plain:  # noqa: ARG002 - the contract's
        """Tell none: a supernode measures no ways."""
        return {}

    def hosts(self, caller: str, most: int) -> Plain:  # noqa: ARG002 - the contract's
        """Return rows of those who are there; near ones and others if there are too many."""
        now = clock()
        with self._lock:
            self._advance(now)
            living = self._table.living
            ages = [self._table.age(row.name, now) for row in living]
        pairs = list(zip(living, ages, strict=True))
        most = max(0, min(most, MOST_HOSTS))
        is_complete = len(pairs) <= most and now - self._began > self._waited
        network = network_of(calling_host())
        pairs = near_and_others(
            pairs, lambda pair: _network(pair[0].peer) == network, most, random.sample
        )
        return {"rows": [row.plain(age) for row, age in pairs], "complete": is_complete}

    @property
    def _waited(self) -> float:
        """After how many seconds everybody who is there has been heard of."""
        return 2 * self._context.configuration.seconds("alive_every")

    def leave(self, caller: str) -> None:
        """Take a member's word that it ends."""
        now = clock()
        with self._lock:
            known = self._table.known(caller)
            if known is not None and known.is_alive:
                row = Row(known.peer, known.incarnation, known.beat, MemberState.GONE)
                self._table.take(row, 0.0, now)
                log.info("%s has left", caller)

    def facts(self) -> dict[str, object]:
        """Return the table for people."""
        now = clock()
        with self._lock:
            self._advance(now)
            return {
                "hosts": [
                    {**row.peer.facts, "seconds": round(self._table.age(row.name, now), 1)}
                    for row in self._table.living
                ],
                "supernodes": sorted({*self._partners.values()} - {str(self._context.me)}),
            }

    # --- whether members are where they say -----------------------------------------------------

    def _fault_of(self, row: Row) -> str | None:
        """Return why nobody could reach a member where it says; None if that is not known yet."""
        found = self._checked.get(row.name)
        is_known = found is not None and found[0].addresses == row.peer.addresses
        if found is None or not is_known or found[1]:
            self._checks[row.name] = row
            for one in self._checker:
                one.now()
        return found[1] if found is not None and is_known else None

    def _check(self) -> float | None:
        """Reach one of those who wait for it where they say they are."""
        with self._lock:
            row = self._checks.pop(next(iter(self._checks))) if self._checks else None
        if row is None:
            return None
        fault = ""
        try:
            self._context.dialler.reach(row.peer, CHECK_TIMEOUT).close()
        except PeerError as error:
            fault = str(error)
            log.warning("%s cannot be reached where it says it is: %s", row.name, error)
        with self._lock:
            self._checked.pop(row.name, None)
            self._checked[row.name] = row.peer, fault
            if not fault and self._table.take(row, 0.0, clock()):
                log.info("%s has come, at %s", row.name, ", ".join(map(str, row.peer.addresses)))
            while len(self._checked) > 2 * len(self._table.living) + 1000:
                del self._checked[next(iter(self._checked))]
        return 0.0

    def _advance(self, now: float) -> None:
        """Let go of those who are silent; where they come back they are looked for again."""
        for row in self._table.advance(now):
            log.info("nothing was heard from %s for too long", row.name)
            self._checked.pop(row.name, None)

    # --- what goes on by itself -----------------------------------------------------------------

    def _beat(self) -> None:
        # Names may take long to be looked up; nobody waits for the table meanwhile.
        addresses = own_addresses(self._context, list(self._partners))
        with self._lock:
            self._own.peer = Member(
                self._own.peer.name,
                addresses,
                Share(0, 0),
                MemberRole.SUPERNODE,
            )
            now = clock()
            if not self._table.take(self._own.beat(), 0.0, now):
                known = self._table.known(str(self._context.me))
                if known is not None and (fault := self._own.take(known)):
                    log.warning("%s", fault)
                self._table.take(self._own.beat(), 0.0, now)
            self._advance(now)

    def _exchange(self) -> None:
        """Compare with another supernode, each time with one chosen by chance."""
        candidates = addresses_of(self._context)
        with self._lock:
            for row in self._table.living:
                if row.peer.role is MemberRole.SUPERNODE and row.peer.name != self._context.me.name:
                    candidates += row.peer.addresses
        mine = {str(self._context.me)}
        others = [one for one in dict.fromkeys(candidates) if self._partners.get(one) not in mine]
        random.shuffle(others)
        for address in others:
            try:
                if self._compare_at(address):
                    return
            except PeerError as error:
                log.debug("no comparison with %s: %s", address, error)

    def _compare_at(self, address: Address) -> bool:
        """Compare with whoever is at an address; tell whether that was another supernode."""
        dialler = self._context.dialler
        with dialler.dial(address) as connection:
            partner = str(connection.principal)
            self._partners[address] = partner
            if connection.principal.role is not MemberRole.SUPERNODE or partner == dialler.me:
                return False
            membership = connection.stub(LabMembership)
            news: Plain = {}
            answer: Plain = {}
            # In a large lab more has changed than one comparison takes.
            while not news or AT_ONCE in (len(news["rows"]), len(answer["rows"])):
                with self._lock:
                    news = self._table.news(partner, clock())
                answer = membership.exchange(dialler.me, news)
                with self._lock:
                    self._table.compare(partner, answer, clock())
        return True


def _network(peer: Member) -> str:
    return network_of(peer.addresses[0].host) if peer.addresses else ""


def _row_of(caller: str, plain: list[Any]) -> Row:
    """Return the row that a member tells of itself; raises PeerError."""
    row, _ = Row.of(plain)
    if row.name != caller or not row.is_alive:
        raise Refused(f"{caller} speaks of {row.name}", reason=Reason.BAD_REQUEST)
    return row
