"""A world in which users book places at peers: the very state machines, no sockets.

Peers have clocks of their own, die, and come back; users vanish in the middle of a booking. What
is confirmed runs for a while and ends. `World.run` never waits.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from runtime.peers.booking import (
    AdmissionControl,
    AdmissionRules,
    AskPlaces,
    Booked,
    BookedHost,
    BookingFailed,
    NeedHosts,
    Offer,
    PlacesRequest,
    ReleasePlaces,
    RenewPlaces,
    ReservationClient,
    ReservationEffect,
    Shortfall,
)
from runtime.peers.errors import Refused
from runtime.peers.model import Key, Principal


@dataclass
class SimulatedPeer:
    """A peer: its admission control, how far its clock is off, and what runs there."""

    name: str
    admission: AdmissionControl
    skew: float = 0.0
    is_dead: bool = False
    running: dict[Key, str] = field(default_factory=dict)
    timer: float = float("inf")


@dataclass
class SimulatedUser:
    """A user who books once: the reservation client, and what came of it."""

    principal: Principal
    application: str
    client: ReservationClient
    job: float
    begun_at: float = 0.0
    booked_at: float | None = None
    launched: set[Key] = field(default_factory=set)
    wanted: set[Key] = field(default_factory=set)
    confirming: set[Key] = field(default_factory=set)
    bookings: list[Booked] = field(default_factory=list)
    ended_with: Shortfall | BookingFailed | None = None
    messages: int = 0
    is_dead: bool = False
    timer: float = float("inf")

    @property
    def has_all(self) -> bool:
        """Whether a job was launched at every host that was booked."""
        return bool(self.wanted) and self.wanted <= self.launched


class BookingWorld:
    """Peers, users, and the messages between them."""

    def __init__(self, *, random: Random, latency: Callable[[Random], float]) -> None:
        self.now = 0.0
        self.peers: dict[str, SimulatedPeer] = {}
        self.users: list[SimulatedUser] = []
        self.most_running: dict[str, int] = defaultdict(int)
        self.needs: Callable[[SimulatedUser], Iterable[Offer]] = lambda _: ()
        self._random = random
        self._latency = latency
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0

    # --- who is there ---------------------------------------------------------------------------

    def add_peer(self, name: str, rules: AdmissionRules, skew: float = 0.0) -> SimulatedPeer:
        """Let a peer join; `skew` is how far its clock is off."""
        peer = self.peers[name] = SimulatedPeer(name, AdmissionControl(rules), skew)
        return peer

    def kill_peer(self, name: str) -> None:
        """Let a peer vanish: it never answers again."""
        self.peers[name].is_dead = True

    def begin(
        self, user: str, client: ReservationClient, known: Iterable[Offer], job: float = 60.0
    ) -> SimulatedUser:
        """Let a user begin to book; what is booked then runs for `job` seconds."""
        number = len(self.users)
        made = SimulatedUser(Principal.parse(f"user:{user}"), f"run{number}", client, job, self.now)
        self.users.append(made)
        self._do(made, client.begin(known, self.now))
        return made

    def kill_user(self, user: SimulatedUser) -> None:
        """Let a user vanish: nothing is renewed, released or launched any more."""
        user.is_dead = True

    # --- time -----------------------------------------------------------------------------------

    def at(self, when: float, does: Callable[[], None]) -> None:
        """Let something happen at a time."""
        self._serial += 1
        heapq.heappush(self._events, (when, self._serial, does))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self.now, _, does = heapq.heappop(self._events)
            does()
        self.now = end

    # --- users ----------------------------------------------------------------------------------

    def _do(self, user: SimulatedUser, effects: Iterable[ReservationEffect]) -> None:
        for effect in effects:
            match effect:
                case AskPlaces() | RenewPlaces() | ReleasePlaces():
                    self._call(user, effect)
                case NeedHosts():
                    more = list(self.needs(user))
                    self._later(user, partial(self._known, user, more))
                case Booked():
                    self._launch(user, effect)
                case Shortfall() | BookingFailed():
                    user.ended_with = effect
                case _:
                    pass  # a host table would note that a host is silent
        if user.client.next_time < user.timer:
            user.timer = user.client.next_time
            self.at(user.timer, partial(self._tick, user))

    def _tick(self, user: SimulatedUser) -> None:
        user.timer = float("inf")
        if not user.is_dead:
            self._do(user, user.client.advance(self.now))

    def _later(self, user: SimulatedUser, does: Callable[[], None]) -> None:
        user.messages += 1
        self.at(self.now + self._latency(self._random), does)

    def _known(self, user: SimulatedUser, more: list[Offer]) -> None:
        if not user.is_dead:
            self._do(user, user.client.add_offers(more, self.now))

    def _call(self, user: SimulatedUser, effect: AskPlaces | RenewPlaces | ReleasePlaces) -> None:
        self._later(user, partial(self._serve, user, effect))

    def _launch(self, user: SimulatedUser, booked: Booked) -> None:
        user.bookings.append(booked)
        user.wanted = {one.key for one in booked.hosts}
        if user.has_all:
            user.booked_at = self.now
        for one in booked.hosts:
            if one.key not in user.confirming:  # a key is used once
                user.confirming.add(one.key)
                self._later(user, partial(self._confirm, user, one))

    # --- peers ----------------------------------------------------------------------------------

    def _serve(self, user: SimulatedUser, effect: AskPlaces | RenewPlaces | ReleasePlaces) -> None:
        peer = self.peers[effect.peer]
        if peer.is_dead:
            return
        own, keeper = self.now + peer.skew, peer.admission
        if isinstance(effect, ReleasePlaces):
            if not keeper.release(user.principal, effect.key):
                self._end_job(peer, effect.key)  # its connection ends
        elif isinstance(effect, RenewPlaces):
            alive = keeper.renew(user.principal, effect.key, effect.lease, own)
            self._answer(user, lambda: user.client.renewed(effect.key, alive, self.now))
        else:
            asked = PlacesRequest(effect.key, user.application, effect.processes, effect.lease)
            answer = keeper.reserve(user.principal, "10.0.0.1", asked, own)
            self._answer(user, lambda: user.client.answered(effect.key, answer, self.now))
        self._set_timer(peer)

    def _answer(self, user: SimulatedUser, tell: Callable[[], list[ReservationEffect]]) -> None:
        self._later(user, lambda: None if user.is_dead else self._do(user, tell()))

    def _confirm(self, user: SimulatedUser, host: BookedHost) -> None:
        peer = self.peers[host.allocation.offer.peer]
        if peer.is_dead:
            self._answer(user, lambda: user.client.lost(host.key, "it is dead", self.now))
            return
        try:
            peer.admission.confirm(user.principal, host.key, user.application, self.now + peer.skew)
        except Refused as error:
            why = str(error)
            self._answer(user, lambda: user.client.lost(host.key, why, self.now))
            return
        peer.running[host.key] = user.application
        self.most_running[peer.name] = max(self.most_running[peer.name], len(peer.running))
        self.at(self.now + user.job, partial(self._end_job, peer, host.key))
        self._answer(user, partial(self._begun, user, host.key))

    def _begun(self, user: SimulatedUser, key: Key) -> list[ReservationEffect]:
        if key in user.wanted:
            user.launched.add(key)
        if user.has_all:
            user.booked_at = self.now
        return user.client.begun(key)

    def _end_job(self, peer: SimulatedPeer, key: Key) -> None:
        if peer.running.pop(key, None) is not None:
            peer.admission.ended(key)

    def _set_timer(self, peer: SimulatedPeer) -> None:
        when = peer.admission.next_time - peer.skew
        if when < peer.timer:
            peer.timer = when
            self.at(when, partial(self._tick_peer, peer))

    def _tick_peer(self, peer: SimulatedPeer) -> None:
        peer.timer = float("inf")
        if peer.is_dead:
            return
        peer.admission.advance(self.now + peer.skew)
        self._set_timer(peer)
