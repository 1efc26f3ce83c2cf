"""The heart of a simulated world: a heap of what happens next, and the actors to whom it happens.

Nothing here knows the time of the machine: a world has its own, which jumps from one event to the
next. What happens at one time happens in the order in which it was asked for, so a seed decides
all.
"""

from __future__ import annotations

import heapq
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from gcm.records import dataclass
from runtime.testing.world.guard import GUARD
from runtime.testing.world.tape import Tape


class Event(ABC):  # noqa: B024 - its kinds have nothing in common but that they happen
    """Something that happens to an actor."""


class Effect(ABC):  # noqa: B024 - as above
    """Something that an actor wants to be done."""


@dataclass(frozen=True, slots=True)
class ActorBegun(Event):
    """The process of the actor has been started."""


@dataclass(frozen=True, slots=True)
class Due(Event):
    """The time has come for which the actor has asked."""


@dataclass(frozen=True, slots=True)
class CallDue(Event):
    """The time has come for a call that the actor's own process has asked for."""

    call: Callable[[], object]

    def __str__(self) -> str:
        """Return what is the same in each run."""
        return "CallDue"


@dataclass(frozen=True, slots=True)
class WakeAt(Effect):
    """Let the actor have `Due` at a time, and at none that it has asked for before."""

    at: float | None


class Actor(ABC):
    """Production code as a world sees it: events in, effects out, the time handed in."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        """Let something happen to it; return what it wants to be done about that."""

    @property
    def is_over(self) -> bool:
        """Whether nothing can happen to it any more."""
        return False

    def waits_for(self) -> str:
        """Say for what it waits, for the one who reads that a world does not end."""
        return ""


class WorldStuck(Exception):
    """A world has used up its budget; the text says who waits for whom."""


class World:
    """The time, the heap and the actors. `rng` is the one source of chance.

    Effects are carried out by those who `own` their class.
    """

    def __init__(self, seed: int, *, most_events: int = 2_000_000) -> None:
        self.now = 0.0
        self.rng = random.Random(seed)
        self.tape = Tape()
        self.actors: dict[str, Actor] = {}
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        self._left = most_events
        self._own: dict[type[Effect], Callable[[Actor, Effect], None]] = {WakeAt: self._wake_at}
        self._wakes: dict[str, int] = {}
        self._paused: dict[str, float] = {}
        self._held: dict[str, list[Event]] = {}
        self._gone: set[str] = set()

    # --- actors -----------------------------------------------------------------------------------

    def add(self, actor: Actor, at: float = 0.0) -> None:
        """Let an actor begin at a time."""
        self.actors[actor.name] = actor
        self.tell(actor.name, ActorBegun(), at)

    def own(self, effect: type[Effect], carry_out: Callable[[Actor, Effect], None]) -> None:
        """Let effects of a class be carried out so."""
        self._own[effect] = carry_out

    def remove(self, name: str) -> None:
        """Let nothing happen to an actor any more: its process has ended, or was killed."""
        self._gone.add(name)
        self._held.pop(name, None)

    def revive(self, name: str) -> None:
        """Let a process begin again that had ended, as another actor of the same name."""
        self._gone.discard(name)
        self._paused.pop(name, None)

    def is_gone(self, name: str) -> bool:
        """Tell whether the process of an actor has ended."""
        return name in self._gone

    def pause(self, name: str, until: float) -> None:
        """Stop the process of an actor for a while; what happens to it waits, in order."""
        self._paused[name] = max(until, self._paused.get(name, 0.0))
        self.at(until, lambda: self._go_on(name))

    def _go_on(self, name: str) -> None:
        if self.now >= self._paused.get(name, 0.0):
            self._paused.pop(name, None)
            for event in self._held.pop(name, []):
                self._happen(name, event)

    # --- time -------------------------------------------------------------------------------------

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Let something be done at a time that is not in the past."""
        self._sequence += 1
        heapq.heappush(self._heap, (max(when, self.now), self._sequence, call))

    def tell(self, name: str, event: Event, when: float | None = None) -> None:
        """Let an event happen to an actor, now at the earliest."""
        self.at(self.now if when is None else when, lambda: self._happen(name, event))

    def call(self, name: str, call: Callable[[], object], when: float) -> None:
        """Let the process of an actor call something at a time, or once it goes on."""
        self.tell(name, CallDue(call), when)

    def run(self, is_over: Callable[[], bool], limit: float) -> bool:
        """Let things happen until it is over; return whether it was by the time `limit`.

        Raises:
            WorldStuck: so much has happened that it would go on for ever.
        """
        with GUARD:
            return self._run(is_over, limit)

    def _run(self, is_over: Callable[[], bool], limit: float) -> bool:
        while not is_over():
            if not self._heap or self._heap[0][0] > limit:
                return False
            self._left -= 1
            if self._left < 0:
                raise WorldStuck(f"too much has happened at {self.now:.6f}\n{self.who_waits()}")
            self.now, _, call = heapq.heappop(self._heap)
            call()
        return True

    def who_waits(self) -> str:
        """Return a line for each actor that has not ended: for whom it waits."""
        waiting = (
            f"  {name} waits: {one.waits_for() or 'for an event'}"
            for name, one in self.actors.items()
            if not (one.is_over or name in self._gone)
        )
        return "\n".join(waiting)

    # --- what happens -----------------------------------------------------------------------------

    def _happen(self, name: str, event: Event) -> None:
        actor = self.actors.get(name)
        if actor is None or name in self._gone:
            return
        if self._paused.get(name, 0.0) > self.now:
            self._held.setdefault(name, []).append(event)
            return
        self.tape.event(self.now, name, event)
        for effect in actor.handle(event, self.now):
            self.tape.effect(self.now, name, effect)
            self._own[type(effect)](actor, effect)

    def _wake_at(self, actor: Actor, effect: Effect) -> None:
        assert isinstance(effect, WakeAt)
        name = actor.name
        number = self._wakes[name] = self._wakes.get(name, 0) + 1
        if effect.at is not None:

            def due() -> None:
                if self._wakes[name] == number:
                    self._happen(name, Due())

            self.at(effect.at, due)
