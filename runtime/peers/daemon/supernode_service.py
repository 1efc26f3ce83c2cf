"""The membership of a supernode as a component: its core has the table, this has its threads."""

from __future__ import annotations

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
from runtime.peers.daemon.talking import TalkHolder
from runtime.peers.membership import SupernodeMembership
from runtime.peers.model import Member, MemberRole, PeerName, Share

MOST_CHECKS = 4  # at once


@provides("membership", LabMembership)
@provides("standing", Standing)
class SupernodeService:
    """The core has the truth, this has its lock, its clock and its connections."""

    _context: DaemonContext
    _core: SupernodeMembership
    _talks: TalkHolder
    _repeated: tuple[Repeated, ...] = ()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checkers: list[Repeated] = []

    def begin(self, context: DaemonContext) -> None:
        """Begin to compare."""
        found = context.configuration
        self._context = context
        alive_every = found.seconds("alive_every")
        self._core = SupernodeMembership(
            Member(PeerName(context.me.name), (), Share(0, 0), MemberRole.SUPERNODE),
            os.urandom(8).hex(),
            expire_after=found.seconds("expire_after"),
            waited=2 * alive_every,
            clock=clock,
            chance=random,
        )
        self._talks = TalkHolder(context.dialler, self._lock)
        self._checkers = [
            Repeated(f"peer checks {number}", self._check, alive_every)
            for number in range(MOST_CHECKS)
        ]
        self._repeated = (
            Repeated("peer alive", self._beat, alive_every),
            Repeated("peer exchange", self._exchange, found.seconds("exchange_every")),
            *self._checkers,
        )

    def end(self) -> None:
        """Tell another supernode that this one ends."""
        for one in self._repeated:
            one.close()
        with self._lock:
            self._core.end()
        self._exchange()

    # --- the contract ---------------------------------------------------------------------------

    def ping(self, caller: str) -> None:
        """Answer."""

    def alive(self, caller: str, row: list[Any]) -> Plain:
        """Take the alive signal of a member."""
        with self._lock:
            answer = self._core.alive(caller, row)
            has_to_check = self._core.has_to_check
        for one in self._checkers if has_to_check else ():
            one.now()
        return answer

    def exchange(self, caller: str, news: Plain) -> Plain:
        """Compare with another supernode."""
        with self._lock:
            return self._core.exchange(caller, news)

    def round_trips(self, caller: str, peers: list[Any]) -> Plain:  # noqa: ARG002 - the contract's
        """Tell none: a supernode measures no ways."""
        return {}

    def hosts(self, caller: str, most: int) -> Plain:  # noqa: ARG002 - the contract's
        """Return rows of those who are there; near ones and others if there are too many."""
        host = calling_host()
        with self._lock:
            return self._core.some_hosts(most, host)

    def leave(self, caller: str) -> None:
        """Take a member's word that it ends."""
        with self._lock:
            self._core.left(caller)

    def facts(self) -> dict[str, object]:
        """Return the table for people."""
        core = self._core
        with self._lock:
            core.advance()
            now = clock()
            return {
                "hosts": [
                    {**row.peer.facts, "seconds": round(core.table.age(row.name, now), 1)}
                    for row in core.table.living
                ],
                "supernodes": sorted({*core.partners.values()} - {core.name}),
            }

    # --- what goes on by itself -----------------------------------------------------------------

    def _check(self) -> float | None:
        """Reach a member that waits for it, and then the next one."""
        return 0.0 if self._talks.hold(self._core.check()) else None

    def _beat(self) -> None:
        # Names may take long to be looked up; nobody waits for the table meanwhile.
        addresses = own_addresses(self._context, list(self._core.partners))
        with self._lock:
            self._core.beat(addresses)

    def _exchange(self) -> None:
        self._talks.hold(self._core.compare(addresses_of(self._context)))
