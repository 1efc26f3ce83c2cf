"""Books places at peers for one run: all or nothing, without sockets, clocks and randomness.

```
            begin               enough              begun at all hosts
   (new) ─────────► ASKING ────────────► HOLDING ────────────────────► OVER
                    ▲ ▲  │ too few          │ a host is lost: ask another one
         pause over │ └──│──────────────────┘
                    │    ▼ (all released)
                    PAUSING
   any but OVER: the search is over, or cancelled ──► OVER (all released)
```

A reservation client never waits while it holds places at some peers and lacks others: when all
peers it asked have answered and their places are too few, it releases all, pauses for a random
time, longer each round, and begins again. So two clients that took the last places from each other
do not do so for ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum

from gcm.records import dataclass
from runtime.peers.booking.allocation import Demand, allocate, in_order, missing
from runtime.peers.booking.reservation_effects import (
    AskPlaces,
    Booked,
    BookedHost,
    BookingFailed,
    HostSilent,
    NeedHosts,
    ReleasePlaces,
    RenewPlaces,
    ReservationEffect,
    Shortfall,
)
from runtime.peers.booking.strategies import BookingError, Offer, Strategy
from runtime.peers.model import Key, PlacesAnswer, Reason

__all__ = ["ReservationClient", "ReservationClientState", "ReservationSettings"]

FOREVER = float("inf")

FINAL = frozenset({Reason.DENIED, Reason.NOT_TRUSTED, Reason.BAD_REQUEST})
"""Reasons that the next round will not change."""


@dataclass(frozen=True, slots=True)
class ReservationSettings:
    """The times of a reservation client, in seconds.

    `search` is how long it looks for places in all, `joining` how long where all hosts lend it what
    they have, so that only new ones could help, `answer` how long a peer may take to answer,
    `nearer` how long it waits for answers of nearer ones when there are places enough, `lease` how
    long a reservation lasts unless it is renewed, `pause` the mean of the first pause between two
    rounds; it doubles up to `longest_pause`.
    """

    search: float = 30.0
    joining: float = 30.0
    answer: float = 3.0
    nearer: float = 0.5
    lease: float = 30.0
    pause: float = 0.25
    longest_pause: float = 4.0


class ReservationClientState(Enum):
    """The life of a reservation client; OVER is final. The arrows stand at the head of the file."""

    NEW = "new"
    ASKING = "asking"
    HOLDING = "holding"
    PAUSING = "pausing"
    OVER = "over"


class ReservationClient:
    """Books places for one demand; every method returns what is to be done now.

    `random` returns numbers from 0 to 1, `new_key` keys that nobody can guess.
    """

    def __init__(
        self,
        demand: Demand,
        strategy: Strategy,
        *,
        random: Callable[[], float],
        new_key: Callable[[], Key],
        settings: ReservationSettings | None = None,
    ) -> None:
        self.demand = demand
        self.settings = settings or ReservationSettings()
        self.state = ReservationClientState.NEW
        self.rounds = 0
        self._strategy = strategy
        self._random = random
        self._new_key = new_key
        self._known: dict[str, Offer] = {}
        self._order: list[Offer] = []  # all that are known, in the order of asking
        self._next = 0  # of these is asked next
        self._pending: dict[Key, str] = {}
        self._timeouts: deque[tuple[float, Key]] = deque()
        self._held: dict[Key, Offer] = {}
        self._refusals: dict[str, str] = {}
        self._hopeless: set[str] = set()
        self._silent: set[str] = set()
        self._begun: set[Key] = set()
        self._found = (0, 0)  # places and hosts that the last round has found
        self._lease = self.settings.lease  # the shortest one that was granted
        self._started = self._end_of_search = FOREVER
        self._renewal = self._resume = self._decide = FOREVER

    # --- what happens ---------------------------------------------------------------------------

    def begin(self, known: Iterable[Offer], now: float) -> list[ReservationEffect]:
        """Ask the first hosts of those that are known."""
        if self.state is not ReservationClientState.NEW:
            raise BookingError(f"a reservation client that is {self.state.value} does not begin")
        self._started, self._end_of_search = now, now + self.settings.search
        effects = self.add_offers(known, now)
        if len(self._known) < self.demand.overbooked:
            effects.append(NeedHosts(self.demand.overbooked))
        return effects + self._new_round(now)

    def add_offers(self, offers: Iterable[Offer], now: float) -> list[ReservationEffect]:
        """More hosts are known, or more about them; they are asked when others have refused."""
        fresh = []
        for one in offers:
            if one.peer not in self._known:
                fresh.append(one)
            self._known[one.peer] = one
        self._order += in_order(fresh, self._strategy)
        return self._go_on(now) if self.state is ReservationClientState.ASKING and fresh else []

    def answered(self, key: Key, answer: PlacesAnswer, now: float) -> list[ReservationEffect]:
        """A peer has answered. Places that come too late are given back."""
        peer = self._pending.pop(key, None)
        if peer is None:
            return []  # it took too long, or nobody wants to know any more: it was released then
        if answer.is_granted:
            self._held[key] = replace(self._known[peer], places=answer.processes)
            self._silent.discard(peer)
            self._lease = min(self._lease, answer.lease)
            self._renewal = min(self._renewal, now + self._lease / 3)
        else:
            reason = answer.reason
            self._refusals[peer] = answer.detail or str(reason)
            if reason in FINAL:
                self._hopeless.add(peer)
        return self._go_on(now)

    def unreachable(self, key: Key, why: str, now: float) -> list[ReservationEffect]:
        """A request could not be sent, or its connection has broken."""
        peer = self._pending.pop(key, None)
        if peer is None:
            return []
        self._refusals[peer] = why
        self._silent.add(peer)
        # The request may have arrived, and only its answer not.
        return [HostSilent(peer), ReleasePlaces(peer, key), *self._go_on(now)]

    def renewed(self, key: Key, is_there: bool, now: float) -> list[ReservationEffect]:
        """A peer has answered to a renewal."""
        if is_there or key not in self._held or key in self._begun:
            return []
        return self.lost(key, "it has given up the reservation", now)

    def lost(
        self, key: Key, why: str, now: float, *, for_good: bool = False
    ) -> list[ReservationEffect]:
        """A host that is held has died or given up; another one is asked for.

        One that is lost `for_good` is of no use in this booking and not asked again.
        What has begun at others goes on: they are booked again, perhaps with other ranks.
        """
        if key not in self._held:
            return []
        peer = self._held[key].peer
        self._drop(key)
        self._refusals[peer] = why
        self._silent.add(peer)
        if for_good:
            self._hopeless.add(peer)
        effects: list[ReservationEffect] = [ReleasePlaces(peer, key)]
        if self.state is ReservationClientState.HOLDING:
            self.state = ReservationClientState.ASKING
            # The search for another one is a search of its own, however long the run was staged.
            self._end_of_search = max(self._end_of_search, now + self.settings.search)
            self._order, self._next = self._worth_asking(), 0
        return effects + self._go_on(now)

    def begun(self, key: Key) -> list[ReservationEffect]:
        """The peer of a key has confirmed it: the connection of the job holds the places now."""
        if key in self._held:
            self._begun.add(key)
            self._end_if_all_begun()
        return []

    def cancel(self) -> list[ReservationEffect]:
        """Give back everything; nothing is wanted any more."""
        self.state = ReservationClientState.OVER
        return self._release_all()

    def advance(self, now: float) -> list[ReservationEffect]:
        """Do what is due."""
        effects: list[ReservationEffect] = []
        while self._timeouts and self._timeouts[0][0] <= now:
            _, key = self._timeouts.popleft()
            if key in self._pending:
                why = f"no answer within {self.settings.answer:g} s"
                effects += self.unreachable(key, why, now)
        if self.state is ReservationClientState.ASKING and now >= self._decide:
            effects += self._hold()
        if self.state is ReservationClientState.PAUSING and now >= self._resume:
            effects += self._new_round(now)
        if now >= self._renewal:
            self._renewal = now + self._lease / 3
            effects += [
                RenewPlaces(offer.peer, key, self.settings.lease)
                for key, offer in self._held.items()
                if key not in self._begun
            ]
        return effects

    @property
    def next_time(self) -> float:
        """When `advance` has to be called."""
        while self._timeouts and self._timeouts[0][1] not in self._pending:
            self._timeouts.popleft()
        timeout = self._timeouts[0][0] if self._timeouts else FOREVER
        return min(timeout, self._renewal, self._resume, self._decide)

    @property
    def found(self) -> int:
        """How many of the places are held now."""
        return self.demand.places - missing(list(self._held.values()), self.demand)

    # --- rounds ---------------------------------------------------------------------------------

    def _new_round(self, now: float) -> list[ReservationEffect]:
        self.state, self._resume = ReservationClientState.ASKING, FOREVER
        self.rounds += 1
        self._refusals = {
            peer: why for peer, why in self._refusals.items() if peer in self._hopeless
        }
        self._order, self._next = self._worth_asking(), 0
        return self._ask(self.demand.overbooked, now) or self._go_on(now)

    def _worth_asking(self) -> list[Offer]:
        """Return who is not held and may say yes, those that did not answer last."""
        held = {one.peer for one in self._held.values()}
        worth = [one for one in self._known.values() if one.peer not in held | self._hopeless]
        answering = [one for one in worth if one.peer not in self._silent]
        silent = [one for one in worth if one.peer in self._silent]
        return [*in_order(answering, self._strategy), *in_order(silent, self._strategy)]

    def _ask(self, hosts: int, now: float) -> list[ReservationEffect]:
        """Ask so many of the hosts that were not asked in this round."""
        effects: list[ReservationEffect] = []
        for one in self._order[self._next : self._next + hosts]:
            key = self._new_key()
            self._pending[key] = one.peer
            self._timeouts.append((now + self.settings.answer, key))
            effects.append(AskPlaces(one.peer, key, self.demand.ranks, self.settings.lease))
        self._next += len(effects)
        return effects

    def _go_on(self, now: float) -> list[ReservationEffect]:
        """Decide, ask further hosts, or give all back and pause."""
        if self.state is not ReservationClientState.ASKING:
            return []
        if self._is_decided():
            return self._hold()
        if not missing(list(self._held.values()), self.demand):
            self._decide = min(self._decide, now + self.settings.nearer)
            return []
        expected = [self._known[peer] for peer in self._pending.values()]
        lacking = missing([*self._held.values(), *expected], self.demand)
        if lacking and self._next < len(self._order) and now <= self._end_of_search:
            return self._ask(Demand(lacking).overbooked, now)
        return [] if self._pending else self._pause(now)

    def _is_decided(self) -> bool:
        """Whether the places are enough, and no answer that is still to come would come before."""
        if missing(list(self._held.values()), self.demand):
            return False
        if not self._pending:
            return True
        held = {one.peer for one in self._held.values()}
        pending = set(self._pending.values())
        before = 0
        for one in self._order[: self._next]:
            if one.peer in pending:
                return False
            before += one.peer in held
            if before == self.demand.places:
                return True
        return False

    def _hold(self) -> list[ReservationEffect]:
        """Take what is needed of what is held, and give back the rest."""
        try:
            found = allocate(list(self._held.values()), self.demand, self._strategy)
        except BookingError as error:
            return [*self.cancel(), BookingFailed(error)]
        needed = {one.offer.peer: one for one in found}
        effects: list[ReservationEffect] = []
        keys: dict[str, Key] = {}
        for key, offer in list(self._held.items()):
            keys[offer.peer] = key
            if offer.peer not in needed:
                self._drop(key)
                effects.append(ReleasePlaces(offer.peer, key))
        effects += self._forget_pending()
        self.state, self._decide = ReservationClientState.HOLDING, FOREVER
        self._end_if_all_begun()
        return [*effects, Booked(tuple(BookedHost(one, keys[one.offer.peer]) for one in found))]

    def _pause(self, now: float) -> list[ReservationEffect]:
        """Give all back; try again after a random time, if that is not too late."""
        self._note_found()
        longest = min(self.settings.longest_pause, self.settings.pause * 2.0**self.rounds)
        resume = now + longest * self._random()
        are_all_held = 0 < len(self._known) == len(self._held)
        joined = self._started + self.settings.joining
        if resume >= (min(joined, self._end_of_search) if are_all_held else self._end_of_search):
            return self._give_up(now)
        effects = self._release_all()
        self.state, self._resume = ReservationClientState.PAUSING, resume
        return [*effects, NeedHosts(self.demand.overbooked)]

    def _give_up(self, now: float) -> list[ReservationEffect]:
        self._note_found()
        effects = self.cancel()
        shortfall = Shortfall(
            self.demand, *self._found, len(self._known), self._refusals, now - self._started
        )
        return [*effects, shortfall]

    def _note_found(self) -> None:
        self._found = (self.found, len(self._held))

    def _release_all(self) -> list[ReservationEffect]:
        effects: list[ReservationEffect] = [
            ReleasePlaces(offer.peer, key) for key, offer in self._held.items()
        ]
        self._held.clear()
        self._begun.clear()
        self._lease = self.settings.lease
        self._renewal = self._resume = self._decide = FOREVER
        return effects + self._forget_pending()

    def _drop(self, key: Key) -> None:
        del self._held[key]
        self._begun.discard(key)
        self._decide = FOREVER

    def _end_if_all_begun(self) -> None:
        if self.state is ReservationClientState.HOLDING and len(self._begun) == len(self._held):
            self.state, self._renewal = ReservationClientState.OVER, FOREVER

    def _forget_pending(self) -> list[ReservationEffect]:
        """Give back what was asked for and is not answered yet."""
        effects: list[ReservationEffect] = [
            ReleasePlaces(peer, key) for key, peer in self._pending.items()
        ]
        self._pending.clear()
        return effects
