"""A user of a simulated lab: books places by production's reservation client, and runs there."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial

from gcm.records import dataclass
from runtime.peers.booking import (
    AskPlaces,
    Booked,
    BookedHost,
    BookingFailed,
    Demand,
    HostSilent,
    NeedHosts,
    Offer,
    ReleasePlaces,
    RenewPlaces,
    ReservationClient,
    ReservationEffect,
    ReservationSettings,
    Shortfall,
    strategy_named,
)
from runtime.peers.errors import PeerError
from runtime.peers.membership import LabHosts
from runtime.peers.model import Key, Member, PlacesAnswer
from runtime.testing.world.engine import Effect, Event
from runtime.testing.world.lab_calls import Answer, LabActor, Then
from runtime.testing.world.lab_load import BookingAsked
from runtime.testing.world.lab_members import MemberPlace

DIAL, ANSWER, RELEASE, LAUNCH, FAR, FEWEST, MOST_LAUNCHES = 3.0, 3.0, 3.0, 15.0, 1e6, 100, 3
"""As `runtime.peers.submission` has them."""


class UserStage(StrEnum):
    """How far a user is; the last four are final."""

    NEW = "new"
    LOOKING = "looking for hosts"
    BOOKING = "booking"
    STAGING = "staging"
    LAUNCHING = "launching"
    RUNNING = "running"
    RAN = "ran"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL = frozenset({UserStage.RAN, UserStage.REFUSED, UserStage.FAILED, UserStage.CANCELLED})


@dataclass(frozen=True, slots=True)
class HangUp(Effect):
    """The connection of a job is ended by its user."""

    key: Key


@dataclass(frozen=True, slots=True)
class Cancelled(Event):
    """The user presses Ctrl-C."""


@dataclass(frozen=True, slots=True)
class JobLost(Event):
    """The connection of a job has broken."""

    key: Key


class LabUser(LabActor):
    """Somebody who books once, brings a program, runs it, and ends."""

    def __init__(self, place: MemberPlace, asked: BookingAsked) -> None:
        super().__init__(f"user:{place.member.name}", place.clock, place.chance)
        self.asked = asked
        self.demand = Demand(asked.ranks, asked.replicas)
        self.stage = UserStage.NEW
        self.why = ""
        self.ended_at: float | None = None
        self.began_at: float | None = None
        self.bookings: list[Booked] = []
        self.shortfall: Shortfall | None = None
        self.application = ""
        self._place = place
        self._hosts = LabHosts(self.name, "lab")
        self._members: dict[str, Member] = {}
        self._client: ReservationClient | None = None
        self._launches = 0
        self._booked: tuple[BookedHost, ...] = ()
        self._begun: dict[Key, str] = {}  # and its peer
        self._failures: dict[str, str] = {}
        self._open = 0  # answers that are waited for
        self._attempt = 0
        self._timer = float("inf")

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.stage in FINAL

    def waits_for(self) -> str:
        """Say for what it waits."""
        return f"while {self.stage}: {super().waits_for()}"

    @property
    def client(self) -> ReservationClient:
        """The reservation client of the current attempt."""
        assert self._client is not None
        return self._client

    # --- its steps ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Look for hosts."""
        self.began_at = self.now
        self.stage = UserStage.LOOKING
        self._find(2 * self.demand.overbooked, self._found)

    def happen(self, event: Event) -> None:
        """Cancel, or lose a job."""
        match event:
            case Cancelled():
                if not self.is_over:
                    self._end(UserStage.CANCELLED, "Ctrl-C")
            case JobLost(key):
                peer = self._begun.pop(key, None)
                if peer is not None and self.stage is UserStage.LAUNCHING:
                    self._failures[peer] = "its connection has broken"
                elif peer is not None and self.stage is UserStage.RUNNING:
                    self._end(UserStage.FAILED, f"{peer} was lost while the program ran")

    def _find(self, most: int, then: Then) -> None:
        talk = self._hosts.find(self._place.supernodes, max(most, FEWEST))
        self.hold(talk, then)

    def _found(self, what: Answer) -> None:
        if self.is_over:
            return
        if isinstance(what, PeerError):
            self._end(UserStage.FAILED, str(what))
            return
        self._members |= self._hosts.peers
        self._offers(list(self._members), self._book)

    def _offers(self, names: list[str], then: Callable[[list[Offer]], None]) -> None:
        """Measure the ways to peers."""
        found: list[Offer] = []
        attempt = self._attempt

        def one_more(offer: Offer) -> None:
            found.append(offer)
            if len(found) == len(names) and attempt == self._attempt:
                then(sorted(found, key=lambda one: one.peer))

        def reached(member: Member, begun: float, what: Answer) -> None:
            rtt = FAR if isinstance(what, PeerError) else (self.now - begun) / 3
            one_more(Offer(str(member.name), member.share.processes, rtt))

        for name in names:
            member = self._members[name]
            self.reach(member, DIAL, partial(reached, member, self.now))
        if not names:
            then([])

    def _book(self, offers: list[Offer]) -> None:
        if self.is_over:
            return
        self.stage = UserStage.BOOKING
        self.application = f"{self.name}:{self._attempt}:{self.chance.getrandbits(64):x}"
        self._client = ReservationClient(
            self.demand,
            strategy_named(self.asked.strategy),
            random=self.chance.random,
            new_key=lambda: Key(f"{self.chance.getrandbits(128):032x}"),
            settings=ReservationSettings(search=self.asked.search),
        )
        self._do(self.client.begin(offers, self.read_clock()))

    # --- the reservation client -----------------------------------------------------------------

    def _do(self, effects: list[ReservationEffect]) -> None:
        for effect in effects:
            self._carry_out(effect)
        self._set_timer()

    def _set_timer(self) -> None:
        due = self.client.next_time
        at = max(self.now, self.clock.when(due)) if due < float("inf") else due
        if at < self._timer:
            self._timer = at
            self.at(at, self._tick)

    def _tick(self) -> None:
        self._timer = float("inf")
        if self._client is not None:
            self._do(self.client.advance(self.read_clock()))

    def _carry_out(self, effect: ReservationEffect) -> None:
        client = self.client
        match effect:
            case AskPlaces(peer, key, processes, lease):
                arguments = key, self.application, processes, lease
                then = partial(self._answered, client, key)
                self._call_peer(peer, "reserve", arguments, ANSWER, then)
            case RenewPlaces(peer, key, lease):
                then = partial(self._renewed, client, key)
                self._call_peer(peer, "renew", (key, lease), ANSWER, then)
            case ReleasePlaces(peer, key):
                self._hang_up(key)
                self._call_peer(peer, "release", (key,), RELEASE, lambda _: None)
            case NeedHosts(hosts):
                self._find(2 * hosts, partial(self._found_more, client))
            case HostSilent():
                pass
            case Booked():
                self._is_booked(effect)
            case Shortfall():
                self.shortfall = effect
                self._end(UserStage.REFUSED, f"{effect}\n{effect.cure}")
            case BookingFailed(error):
                self._end(UserStage.FAILED, str(error))

    def _call_peer(
        self, peer: str, operation: str, arguments: tuple[object, ...], timeout: float, then: Then
    ) -> None:
        """Call a peer over a new connection."""
        member = self._members[peer]

        def reached(where: Answer) -> None:
            if isinstance(where, PeerError):
                then(where)
            else:
                self.call(where, operation, arguments, timeout, then)

        self.reach(member, DIAL, reached)

    def _answered(self, client: ReservationClient, key: Key, what: Answer) -> None:
        now = self.read_clock()
        if isinstance(what, PeerError):
            found = client.unreachable(key, what.in_one_line, now)
        else:
            found = client.answered(key, PlacesAnswer.of(what), now)
        self._happened(client, found)

    def _renewed(self, client: ReservationClient, key: Key, what: Answer) -> None:
        if not isinstance(what, PeerError):
            self._happened(client, client.renewed(key, what, self.read_clock()))

    def _found_more(self, client: ReservationClient, what: Answer) -> None:
        if isinstance(what, PeerError) or client is not self._client or self.is_over:
            return
        self._members |= self._hosts.peers

        def known(offers: list[Offer]) -> None:
            self._happened(client, client.add_offers(offers, self.read_clock()))

        self._offers(list(self._members), known)

    def _happened(self, client: ReservationClient, effects: list[ReservationEffect]) -> None:
        if client is self._client:
            self._do(effects)

    # --- staging and launching ------------------------------------------------------------------

    def _is_booked(self, booked: Booked) -> None:
        self.bookings.append(booked)
        if self.stage in (UserStage.BOOKING, UserStage.STAGING):
            self._booked = booked.hosts
            self._stage()

    def _stage(self) -> None:
        """Bring the program; who does not get it is replaced."""
        self.stage = UserStage.STAGING
        self._round(self._staged)
        round_ = self._attempt
        for one in self._booked:
            peer = one.allocation.offer.peer

            def staged(peer: str, what: Answer) -> None:
                if isinstance(what, PeerError) and round_ == self._attempt:
                    self._failures[peer] = str(what)
                self._one_less(round_)

            seconds = self.asked.staging

            def bring(peer: str, key: Key, then: Then) -> None:
                self._call_peer(peer, "stage", (key,), LAUNCH, then)

            self.after(seconds, partial(bring, peer, one.key, partial(staged, peer)))

    def _round(self, then: Callable[[], None]) -> None:
        """Wait for as many answers as there are hosts."""
        self._attempt += 1
        self._open, self._failures, self._then = len(self._booked), {}, then

    def _one_less(self, round_: int) -> None:
        if round_ == self._attempt and not self.is_over:
            self._open -= 1
            if not self._open:
                self._then()

    def _staged(self) -> None:
        if not self._failures:
            self._launch()
            return
        self.stage = UserStage.BOOKING
        now = self.read_clock()
        keys = {one.allocation.offer.peer: one.key for one in self._booked}
        for peer, why in self._failures.items():
            self._do(self.client.lost(keys[peer], why, now))

    def _launch(self) -> None:
        self.stage = UserStage.LAUNCHING
        self._round(self._launched)
        round_ = self._attempt
        for one in self._booked:
            peer, key = one.allocation.offer.peer, one.key
            ranks = tuple(copy.rank for copy in one.allocation.copies)

            def launched(peer: str, key: Key, what: Answer) -> None:
                if isinstance(what, PeerError):
                    self.do(HangUp(key))  # it may run, and the answer be lost
                    if round_ == self._attempt:
                        self._failures[peer] = str(what)
                elif self.is_over or round_ != self._attempt:
                    self.do(HangUp(key))
                else:
                    self._begun[key] = peer
                    self._do(self.client.begun(key))
                self._one_less(round_)

            arguments = key, self.application, ranks
            self._call_peer(peer, "launch", arguments, LAUNCH, partial(launched, peer, key))

    def _launched(self) -> None:
        if not self._failures:
            self.stage = UserStage.RUNNING
            self.after(self.asked.job, partial(self._has_run, self._attempt))
            return
        self._launches += 1
        peers = [one.allocation.offer.peer for one in self._booked]
        self._give_all_back()
        self._attempt += 1
        first = next(iter(self._failures.items()))
        if self._launches >= MOST_LAUNCHES:
            self._end(UserStage.FAILED, f"{first[0]}: {first[1]}")
            return
        self._offers(peers, self._again)

    def _again(self, offers: list[Offer]) -> None:
        """Book again, if the launch has lost somebody."""
        if self.is_over:
            return
        if all(one.rtt < FAR for one in offers):
            peer, why = next(iter(self._failures.items()))
            self._end(UserStage.FAILED, f"{peer}: {why}")
            return
        self._offers(list(self._members), self._book)

    def _has_run(self, attempt: int) -> None:
        if attempt == self._attempt and self.stage is UserStage.RUNNING:
            self._end(UserStage.RAN)

    # --- its end --------------------------------------------------------------------------------

    def _hang_up(self, key: Key) -> None:
        if self._begun.pop(key, None) is not None:
            self.do(HangUp(key))

    def _give_all_back(self) -> None:
        for key in list(self._begun):
            self._hang_up(key)
        client, self._client = self._client, self._client
        if client is not None:
            for effect in client.cancel():
                self._carry_out(effect)

    def _end(self, stage: UserStage, why: str = "") -> None:
        if not self.is_over:
            self.stage, self.why, self.ended_at = stage, why, self.now
            self._give_all_back()
