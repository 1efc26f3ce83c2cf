"""One process: a small program and the replication core under it, as values.

A program is a tuple of operations:

- `("send", to, tag)` sends what the program has seen so far;
- `("receive", source, tag)` waits for a message; without a tag, for the next one of that rank;
- `("any", tag)` waits for a message from any rank, which is a decision;
- `("test", source, tag)` looks whether a message is there, and takes it; that is a decision too;
- `("join", (process, rank), ...)` lets processes join, which go on behind this place. All programs
  have it, and each has received there what the others have sent before it;
- `("choose", (process, rank), ...)` finds which of these wait to join, which is a decision; then
  `("join",)` lets those join, in all programs that have seen it.

What the program has seen is in `seen`. Since it is in what the program sends, replicas that have
seen different things cannot send the same message.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from runtime.replicas import (
    UNKNOWN,
    Decided,
    Deliver,
    Drop,
    Effect,
    Keep,
    Replication,
    ReplicationLimits,
    Tell,
    Transmit,
)

Operation = tuple[Any, ...]
Program = tuple[Operation, ...]
Packet = tuple[Any, ...]
Emitted = tuple[tuple[int, int], ...]


@dataclass
class Newcomer:
    """A process that has not joined yet: what comes meanwhile is for afterwards."""

    me: int
    program: Program
    limits: ReplicationLimits
    waits: bool
    """Whether its program has come to the place at which it can join."""
    deciders: tuple[int, ...]
    """Who decides which processes join."""
    later: tuple[Packet, ...] = ()

    def react(self, event: Packet) -> tuple[Process | Newcomer, list[tuple[int, Packet]]]:
        """Let something happen to it; return what it is then, and what it puts on which link."""
        name, *facts = event
        if name == "come":
            self.waits = True
            told = Replication.wait([one for one in self.deciders if one != self.me])
            out = [(one.to, ("word", self.me, one.word)) for one in told if isinstance(one, Tell)]
            return self, out
        if name != "state" or not self.waits:
            self.later += (event,)
            return self, []
        handed, at, seen = facts
        core = Replication.take_over(self.me, handed, self.limits)
        process = Process(core, self.program, at, seen, has_taken_over=True)
        out = []
        for one in self.later:
            out += process.react(one)
        return process, out


@dataclass
class Process:
    """A process that runs a program; `react` changes it and says what it puts on which link."""

    core: Replication
    program: Program
    at: int = 0
    """The operation at which the program is."""
    seen: tuple[Any, ...] = ()
    mailbox: tuple[tuple[int, int, Any], ...] = ()
    """What was delivered and not received: source, tag and content, in order of delivery."""
    waits_for: Any = None
    """The message whose sending the program waits for."""
    asked: tuple[Hashable, int] | None = None
    """The decision the program waits for."""
    decided: Any = UNKNOWN
    delivered: dict[Any, int] = field(default_factory=dict)
    """How often each message was delivered."""
    has_taken_over: bool = False
    """Whether it has joined instead of beginning."""

    @property
    def has_ended(self) -> bool:
        """Whether the program has come to its end."""
        return self.at == len(self.program)

    def react(self, event: Packet) -> list[tuple[int, Packet]]:
        """Let something happen to it."""
        out: list[tuple[int, Packet]] = []
        name, *facts = event
        if name == "step":
            self._step(out)
        elif name == "lost":
            self._do(self.core.lost(*facts), out)
        elif name == "data":
            self._arrive(out, *facts)
        elif name == "word":
            self._do(self.core.hear(*facts), out)
        elif name == "acknowledge":
            self._do(self.core.acknowledge(), out)
        if not self.can_step():
            self._do(self.core.answer(), out)
        return out

    def can_step(self) -> bool:
        """Tell whether the program can go on."""
        if self.has_ended or self.waits_for is not None:
            return False
        name, *facts = self.program[self.at]
        if name == "send":
            return True
        if name == "receive":
            return self._first(*facts) is not None
        if name == "join":
            return self.core.may_hand_over
        if self.asked is None:
            return True
        if self.decided is UNKNOWN:
            return (
                self.core.leads
                and self._is_open()
                and (name in ("test", "choose") or self._first(None, *facts) is not None)
            )
        if name == "choose":
            return True
        return self.decided is False or self._first(self._source(), facts[-1]) is not None

    # --------------------------------------------------------------------------------- the program

    def _step(self, out: list[tuple[int, Packet]]) -> None:
        name, *facts = self.program[self.at]
        if name == "send":
            to, tag = facts
            content = (self.at, self.seen)
            rank = self.core._roster.rank
            self.waits_for = content
            stream = (("world", self.core.epoch), rank, to, tag)
            _, effects = self.core.send(stream, content, 100)
            self.at += 1
            self._do(effects, out)
        elif name == "join":
            self.at += 1
            self._let_join(facts or self._chosen(), out)
        elif name == "receive":
            self._take(*facts)
        elif self.asked is None:
            number, self.decided = self.core.ask(name)
            self.asked = (name, number)
        elif name == "choose":
            if self.decided is UNKNOWN:
                self._do(self.core.decide(*self.asked, self._ready(facts)), out)
            else:
                self.seen += (("chosen", self.decided),)
                self._next()
        elif self.decided is UNKNOWN:
            tag = facts[-1]
            first = self._first(facts[0] if name == "test" else None, tag)
            value: Any = first is not None if name == "test" else self.mailbox[first or 0][0]
            self._do(self.core.decide(*self.asked, value), out)
        elif self.decided is False:
            self.seen += ("no",)
            self._next()
        else:
            self._take(self._source(), facts[-1])

    def _let_join(self, newcomers: list[tuple[int, int]], out: list[tuple[int, Packet]]) -> None:
        if newcomers:
            self._do(self.core.join(newcomers), out)
        for process, rank in newcomers:
            if rank == self.core._roster.rank:
                out.append((process, ("state", self.core.hand_over(), self.at, self.seen)))

    def _ready(self, newcomers: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        return tuple(one for one in newcomers if one[0] in self.core.ready)

    def _chosen(self) -> list[tuple[int, int]]:
        """Return who joins, as this program has decided, or was told in the last message."""
        seen = self.seen
        while seen[-1][0] != "chosen":
            _, _, (_, seen) = seen[-1]
        return list(seen[-1][1])

    def _arrive(
        self, out: list[tuple[int, Packet]], process: int, stream: Any, number: int, content: Any
    ) -> None:
        if self.has_taken_over and stream[0][1] < self.core.epoch:
            self._do(self.core.discard(process, 100), out)
        else:
            self._do(self.core.arrive(process, stream, number, content), out)

    def _source(self) -> int:
        name, *facts = self.program[self.at]
        source: int = facts[0] if name == "test" else self.decided
        return source

    def _is_open(self) -> bool:
        return self.asked is not None and self.core.is_open(*self.asked)

    def _first(self, source: int | None, tag: int) -> int | None:
        for place, (sender, its_tag, _) in enumerate(self.mailbox):
            if source in (None, sender) and tag in (None, its_tag):
                return place
        return None

    def _take(self, source: int, tag: int) -> None:
        place = self._first(source, tag)
        assert place is not None
        sender, _, content = self.mailbox[place]
        self.mailbox = self.mailbox[:place] + self.mailbox[place + 1 :]
        self.seen += ((sender, tag, content),)
        self._next()

    def _next(self) -> None:
        self.at += 1
        self.asked, self.decided = None, UNKNOWN

    # ------------------------------------------------------------------------------------- effects

    def _do(self, effects: list[Effect], out: list[tuple[int, Packet]]) -> None:
        me = self.core._roster.me
        for effect in effects:
            if isinstance(effect, Tell):
                out.append((effect.to, ("word", me, effect.word)))
            elif isinstance(effect, Transmit):
                content = (me, effect.stream, effect.number, effect.message)
                out.append((effect.to, ("data", *content)))
            if isinstance(effect, Transmit | Keep | Drop) and effect.message == self.waits_for:
                self.waits_for = None
            elif isinstance(effect, Deliver):
                _, source, _, tag = effect.stream
                self.mailbox += ((source, tag, effect.message),)
                key = (effect.stream, effect.number)
                self.delivered[key] = self.delivered.get(key, 0) + 1
            elif isinstance(effect, Decided):
                assert self.asked == (effect.sequence, effect.number)
                self.decided = effect.value


class Numbers:
    """Values with a number for each, so that what is made of many is quick to compare."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.values: list[Any] = []

    def of(self, value: Any, key: Hashable = None) -> int:
        """Return the number of a value; its `key` is what it is compared by."""
        key = value if key is None else key
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.values)
            self.values.append(value)
        return number


