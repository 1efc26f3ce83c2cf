"""Failure detectors on a reactor: their timer, what they hear and send, what they find out."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gcm.invocation import Invocation
from runtime.health import Detector, make_detector
from runtime.health.messages import Effect, NotUnderstood, Send, plain, read
from runtime.machine.contracts import CONTRACTS, Heartbeats
from runtime.machine.paths import LAUNCHER, clustering_path
from runtime.processes.watch import ARBITER, WatchedGroups
from runtime.topology import NO_NAMES, RankNames
from runtime.transport.reactor import Reactor, Timer

if TYPE_CHECKING:
    from random import Random

_log = logging.getLogger(__name__)


def heartbeat(own: str, effect: Send) -> Invocation:
    """Return the call that brings a message of a detector to another member."""
    kind, fields = plain(effect.message)
    if effect.to == ARBITER:
        return Invocation(LAUNCHER, CONTRACTS[Heartbeats], "hear", (own, kind, fields))
    path = clustering_path(effect.to)
    client = f"{clustering_path(own)}.health"  # that of the launcher stands for no part of the grid
    return Invocation(path, "health-controller", "hear", (own, kind, fields), client=client)


def _new_random() -> Random:
    from random import Random  # most detectors need none, and start sooner without it

    return Random()


class HeartbeatLoop:
    """Drives one member's detectors, one in each of its groups, all on the reactor's thread.

    `send` gets a member and the call for it. It must not wait, and what it cannot send is lost.
    `found` gets what the detector finds out.
    `received` tells how many bytes have come from a member: while a large message comes, heartbeats
    wait behind it. A member that does not decide suspects others only.
    """

    def __init__(
        self,
        reactor: Reactor,
        watch: WatchedGroups,
        own: str,
        *,
        send: Callable[[str, Invocation], None],
        found: Callable[[Effect], None],
        received: Callable[[str], int],
        decides: bool,
        names: RankNames = NO_NAMES,
    ) -> None:
        self._names = names
        self._reactor = reactor
        self._watch = watch
        self._own = own
        self._send = send
        self._found = found
        self._received = received
        self._bytes: dict[str, int] = {}
        self._only_suspected = watch.only_suspected if decides else watch.members
        self._detectors: list[Detector] = []
        self._timer: Timer | None = None
        self._begun = 0.0

    @property
    def elapsed(self) -> float:
        """How long ago it began."""
        return self._reactor.now() - self._begun if self._detectors else 0.0

    @property
    def suspects(self) -> list[str]:
        """Who is suspected now."""
        return [one for detector in self._detectors for one in detector.suspects]

    def begin(self, late: float = 0.0, incarnation: int = 0) -> None:
        """Watch from now on; the others began so many seconds before.

        One that was gone before begins in a higher `incarnation`, that `expect` returns elsewhere.
        """
        if self._detectors:
            return
        self._begun = now = self._reactor.now()
        self._detectors = [
            make_detector(
                members, self._own, self._watch.settings, now,
                incarnation=incarnation, late=late, arbiter=ARBITER,
                only_suspected=self._only_suspected, random=_new_random,
            )
            for members in self._watch.of(self._own)
        ]  # fmt: skip
        self._set_timer()

    def hear(self, member: str, kind: str, fields: Sequence[Any]) -> None:
        """Take what another member says; what is none of a detector's messages is only logged."""
        detector = self._detector_of(member)
        if detector is None:
            return
        try:
            message = read(kind, fields, len(detector.members))
        except NotUnderstood as fault:
            _log.warning("%s says: %s", self._names.name(member), fault)
            return
        if message.sender != member:
            who, of = self._names.name(member), self._names.name(message.sender)
            _log.warning("%s speaks of heartbeats in the name of %s", who, of)
            return
        self._do(detector.receive(message, self._reactor.now()))

    def gone(self, member: str, why: str) -> None:
        """Record that a member has ended."""
        if detector := self._detector_of(member):
            self._do(detector.gone(member, why, self._reactor.now()))

    def expect(self, member: str) -> int:
        """Watch a member from now on that was gone; return the incarnation in which it begins."""
        detector = self._detector_of(member)
        return 0 if detector is None else detector.expect(member)

    def end(self) -> None:
        """Watch no more."""
        self._detectors = []
        if self._timer is not None:
            self._timer.cancel()

    def _detector_of(self, member: str) -> Detector | None:
        """Return the detector of the group that this process has in common with another member."""
        return next((one for one in self._detectors if member in one.members), None)

    def _tick(self) -> None:
        now = self._reactor.now()
        for detector in self._detectors:
            for member in detector.members:
                before, self._bytes[member] = self._bytes.get(member, 0), self._received(member)
                if self._bytes[member] != before:
                    self._do(detector.alive(member, now))
            self._do(detector.advance(now))
        self._set_timer()

    def _set_timer(self) -> None:
        next_time = min((one.next_time for one in self._detectors), default=math.inf)
        if next_time < math.inf:
            rest = next_time - self._reactor.now()
            self._timer = self._reactor.later(max(0.0, rest), self._tick)

    def _do(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect.to, heartbeat(self._own, effect))
            else:
                self._found(effect)
