"""A program while it grows: its events so far, and what is still on its way in it.

Why no program of ours can hang. All events stand in one total order, and each rank does its own in
that order. A step waits only for steps of the same event or of earlier ones: a blocking receive
comes with or after its sending, a blocking sending with or after its receive, and a request is
waited for after both. So the first event that is not over can always go on.

Why none has two results. Which receive gets which message follows from the order at the sender and
the order at the receiver alone, as long as a receive names its source; the draft follows MPI's
rules to know. Receives from any source have a tag of their own, or nothing else is on its way and a
barrier follows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any

from runtime.calls import OF_REQUESTS, of_kind
from tools.random_programs.program import Event, Program, Step

_OF_SEVERAL = [
    name
    for name, one in of_kind("wait", "test", of=OF_REQUESTS).items()
    if one.is_of_class and not one.takes_objects
]


@dataclass
class Waiting:
    """A message of which only one end has begun."""

    name: str
    message: dict[str, Any]
    any_tag: bool = False  # of a receive


@dataclass
class Channel:
    """Two persistent requests, one at each end, used for one message after the other."""

    name: str
    message: dict[str, Any]
    busy: set[str] = field(default_factory=set)
    used: int = 0


Way = tuple[str, int, int]
"""A communicator, the sender and the receiver, both as ranks of the world."""


class Draft:
    """Adds events to a program and keeps the books."""

    def __init__(self, program: Program, dice: Random, budget: int) -> None:
        self.program = program
        self.dice = dice
        self.budget = budget
        self.made_by: dict[str, str] = {"world": ""}
        self.sent: dict[Way, list[Waiting]] = defaultdict(list)
        self.expected: dict[Way, list[Waiting]] = defaultdict(list)
        self.requests: dict[int, list[str]] = {rank: [] for rank in range(program.size)}
        self.begun: dict[int, list[str]] = {rank: [] for rank in range(program.size)}
        self.channels: dict[Way, list[Channel]] = defaultdict(list)
        self.neighbours: dict[str, dict[str, list[list[int]]]] = {}
        self.bsends = 0
        self._units = 0
        self._tags = 1000

    def unit(self) -> str:
        """Return the name of a new unit."""
        self._units += 1
        return f"u{self._units}"

    def own_tag(self) -> int:
        """Return a tag that nothing else has."""
        self._tags += 1
        return self._tags

    def seed(self) -> int:
        """Return a number for the contents of a message."""
        return self.dice.randrange(1 << 30)

    def size(self) -> int:
        """Return a number of bytes: mostly small, sometimes none, seldom some MiB."""
        choice = self.dice.random()
        if choice < 0.08:
            size = 0
        elif choice < 0.75:
            size = self.dice.randint(1, 400)
        elif choice < 0.97:
            size = int(2 ** self.dice.uniform(9, 17))
        else:
            size = int(2 ** self.dice.uniform(17, 22))
        if size > self.budget:
            return 16
        self.budget -= size
        return size

    def add(self, unit: str, comm: str, steps: dict[int, list[Step]], *needs: str) -> None:
        """Append an event; it needs what made its communicator."""
        named = [name for name in (self.made_by[comm], *needs) if name]
        self.program.events.append(Event(unit, steps, named))

    def comms(self, kind: str = "") -> list[str]:
        """Return the communicators there are: all, those of one group, or those of two."""
        groups = self.program.communicators
        return [
            name
            for name, found in groups.items()
            if not kind or len(found) == (2 if kind == "inter" else 1)
        ]

    def members(self, comm: str) -> list[int]:
        """Return the processes of a communicator, those of both groups."""
        return [rank for group in self.program.communicators[comm] for rank in group]

    def would_be_stolen(self, way: Way) -> bool:
        """Tell whether a pending receive takes whatever comes this way next."""
        return any(one.any_tag for one in self.expected[way])

    def complete(self, rank: int, requests: list[str]) -> None:
        """Let a rank wait for some of its requests, of which both ends have begun."""
        how = self.dice.choice(["each", *_OF_SEVERAL])
        for name in requests:
            self.requests[rank].remove(name)
        step: Step = {"op": "complete", "how": how, "requests": requests}
        self.program.events.append(Event("", {rank: [step]}))
        for channels in self.channels.values():
            for channel in channels:
                channel.busy.difference_update(requests)

    def both_have_begun(self, message: str) -> None:
        """Note that the requests of a message may be waited for from now on."""
        for rank, names in self.begun.items():
            for name in [one for one in names if one.rpartition(":")[0] == message]:
                names.remove(name)
                self.requests[rank].append(name)
