"""The admission control of a peer as a component: reservations, and the jobs started for them."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from gcm import provides
from runtime.clocks import clock
from runtime.peers.booking import AdmissionControl, AdmissionRules, Hold, PlacesRequest
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.connections.serving import calling_host
from runtime.peers.contracts import Reservation
from runtime.peers.daemon.context import DaemonContext, Repeated, ReservedPlaces, Standing
from runtime.peers.daemon.owner import OwnersWork
from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Member, Principal, Reason, key_of

log = logging.getLogger(__name__)
LOOK_AT_OWNER = 5.0  # seconds between two looks at the owner's work

MOST_REACHED, REACHED_AT_ONCE = 1000, 64
"""How many peers are tried for one call, and at the same time."""

REACH_TIMEOUT = 2.5
"""Seconds for a peer to answer; a first packet that got lost is sent again after one."""


@provides("reservation", Reservation)
@provides("places", ReservedPlaces)
@provides("standing", Standing)
class ReservationService:
    """Reservations for users: admission control decides; it has the lock and the clock."""

    _admission: AdmissionControl
    _ticking: Repeated
    _rules: AdmissionRules
    _owner: OwnersWork
    _dialler: MemberDialler

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def begin(self, context: DaemonContext) -> None:
        """Open the gate."""
        found = context.configuration
        self._rules = AdmissionRules(
            found.share,
            found.deny,
            found.users,
            found.seconds("lease"),
        )
        self._owner = OwnersWork(found)
        self._dialler = context.dialler
        self._admission = AdmissionControl(self._rules)
        self._ticking = Repeated("peer admission", self._tick, LOOK_AT_OWNER)

    def end(self) -> None:
        """Need no clock any more; what was started has ended with its connections."""
        self._ticking.close()

    # --- the contract ---------------------------------------------------------------------------

    def reserve(
        self, caller: str, key: str, application: str, processes: int, lease: float
    ) -> list[Any]:
        """Answer a request for places."""
        request = PlacesRequest(key_of(key), application[:200], processes, lease)
        with self._lock:
            principal = Principal.parse(caller)
            answer = self._admission.reserve(principal, calling_host(), request, clock())
        words = f"{answer.processes} places" if answer.is_granted else answer.detail
        log.info("%s asked for %d places: %s", caller, processes, words)
        self._ticking.now()
        return answer.plain()

    def renew(self, caller: str, key: str, lease: float) -> bool:
        """Let a reservation last longer."""
        with self._lock:
            return self._admission.renew(Principal.parse(caller), key_of(key), lease, clock())

    def release(self, caller: str, key: str) -> None:
        """Give places back."""
        with self._lock:
            self._admission.release(Principal.parse(caller), key_of(key))

    def reach(self, caller: str, peers: list[Any]) -> list[str]:
        """Try to connect to other peers, many at a time."""
        with self._lock:
            distrust = self._admission.distrust(Principal.parse(caller), calling_host())
        if distrust is not None:
            raise Refused(distrust[1], reason=distrust[0])
        if len(peers) > MOST_REACHED:
            raise Refused(f"{len(peers)} peers are too many", reason=Reason.BAD_REQUEST)
        members = [Member.of(one) for one in peers]
        with ThreadPoolExecutor(min(REACHED_AT_ONCE, len(members)) or 1, "peer reach") as threads:
            return list(threads.map(self._why_not, members))

    def _why_not(self, peer: Member) -> str:
        try:
            self._dialler.reach(peer, REACH_TIMEOUT).close()
        except PeerError as fault:
            return fault.in_one_line
        return ""

    # --- inside the peer ------------------------------------------------------------------------

    def check(self, caller: str, key: str) -> None:
        """Raise Refused unless a reservation with this key is the caller's."""
        with self._lock:
            if any(
                hold.key == key and str(hold.principal) == caller for hold in self._admission.holds
            ):
                return
        raise Refused(
            "there is no reservation of the caller with this key",
            reason=Reason.UNKNOWN_KEY,
            cure="Reserve first; a reservation ends when it is not renewed",
        )

    def confirm(self, caller: str, key: str, application: str, used: int) -> Hold:
        """Take a reservation to start something in some of its places."""
        with self._lock:
            return self._admission.confirm(
                Principal.parse(caller), key_of(key), application, clock(), used=used
            )

    def ended(self, key: str) -> None:
        """Let places go."""
        with self._lock:
            self._admission.ended(key_of(key))

    def facts(self) -> dict[str, object]:
        """Return the share, and what is reserved or runs; never the keys."""
        with self._lock:
            holds, share = self._admission.holds, self._admission.rules.share
        runs = [
            {
                "user": hold.principal.name,
                "application": hold.application,
                "processes": hold.processes,
                "phase": hold.phase.value,
            }
            for hold in holds
        ]
        return {
            "applications": share.applications,
            "processes": share.processes,
            "runs": runs,
            "owner": self._owner.reason,
        }

    # --- the thread -----------------------------------------------------------------------------

    def _tick(self) -> float:
        """Do what is due, and return in how many seconds something will be."""
        share = self._owner.share()
        now = clock()
        with self._lock:
            if share != self._admission.rules.share:
                log.info("the share is %d x %d now: %s", *share.plain(), self._owner.reason)
                self._admission.rules = replace(self._rules, share=share)
            expired = self._admission.advance(now)
            due = self._admission.next_time - now
        for hold in expired:
            log.info("the reservation of %s has not been renewed: it ends", hold.principal)
        return max(0.01, min(due, LOOK_AT_OWNER))
