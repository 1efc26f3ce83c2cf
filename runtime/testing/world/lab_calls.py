"""Calls between the members of a simulated lab, and who takes part in them.

What goes over one connection is a call and its answer. A call that is not answered in time, or
whose connection breaks, fails at the caller; the other end may have carried it out all the same.
"""

from __future__ import annotations

import heapq
import itertools
import random
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from gcm.records import dataclass
from runtime.peers.errors import NotAuthentic, PeerError, PeerUnreachable, Refused
from runtime.peers.membership import (
    CallMember,
    DialMember,
    KeepHosts,
    MeasureRoundTrip,
    ReachMember,
    Talk,
)
from runtime.peers.model import Address, Member, Principal
from runtime.testing.world.engine import Actor, ActorBegun, Due, Effect, Event, WakeAt

CONNECT = "connect"
"""The operation that opens a connection: who answers is asked for, and told."""

DIAL_TIMEOUT, CALL_TIMEOUT = 5.0, 10.0
"""Seconds, as `runtime.peers.connections` has them."""

Answer = Any | PeerError
Then = Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class LabCall(Effect):
    """A member calls whoever is at an address."""

    number: int
    to: Address
    operation: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class LabCalled(Event):
    """Somebody calls; the answer goes to `caller`, with the number."""

    number: int
    caller: str
    host: str
    operation: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class LabAnswer(Effect):
    """A call is answered, or refused where `what` is a PeerError."""

    to: str
    number: int
    what: Answer


@dataclass(frozen=True, slots=True)
class LabAnswered(Event):
    """A call has an answer, or has failed."""

    number: int
    what: Answer


class MemberClock:
    """The clock of a host: by how much it is ahead, and how much too fast it runs."""

    def __init__(self, ahead: float, drift: float) -> None:
        self._ahead, self._rate = ahead, 1.0 + drift

    def read(self, now: float) -> float:
        """Return what it shows at a time of the world."""
        return now * self._rate + self._ahead

    def when(self, shown: float) -> float:
        """Return at which time of the world it shows something."""
        return (shown - self._ahead) / self._rate


class LabActor(Actor):
    """Somebody in a lab: calls others, is called, and does things later."""

    def __init__(self, name: str, clock: MemberClock, chance: random.Random) -> None:
        super().__init__(name)
        self.now = 0.0
        self.chance = chance
        self.clock = clock
        self.has_begun = False
        self._effects: list[Effect] = []
        self._timers: list[tuple[float, int, Callable[[], None] | None]] = []
        self._numbers = itertools.count(1)
        self._calls: dict[int, Then] = {}
        self._waits: dict[int, str] = {}

    @abstractmethod
    def begin(self) -> None:
        """Do what a process does first."""

    def serve(self, called: LabCalled) -> Answer:
        """Answer a call; raises PeerError."""
        raise Refused(f"{self.name} serves nobody with {called.operation}")

    def read_clock(self) -> float:
        """Return what the clock of this host shows."""
        return self.clock.read(self.now)

    def do(self, effect: Effect) -> None:
        """Have something done."""
        self._effects.append(effect)

    def at(self, when: float, do: Callable[[], None]) -> None:
        """Do something at a time of the world."""
        heapq.heappush(self._timers, (when, next(self._numbers), do))

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Do something in so many seconds."""
        self.at(self.now + seconds, do)

    def waits_for(self) -> str:
        """Say for what it waits."""
        return ", ".join(self._waits.values())

    # --- as an actor ------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        """Let something happen to it."""
        self.now = now
        match event:
            case ActorBegun():
                if not self.has_begun:
                    self.has_begun = True
                    self.begin()
            case _ if not self.has_begun:
                return []
            case Due():
                self._do_what_is_due()
            case LabAnswered(number, what):
                self._take(number, what)
            case LabCalled():
                self._answer(event)
            case _:
                self.happen(event)
        effects, self._effects = self._effects, []
        return [*effects, WakeAt(self._next())]

    def _do_what_is_due(self) -> None:
        while self._timers and self._timers[0][0] <= self.now:
            _, number, do = heapq.heappop(self._timers)
            if do is not None:
                do()
            elif number in self._calls:
                self._take(number, PeerUnreachable(f"nobody has answered {self._waits[number]}"))

    def _next(self) -> float | None:
        """Return when something is due; nobody is woken for a call that is over."""
        timers = self._timers
        while timers and timers[0][2] is None and timers[0][1] not in self._calls:
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def happen(self, event: Event) -> None:
        """Let something else happen to it."""

    def _answer(self, called: LabCalled) -> None:
        try:
            what = self.name if called.operation == CONNECT else self.serve(called)
        except PeerError as fault:
            what = fault
        self.do(LabAnswer(called.caller, called.number, what))

    def _take(self, number: int, what: Answer) -> None:
        then = self._calls.pop(number, None)
        self._waits.pop(number, None)
        if then is not None:
            then(what)

    # --- calls ------------------------------------------------------------------------------------

    def call(
        self, to: Address, operation: str, arguments: tuple[Any, ...], timeout: float, then: Then
    ) -> None:
        """Call whoever is at an address; `then` gets the answer or a PeerError."""
        number = next(self._numbers)
        self._calls[number] = then
        self._waits[number] = f"at {to} to {operation} within {timeout:g} s"
        heapq.heappush(self._timers, (self.now + timeout, number, None))
        self.do(LabCall(number, to, operation, arguments))

    def connect(self, to: Address, expected: Principal | None, timeout: float, then: Then) -> None:
        """Connect to an address, where `expected` or else anybody answers."""

        def connected(what: Answer) -> None:
            if expected is not None and isinstance(what, str) and what != str(expected):
                what = NotAuthentic(f"{what} answers there, and not {expected}", place=str(to))
            then(what)

        self.call(to, CONNECT, (), timeout, connected)

    def reach(self, member: Member, timeout: float, then: Then) -> None:
        """Connect to a member at one of its addresses; `then` gets the address or a PeerError."""
        left = list(member.addresses)
        faults: list[PeerError] = []

        def attempt() -> None:
            if not left:
                words = "it is at none of its addresses"
                cause = "\n".join(map(str, faults))
                then(PeerUnreachable(words, place=str(member.principal), cause=cause))
                return
            address = left.pop(0)

            def connected(what: Answer) -> None:
                if isinstance(what, PeerError):
                    faults.append(what)
                    attempt()
                else:
                    then(address)

            self.connect(address, member.principal, timeout, connected)

        attempt()

    # --- talks ------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write the list of hosts; only peers have one."""

    def hold(self, talk: Talk[Any], then: Then) -> None:
        """Carry a talk out; `then` gets what it found out, or the PeerError with which it ended."""
        _Held(self, talk, then).go_on(None)


