"""The membership of a supernode: it takes alive signals, and compares with other supernodes. Pure.

Before a member is listed, somebody reaches it where it says it is; see `SupernodeMembership.check`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from runtime.peers.errors import PeerError, Refused
from runtime.peers.latency import near_and_others, network_of
from runtime.peers.membership.rows import MemberState, OwnRow, Row
from runtime.peers.membership.table import AT_ONCE, MemberTable
from runtime.peers.membership.talks import CallMember, Chance, DialMember, ReachMember, Talk
from runtime.peers.model import Address, Member, MemberRole, Reason

log = logging.getLogger(__name__)

MOST_HOSTS = 20_000
CHECK_TIMEOUT = 5.0


class SupernodeMembership:
    """The table of a supernode, and what it has to find out.

    `identity` is random, and that of this life; `waited` are the seconds after which everybody who
    is there has been heard of; `clock` returns those of any clock that does not jump.
    """

    def __init__(
        self,
        me: Member,
        identity: str,
        *,
        expire_after: float,
        waited: float,
        clock: Callable[[], float],
        chance: Chance,
    ) -> None:
        self.table = MemberTable(identity, expire_after)
        self.own = OwnRow(me)
        self.partners: dict[Address, str] = {}
        """Who answered at addresses where supernodes may be."""
        self._waited = waited
        self._clock = clock
        self._chance = chance
        self._began = clock()
        self._checks: dict[str, Row] = {}
        self._checked: dict[str, tuple[Member, str]] = {}

    @property
    def name(self) -> str:
        """Who it is."""
        return str(self.own.peer.principal)

    @property
    def has_to_check(self) -> bool:
        """Whether a member waits to be reached."""
        return bool(self._checks)

    # --- what others call -----------------------------------------------------------------------

    def alive(self, caller: str, plain: list[Any]) -> dict[str, Any]:
        """Take the alive signal of a member."""
        row = _row_of(caller, plain)
        now = self._clock()
        self.advance()
        fault = self._fault_of(row)
        answer: dict[str, Any] = {"members": len(self.table.living)}
        if fault:
            answer["fault"] = fault
        if fault == "" and not self.table.take(row, 0.0, now):
            known = self.table.known(row.name)
            answer["row"] = known.plain() if known else None
        return answer

    def exchange(self, caller: str, news: dict[str, Any]) -> dict[str, Any]:
        """Compare with another supernode."""
        now = self._clock()
        self.table.compare(caller, news, now)
        self.advance()
        return self.table.news(caller, now)

    def some_hosts(self, most: int, caller_host: str) -> dict[str, Any]:
        """Return rows of those who are there; near ones and others if there are too many."""
        now = self._clock()
        self.advance()
        pairs = [(row, self.table.age(row.name, now)) for row in self.table.living]
        most = max(0, min(most, MOST_HOSTS))
        is_complete = len(pairs) <= most and now - self._began > self._waited
        network = network_of(caller_host)
        pairs = near_and_others(
            pairs, lambda pair: _network(pair[0].peer) == network, most, self._chance.sample
        )
        return {"rows": [row.plain(age) for row, age in pairs], "complete": is_complete}

    def left(self, caller: str) -> None:
        """Take a member's word that it ends."""
        known = self.table.known(caller)
        if known is not None and known.is_alive:
            row = Row(known.peer, known.incarnation, known.beat, MemberState.GONE)
            self.table.take(row, 0.0, self._clock())
            log.info("%s has left", caller)

    # --- whether members are where they say -----------------------------------------------------

    def _fault_of(self, row: Row) -> str | None:
        """Return why nobody could reach a member where it says; None if that is not known yet."""
        found = self._checked.get(row.name)
        is_known = found is not None and found[0].addresses == row.peer.addresses
        if found is None or not is_known or found[1]:
            self._checks[row.name] = row
        return found[1] if found is not None and is_known else None

    def check(self) -> Talk[bool]:
        """Reach one of those who wait for it where they say they are; tell whether one did."""
        if not self._checks:
            return False
        row = self._checks.pop(next(iter(self._checks)))
        fault = ""
        try:
            yield ReachMember(row.peer, CHECK_TIMEOUT)
        except PeerError as error:
            fault = str(error)
            log.warning("%s cannot be reached where it says it is: %s", row.name, error)
        self._checked.pop(row.name, None)
        self._checked[row.name] = row.peer, fault
        if not fault and self.table.take(row, 0.0, self._clock()):
            log.info("%s has come, at %s", row.name, ", ".join(map(str, row.peer.addresses)))
        while len(self._checked) > 2 * len(self.table.living) + 1000:
            del self._checked[next(iter(self._checked))]
        return True

    def advance(self) -> None:
        """Let go of those who are silent; where they come back they are looked for again."""
        for row in self.table.advance(self._clock()):
            log.info("nothing was heard from %s for too long", row.name)
            self._checked.pop(row.name, None)

    # --- what goes on by itself -----------------------------------------------------------------

    def beat(self, addresses: Iterable[Address]) -> None:
        """Take note that this supernode itself is there, at some addresses."""
        me = self.own.peer
        self.own.peer = Member(me.name, tuple(addresses), me.share, me.role)
        now = self._clock()
        if not self.table.take(self.own.beat(), 0.0, now):
            known = self.table.known(self.name)
            if known is not None and (fault := self.own.take(known)):
                log.warning("%s", fault)
            self.table.take(self.own.beat(), 0.0, now)
        self.advance()

    def end(self) -> None:
        """Take note that it ends itself, for the last comparison."""
        self.table.take(self.own.last(), 0.0, self._clock())

    def compare(self, configured: Iterable[Address]) -> Talk[None]:
        """Compare with another supernode, each time with one chosen by chance."""
        candidates = list(configured)
        for row in self.table.living:
            if row.peer.role is MemberRole.SUPERNODE and row.name != self.name:
                candidates += row.peer.addresses
        others = [
            one for one in dict.fromkeys(candidates) if self.partners.get(one) != self.name
        ]  # fmt: skip
        self._chance.shuffle(others)
        for address in others:
            try:
                if (yield from self._compare_at(address)):
                    return
            except PeerError as error:
                log.debug("no comparison with %s: %s", address, error)

    def _compare_at(self, address: Address) -> Talk[bool]:
        """Compare with whoever is at an address; tell whether that was another supernode."""
        principal = yield DialMember(address)
        partner = self.partners[address] = str(principal)
        if principal.role is not MemberRole.SUPERNODE or partner == self.name:
            return False
        news: dict[str, Any] = {}
        answer: dict[str, Any] = {}
        # In a large lab more has changed than one comparison takes.
        while not news or AT_ONCE in (len(news["rows"]), len(answer["rows"])):
            news = self.table.news(partner, self._clock())
            answer = yield CallMember("exchange", (news,))
            self.table.compare(partner, answer, self._clock())
        return True


def _network(peer: Member) -> str:
    return network_of(peer.addresses[0].host) if peer.addresses else ""


def _row_of(caller: str, plain: list[Any]) -> Row:
    """Return the row that a member tells of itself; raises PeerError."""
    row, _ = Row.of(plain)
    if row.name != caller or not row.is_alive:
        raise Refused(f"{caller} speaks of {row.name}", reason=Reason.BAD_REQUEST)
    return row
