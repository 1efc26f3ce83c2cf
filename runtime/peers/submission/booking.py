"""Books places for a run and holds them until they are launched, lost or given back."""

from __future__ import annotations

import logging
import random
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Self

from runtime.interruptible import next_of
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
    ReservationClientState,
    ReservationEffect,
    ReservationSettings,
    Shortfall,
    Strategy,
)
from runtime.peers.contracts import Reservation
from runtime.peers.errors import PeerError
from runtime.peers.model import Key, PlacesAnswer
from runtime.peers.submission.lab import Lab

_log = logging.getLogger(__name__)

MOST_CALLS = 32
MOST_NAME = 60
"""Characters of the name of a program that peers show."""

RELEASE_TIMEOUT = 3.0
FOREVER = float("inf")

Report = Callable[[str], None]
_Outcome = Booked | BookingFailed | Shortfall | PeerError


class NotEnoughPlaces(PeerError):
    """Too few places were found until the search ended."""


class Booking:
    """The places of one run: a `ReservationClient`, a thread that owns it, and threads that call
    peers.

    >>> with Booking(lab, Demand(8, 2), strategy) as booking:        # doctest: +SKIP
    ...     hosts = booking.book(lab.offers(lab.find_hosts(100)))

    Leaving the block gives back all that was not launched. `report` hears what happens, for people.
    """

    def __init__(
        self,
        lab: Lab,
        demand: Demand,
        strategy: Strategy,
        settings: ReservationSettings | None = None,
        report: Report = lambda _: None,
        *,
        program: str = "",
    ) -> None:
        self.lab = lab
        self.application = f"{program[:MOST_NAME]}:{secrets.token_hex(16)}"
        """What is to run, for people, and a random name; its keys are bound to both."""
        self.keys: dict[str, Key] = {}
        """The key at each booked peer. A secret: whoever has it may launch there, once."""
        self._demand = demand
        self._report = report
        self._client = ReservationClient(
            demand,
            strategy,
            random=random.SystemRandom().random,
            new_key=lambda: Key(secrets.token_hex(16)),
            settings=settings,
        )
        self._answer_timeout = (settings or ReservationSettings()).answer
        self._events: SimpleQueue[Callable[[], list[ReservationEffect]] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[_Outcome | None] = SimpleQueue()  # None: there is no more
        self._is_asked = False  # whether somebody waits for that None
        self._calls = ThreadPoolExecutor(MOST_CALLS, "booking")
        self._thread = threading.Thread(target=self._run, name="booking", daemon=True)
        self._thread.start()

    # --- for whoever wants places ---------------------------------------------------------------

    def book(self, offers: Sequence[Offer]) -> Sequence[BookedHost]:
        """Return the hosts with the ranks of each, the nearest first; waits for places.

        `offers` are the hosts that are known; the lab is asked for others when they refuse.

        Raises:
            NotEnoughPlaces: too few were found in time; it says who refused, and why.
            PeerError: nobody can be asked.
        """
        self._post(lambda now: self._client.begin(offers, now))
        return self._await()

    def replaced(self, peer: str, why: str, *, for_good: bool = False) -> Sequence[BookedHost]:
        """Give up a booked host that is of no use, and return the hosts with another one for it.

        One that is given up `for_good` is not asked again.

        Raises:
            NotEnoughPlaces: there is none.
        """
        self.lab.forget(peer)
        key = self.keys[peer]
        self._post(lambda now: self._client.lost(key, why, now, for_good=for_good))
        hosts = self._await()
        while key in self.keys.values():  # that was said of another one, which was lost before
            hosts = self._await()
        return hosts

    def changed(self) -> Sequence[BookedHost] | None:
        """Return the hosts if a peer has given up its places since they were told, or else None.

        Waits for the places that take theirs; raises as `replaced` does.
        """
        self._post(self._settle)
        hosts = None
        while (outcome := next_of(self._outcomes)) is not None:
            hosts = self._taken(outcome)
        return hosts

    def launched(self, peer: str) -> None:
        """Take note that the job's own connection holds the places of a peer now."""
        key = self.keys[peer]
        self._post(lambda _: self._client.begun(key))

    def __enter__(self) -> Self:
        """Return the booking."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give back what was not launched, and end the threads."""
        self._post(lambda _: self._client.cancel())
        self._events.put(None)
        self._thread.join()
        self._calls.shutdown()

    def _await(self) -> Sequence[BookedHost]:
        while (outcome := next_of(self._outcomes)) is None:
            pass
        return self._taken(outcome)

    def _taken(self, outcome: _Outcome) -> Sequence[BookedHost]:
        match outcome:
            case Booked(hosts):
                self.keys = {one.allocation.offer.peer: one.key for one in hosts}
                return hosts
            case BookingFailed(error):
                raise error
            case Shortfall():
                first, *reasons = str(outcome).splitlines()
                raise NotEnoughPlaces(
                    first,
                    cause="\n".join(reasons),
                    cure=outcome.cure,
                )
            case PeerError():
                raise outcome

    # --- the thread that owns the client --------------------------------------------------------

    def _post(self, event: Callable[[float], list[ReservationEffect]]) -> None:
        self._events.put(lambda: event(time.monotonic()))

    def _run(self) -> None:
        try:
            self._serve()
        except Exception as error:
            for effect in self._client.cancel():
                self._do(effect)
            if isinstance(error, PeerError):
                self._outcomes.put(error)
                return
            _log.exception("the booking failed")
            self._outcomes.put(PeerError(f"the booking failed: {type(error).__name__}: {error}"))

    def _serve(self) -> None:
        while True:
            left = self._client.next_time - time.monotonic()
            try:
                event = self._events.get(timeout=None if left == FOREVER else max(0.0, left))
            except Empty:
                event = self._advance
            if event is None:
                return
            for effect in event():
                self._do(effect)

    def _settle(self, _: float) -> list[ReservationEffect]:
        if self._client.state in (ReservationClientState.HOLDING, ReservationClientState.OVER):
            self._outcomes.put(None)
        else:
            self._is_asked = True
        return []

    def _advance(self) -> list[ReservationEffect]:
        return self._client.advance(time.monotonic())

    def _do(self, effect: ReservationEffect) -> None:
        match effect:
            case AskPlaces():
                self._calls.submit(self._ask, effect)
            case RenewPlaces():
                self._calls.submit(self._renew, effect)
            case ReleasePlaces():
                self._calls.submit(self._release, effect)
            case NeedHosts():
                self._calls.submit(self._find, effect.hosts)
            case HostSilent(peer):
                self._report(f"{peer} does not answer")
                self.lab.forget(peer)
            case Booked() | BookingFailed() | Shortfall():
                self._outcomes.put(effect)
                if self._is_asked:
                    self._outcomes.put(None)
                    self._is_asked = False

    # --- in other threads -----------------------------------------------------------------------

    def _find(self, most: int) -> None:
        try:
            names = set(self.lab.find_hosts(2 * most))
            offers = self.lab.offers(names)
        except PeerError:
            return  # what is known has to do
        self._post(lambda now: self._client.add_offers(offers, now))

    def _ask(self, wanted: AskPlaces) -> None:
        peer, key = wanted.peer, wanted.key
        try:
            service = self.lab.service(peer, Reservation, self._answer_timeout)
            plain = service.reserve(
                self.lab.me, key, self.application, wanted.processes, wanted.lease
            )
            answer = PlacesAnswer.of(plain)
        except PeerError as fault:
            why = fault.in_one_line
            self.lab.forget(peer)
            self._post(lambda now: self._client.unreachable(key, why, now))
            return
        detail = f"{answer.processes} places" if answer.is_granted else f"no: {answer.detail}"
        self._report(f"{peer}: {detail}")
        self._post(lambda now: self._client.answered(key, answer, now))

    def _renew(self, wanted: RenewPlaces) -> None:
        try:
            service = self.lab.service(wanted.peer, Reservation, self._answer_timeout)
            is_there = service.renew(self.lab.me, wanted.key, wanted.lease)
        except PeerError:
            # It may only be slow: it is asked twice more before its lease is over.
            self.lab.forget(wanted.peer)
            return
        self._post(lambda now: self._client.renewed(wanted.key, is_there, now))

    def _release(self, wanted: ReleasePlaces) -> None:
        try:
            service = self.lab.service(wanted.peer, Reservation, RELEASE_TIMEOUT)
            service.release(self.lab.me, wanted.key)
        except PeerError:
            self.lab.forget(wanted.peer)  # the lease ends by itself