class _Held:
    """A talk that is carried out by an actor."""

    def __init__(self, actor: LabActor, talk: Talk[Any], then: Then) -> None:
        self._actor, self._talk, self._then = actor, talk, then
        self._to: Address | None = None

    def go_on(self, answer: Answer) -> None:
        while True:
            try:
                is_fault = isinstance(answer, PeerError)
                step = self._talk.throw(answer) if is_fault else self._talk.send(answer)
            except StopIteration as over:
                self._then(over.value)
                return
            except PeerError as fault:
                self._then(fault)
                return
            if not isinstance(step, KeepHosts):
                break
            self._actor.keep()
            answer = None
        self._carry_out(step)

    def _carry_out(self, step: Any) -> None:
        actor = self._actor
        match step:
            case DialMember(address, timeout):

                def dialled(what: Answer) -> None:
                    self._to = address
                    self.go_on(Principal.parse(what) if isinstance(what, str) else what)

                actor.connect(address, None, timeout or DIAL_TIMEOUT, dialled)
            case ReachMember(member, timeout):

                def reached(what: Answer) -> None:
                    if isinstance(what, Address):
                        self._to, what = what, member.principal
                    self.go_on(what)

                actor.reach(member, timeout or DIAL_TIMEOUT, reached)
            case CallMember(operation, arguments, timeout):
                assert self._to is not None
                actor.call(self._to, operation, arguments, timeout or CALL_TIMEOUT, self.go_on)
            case MeasureRoundTrip():
                assert self._to is not None
                begun = actor.now

                def measured(what: Answer) -> None:
                    is_fault = isinstance(what, PeerError)
                    self.go_on(what if is_fault else actor.now - begun)

                actor.call(self._to, "ping", (), CALL_TIMEOUT, measured)


class RepeatedWork:
    """Does something, and again a while after it has ended, as `Repeated` of a daemon does."""

    def __init__(self, actor: LabActor, work: Callable[[Then], None], pause: float) -> None:
        self._actor, self._work, self._pause = actor, work, pause
        self._runs = self._again = False
        self._number = 0

    def now(self) -> None:
        """Do it at once, or once more after it has ended."""
        if self._runs:
            self._again = True
            return
        self._number += 1
        self._runs = True
        self._work(self._ended)

    def _ended(self, what: Answer) -> None:
        self._runs = False
        number = self._number

        def next_one() -> None:
            if self._number == number and not self._runs:
                self.now()

        if self._again or what is True:
            self._again = False
            self._actor.after(0.0, next_one)
        else:
            self._actor.after(self._pause, next_one)
