"""The membership of a peer: its alive signals, and the hosts that it knows. Pure.

It tells one supernode that it is there: the last one that answered, else any. Where none does, it
works on with the hosts that it knows, and peers tell each other of theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gcm.records import dataclass
from runtime.peers.errors import PeerError, Refused
from runtime.peers.latency import RttTable, RttTarget, network_of
from runtime.peers.membership.hosts import HostList, read_text, text_of
from runtime.peers.membership.rows import OwnRow, Row
from runtime.peers.membership.talks import (
    CallMember,
    Chance,
    DialMember,
    KeepHosts,
    MeasureRoundTrip,
    ReachMember,
    Talk,
)
from runtime.peers.model import Address, Member, MemberRole, Principal, Reason

log = logging.getLogger(__name__)

LEAVE_TIMEOUT = 1.0
"""Seconds in which a supernode may hear that a peer ends."""


@dataclass(frozen=True, slots=True)
class MembershipSettings:
    """How many hosts a peer keeps, and after how many seconds it fetches them again."""

    known_hosts: int = 1000
    refresh_every: float = 300.0


class PeerMembership:
    """What a peer knows of its lab; `clock` returns seconds on any clock that does not jump."""

    def __init__(
        self,
        me: Member,
        settings: MembershipSettings,
        *,
        clock: Callable[[], float],
        chance: Chance,
    ) -> None:
        self.own = OwnRow(me)
        self.hosts = HostList(str(me.principal), settings.known_hosts)
        self.round_trips = RttTable()
        self.supernode: Address | None = None
        """Where the supernode is that answered last; None if none does."""
        self.state = "it has not reached a supernode yet"
        """What became of the last alive signal, for people."""
        self.faults: list[str] = []
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self._refresh_at = float("-inf")
        self._members: int | None = None

    # --- the list of hosts ----------------------------------------------------------------------

    def remember(self, text: str) -> None:
        """Take what was kept in an earlier life, whose number this one is above.

        Raises:
            PeerError: the text is damaged; nothing was taken.
        """
        rows, incarnation = read_text(text)
        self.hosts.learn(rows, is_complete=False)
        self.own.incarnation = incarnation + 1

    @property
    def text(self) -> str:
        """What the next life has to know."""
        return text_of(self.hosts, self.own.incarnation)

    # --- what others call -----------------------------------------------------------------------

    def alive(self, caller: str, plain: list[Any]) -> dict[str, Any]:
        """Take note of another peer, which finds no supernode."""
        row, _ = Row.of(plain)
        if row.name != caller:
            raise Refused(f"{caller} speaks of {row.name}", reason=Reason.BAD_REQUEST)
        self.hosts.learn([row], is_complete=False)
        return {}

    def some_hosts(self, most: int) -> dict[str, Any]:
        """Return some of the hosts that it knows and that were not silent."""
        rows = [known.row for known in self.hosts.all if not known.silences]
        chosen = self._chance.sample(rows, max(0, min(most - 1, len(rows))))
        return {"rows": [row.plain() for row in chosen], "complete": False}

    def left(self, caller: str) -> None:
        """Take note that a peer ends."""
        self.hosts.was_silent(caller, self._clock())

    # --- alive signals --------------------------------------------------------------------------

    def signal(self, me: Member, configured: Iterable[Address]) -> Talk[None]:
        """Tell one supernode that this peer lives, as `me`; `configured` is where some may be."""
        self.own.peer = me
        faults = []
        for address in self._supernodes(configured):
            try:
                yield from self._signal_to(address)
            except PeerError as error:
                faults.append(str(error))
            else:
                if self.supernode != address:
                    log.info("the supernode at %s answers", address)
                self.supernode = address
                return
        if self.supernode is not None or self.faults != faults:
            log.warning("no supernode answers:\n%s", "\n".join(faults) or "none is known")
        self.supernode, self.faults = None, faults
        self.state = "no supernode answers yet; it tries again, with the hosts that it knows"

    def leave(self) -> Talk[None]:
        """Tell a supernode that the peer ends; raises PeerError."""
        if self.supernode is not None:
            yield DialMember(self.supernode, LEAVE_TIMEOUT)
            yield CallMember("leave", timeout=LEAVE_TIMEOUT)

    def _supernodes(self, configured: Iterable[Address]) -> Sequence[Address]:
        """Return where supernodes may be: the last one first, the others in any order."""
        heard = [one for peer in self.hosts.supernodes for one in peer.addresses]
        found = list(dict.fromkeys([*configured, *heard]))
        self._chance.shuffle(found)
        found.sort(key=lambda address: address != self.supernode)
        return found

    def _signal_to(self, address: Address) -> Talk[None]:
        """Tell a supernode that this peer lives, and fetch its hosts if that is due."""
        principal: Principal = yield DialMember(address)
        if principal.role is not MemberRole.SUPERNODE:
            raise PeerError(
                f"{principal} answers there, which is not a supernode",
                place=str(address),
                cure="Correct `supernodes` in the configuration",
            )
        answer = yield CallMember("alive", (self.own.beat().plain(),))
        faults = [str(answer["fault"])] if answer.get("fault") else []
        if answer.get("row"):
            row, _ = Row.of(answer["row"])
            if fault := self.own.take(row):
                faults.append(fault)
            yield KeepHosts()
            yield CallMember("alive", (self.own.beat().plain(),))
        self.state = (
            "nobody can reach it where it says it is"
            if answer.get("fault")
            else "its supernode knows it"
        )
        if faults and faults != self.faults:
            log.warning("%s", "\n".join(faults))
        self.faults = faults
        has_changed = self._members is not None and answer.get("members") != self._members
        if self._clock() >= self._refresh_at or has_changed:
            yield from self._fetch()

    def _fetch(self) -> Talk[None]:
        """Fetch hosts; a lab that is larger than the list is not followed in all its changes."""
        most = self._settings.known_hosts
        answer = yield CallMember("hosts", (most,))
        rows = [Row.of(one)[0] for one in answer.get("rows", ())]
        self.hosts.learn(rows, is_complete=bool(answer.get("complete")))
        self._members = len(rows) if len(rows) < most else None
        self._refresh_at = self._clock() + self._settings.refresh_every
        yield KeepHosts()

    # --- round trips ----------------------------------------------------------------------------

    def measure(self) -> Talk[None]:
        """Measure a few round trips; where no supernode answers, peers tell each other hosts."""
        for peer in self._due():
            name = str(peer.principal)
            try:
                yield ReachMember(peer)
                rtt = yield MeasureRoundTrip()
                self.round_trips.record(target_of(peer), rtt, self._clock())
                rows: list[Row] = []
                if self.supernode is None:
                    rows = yield from self._gossip()
            except PeerError as error:
                log.info("%s is silent: %s", name, error)
                self.round_trips.forget(name)
                self.hosts.was_silent(name, self._clock())
                continue
            self.hosts.answered(name)
            self.hosts.learn_from_peer(rows)

    def _due(self) -> list[Member]:
        """Return whom to measure now: a few, however many there are."""
        now = self._clock()
        targets = _Targets(self.hosts.candidates(now))
        found = self.round_trips.next_targets(targets, now, self._chance.random)
        members = (self.hosts.candidate(one.peer, now) for one in found)
        return [one for one in members if one is not None]

    def _gossip(self) -> Talk[list[Row]]:
        yield CallMember("alive", (self.own.beat().plain(),))
        answer = yield CallMember("hosts", (self._settings.known_hosts,))
        return [Row.of(one)[0] for one in answer.get("rows", ())]


class _Targets(Sequence[RttTarget]):
    """What may be measured of members, made for those alone that are drawn of a thousand."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members

    def __getitem__(self, at: Any) -> Any:
        return target_of(self._members[at])

    def __len__(self) -> int:
        return len(self._members)


def target_of(peer: Member) -> RttTarget:
    """Return what is measured of a peer."""
    host = peer.addresses[0].host if peer.addresses else ""
    return RttTarget(str(peer.principal), network_of(host))