class Processes:
    """All states in which processes have been, and all packets they have sent, by number.

    What a process does depends on its own state alone. So each step is computed once, however
    many states of the whole it is part of. Number 0 is a process that is dead.
    """

    def __init__(self) -> None:
        self.packets = Numbers()
        self.step = self.packets.of(("step",))
        self.come = self.packets.of(("come",))
        self.acknowledge = self.packets.of(("acknowledge",))
        self._states = Numbers()
        self._states.of(None, "dead")
        self._follows: dict[tuple[int, int], tuple[int, Emitted]] = {}
        self._own_events: dict[int, tuple[int, ...]] = {0: ()}

    def begin(
        self,
        me: int,
        ranks: tuple[tuple[int, ...], ...],
        program: Program,
        limits: ReplicationLimits,
        *,
        deciders: tuple[int, ...],
        restarts: bool,
    ) -> int:
        """Return the number of a process that has not begun; it joins later if it is in no rank.

        If `deciders` choose who joins, it has to come to the place before at which it can.
        """
        if not any(me in several for several in ranks):
            return self._number(Newcomer(me, program, limits, not deciders, deciders))
        return self._number(Process(Replication(me, ranks, limits, restarts=restarts), program))

    def react(self, state: int, packet: int) -> tuple[int, Emitted]:
        """Return the state after an event, and the numbers of what was put on links."""
        known = self._follows.get((state, packet))
        if known is None:
            process = copy.deepcopy(self._states.values[state])
            event = self.packets.values[packet]
            if isinstance(process, Newcomer):
                process, out = process.react(event)
            else:
                out = process.react(event)
            emitted = tuple((to, self.packets.of(one)) for to, one in out)
            known = self._follows[state, packet] = self._number(process), emitted
        return known

    def own_events(self, state: int) -> tuple[int, ...]:
        """Return what a process can do by itself; nothing if it is dead."""
        known = self._own_events.get(state)
        if known is None:
            process = self._states.values[state]
            if isinstance(process, Newcomer):
                return () if process.waits else (self.come,)
            steps = (self.step,) if process.can_step() else ()
            words = (self.acknowledge,) if process.core.has_to_acknowledge else ()
            known = self._own_events[state] = steps + words
        return known

    def get(self, state: int) -> Process | None:
        """Return the process in a state; None if it is dead or has not joined."""
        process: Process | Newcomer | None = self._states.values[state]
        return None if isinstance(process, Newcomer) else process

    def __len__(self) -> int:
        """Return in how many states processes have been."""
        return len(self._states.values)

    def _number(self, process: Process | Newcomer) -> int:
        return self._states.of(process, frozen_form(process))


def frozen_form(value: Any) -> Hashable:
    """Return a value that is equal for equal states, and can be a key."""
    if isinstance(value, dict):
        return ("dict", *((key, frozen_form(one)) for key, one in value.items()))
    if isinstance(value, set | frozenset):
        return ("set", *sorted(value, key=repr))
    if isinstance(value, list | tuple) or type(value).__name__ == "deque":
        return tuple(frozen_form(one) for one in value)
    if value is UNKNOWN:
        return "unknown"
    slots = getattr(type(value), "__slots__", None)
    if slots is not None and type(value).__module__.startswith("runtime."):
        return tuple(frozen_form(getattr(value, name)) for name in slots)
    if hasattr(value, "__dict__") and not isinstance(value, Callable):  # type: ignore[arg-type]
        return tuple(frozen_form(one) for one in vars(value).values())
    return value  # type: ignore[no-any-return]
