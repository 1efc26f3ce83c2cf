"""Detectors in a world without sockets: messages take time, get lost, and members die or freeze.

The detectors are those of the machine. Time is a number and chance is handed in, so a world runs
the same way each time, and as fast as the processor can.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from runtime.health import Declare, Effect, Expelled, Message, Send


class AnyDetector(Protocol):
    """What every detector can do."""

    @property
    def next_time(self) -> float:
        """When `advance` has to be called."""

    def advance(self, now: float) -> list[Effect]:
        """Do what is due."""

    def receive(self, message: Message, now: float) -> list[Effect]:
        """Take a message."""

    def gone(self, member: str, why: str, now: float) -> list[Effect]:
        """Record as certain that a member has ended."""

    def is_dead(self, member: str) -> bool:
        """Tell whether a member has been declared dead."""


@dataclass
class _Member:
    detector: AnyDetector
    is_dead: bool = False
    is_frozen: bool = False
    kept: list[Message] = field(default_factory=list)
    timer: float = 0.0


class World:
    """Members with a network between them.

    `latency` returns how long one message takes, `loss` is how many of them get lost. `seen` gets
    everything that a member does but for what it sends.
    """

    def __init__(
        self,
        detectors: Mapping[str, AnyDetector],
        *,
        random: Random,
        latency: Callable[[Random], float] = lambda random: random.uniform(0.001, 0.02),
        loss: float = 0.0,
        seen: Callable[[float, str, Effect], None] = lambda *_: None,
    ) -> None:
        self.now = 0.0
        self.messages = 0
        self.lost = 0
        self.loss = loss
        self._random = random
        self._latency = latency
        self._seen = seen
        self._members = {name: _Member(one) for name, one in detectors.items()}
        self._cut: set[tuple[str, str]] = set()
        self._events: list[tuple[float, int, _Member, str, Message | None]] = []
        self._serial = 0
        for name in detectors:
            self._set_timer(name, self._members[name])

    # --- what befalls members -------------------------------------------------------------------

    def kill(self, *names: str) -> None:
        """Let members vanish without a word."""
        for name in names:
            self._members[name].is_dead = True

    def freeze(self, *names: str) -> None:
        """Stop members; what is sent to them waits."""
        for name in names:
            self._members[name].is_frozen = True

    def thaw(self, *names: str) -> None:
        """Let members go on."""
        for name in names:
            member = self._members[name]
            member.is_frozen = False
            kept, member.kept = member.kept, []
            self._advance(name, member)
            for message in kept:
                self._receive(name, member, message)

    def restart(self, name: str, detector: AnyDetector) -> None:
        """Put a new process in the place of a member."""
        member = self._members[name] = _Member(detector)
        self._set_timer(name, member)

    def cut(self, source: str, target: str) -> None:
        """Lose everything from one member to another, in this direction only."""
        self._cut.add((source, target))

    def cut_off(self, name: str) -> None:
        """Lose everything to and from a member."""
        for other in self._members:
            self._cut |= {(name, other), (other, name)}

    def heal(self) -> None:
        """Let all messages through again."""
        self._cut.clear()

    def close(self, name: str, why: str, *watchers: str) -> None:
        """Kill a member, and let watchers see its connection end."""
        self.kill(name)
        for watcher in watchers:
            detector = self._members[watcher].detector
            self._act(watcher, detector.gone(name, why, self.now))

    # --- asking ---------------------------------------------------------------------------------

    @property
    def living(self) -> list[str]:
        """The members that run."""
        return [name for name, one in self._members.items() if not one.is_dead]

    def knows_dead(self, watcher: str, member: str) -> bool:
        """Tell whether a member has declared another one dead."""
        return self._members[watcher].detector.is_dead(member)

    def detector(self, name: str) -> AnyDetector:
        """Return the detector of a member."""
        return self._members[name].detector

    # --- running --------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.run_until(lambda: False, self.now + seconds)

    def run_until(self, is_done: Callable[[], bool], deadline: float) -> bool:
        """Let time pass until something holds or the deadline; tell whether it holds."""
        events = self._events
        while events and events[0][0] <= deadline:
            if is_done():
                return True
            when, _, member, name, message = heapq.heappop(events)
            self.now = when
            if message is None:
                self._tick(name, member)
            elif not member.is_dead:
                self._receive(name, member, message)
        self.now = max(self.now, deadline)
        return is_done()

    def _tick(self, name: str, member: _Member) -> None:
        if not member.is_dead and not member.is_frozen and self._members[name] is member:
            self._advance(name, member)

    def _advance(self, name: str, member: _Member) -> None:
        self._act(name, member.detector.advance(self.now))
        self._set_timer(name, member)

    def _receive(self, name: str, member: _Member, message: Message) -> None:
        if member.is_frozen:
            member.kept.append(message)
        else:
            self._act(name, member.detector.receive(message, self.now))

    def _set_timer(self, name: str, member: _Member) -> None:
        when = member.detector.next_time
        if when != member.timer and when < float("inf"):
            member.timer = when
            self._push(when, member, name, None)

    def _act(self, name: str, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._send(name, effect)
                continue
            self._seen(self.now, name, effect)
            if isinstance(effect, Expelled):
                self.kill(name)

    def _send(self, source: str, effect: Send) -> None:
        self.messages += 1
        target = self._members[effect.to]
        if (source, effect.to) in self._cut or (self.loss and self._random.random() < self.loss):
            self.lost += 1
        elif not target.is_dead:
            self._push(self.now + self._latency(self._random), target, effect.to, effect.message)

    def _push(self, when: float, member: _Member, name: str, message: Message | None) -> None:
        self._serial += 1
        heapq.heappush(self._events, (when, self._serial, member, name, message))


def deaths(seen: Iterable[tuple[float, str, Effect]], member: str) -> dict[str, float]:
    """Return when each watcher declared a member dead.

    >>> deaths([(3.0, "a", Declare("b", 0, "silent"))], "b")
    {'a': 3.0}
    """
    return {
        watcher: when
        for when, watcher, effect in seen
        if isinstance(effect, Declare) and effect.member == member
    }
