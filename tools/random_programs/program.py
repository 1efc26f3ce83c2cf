"""A program as data: events in one total order, each with the steps of the ranks that take part.

A *unit* is what only makes sense together: a message with its sending, receiving and waiting, a
collective operation, the making of a communicator. `without` leaves units out, and those that need
them; what remains is a valid program again.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from typing import Any

Step = dict[str, Any]
"""One thing that one rank does: `op` says what, the other entries how."""

Groups = list[list[int]]
"""The members of a communicator as ranks of the world; an intercommunicator has two groups."""


@dataclass
class Event:
    """What some ranks do at one place of the total order; each has its own steps."""

    unit: str
    steps: dict[int, list[Step]]
    needs: list[str] = field(default_factory=list)


@dataclass
class Program:
    """A whole program; `messages` tells of each message what both ends agree on."""

    seed: int
    size: int
    events: list[Event] = field(default_factory=list)
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    communicators: dict[str, Groups] = field(default_factory=dict)

    def of_rank(self, rank: int) -> list[tuple[int, Step]]:
        """Return the steps of one rank in their order, each with the number of its event."""
        return [
            (number, step)
            for number, event in enumerate(self.events)
            for step in event.steps.get(rank, [])
        ]

    def units(self) -> list[str]:
        """Return the names of all units, in the order in which they begin."""
        return list(dict.fromkeys(event.unit for event in self.events if event.unit))

    def without(self, units: Collection[str]) -> Program:
        """Return the program without these units and all that needs them."""
        gone = set(units)
        for event in self.events:
            if gone.intersection(event.needs):
                gone.add(event.unit)
        events = [replace(event, steps=_thinned(event, gone)) for event in self.events]
        left = [event for event in events if event.unit not in gone and event.steps]
        return replace(self, events=left)

    def to_json(self) -> str:
        """Write the program down."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Program:
        """Read what `to_json` wrote."""
        found = json.loads(text)
        found["events"] = [
            Event(
                one["unit"],
                {int(rank): steps for rank, steps in one["steps"].items()},
                one["needs"],
            )
            for one in found["events"]
        ]
        return cls(**found)


def unit_of(name: str) -> str:
    """Return the unit that a message or a request belongs to: its name begins with it."""
    return name.partition(":")[0]


def _thinned(event: Event, gone: Collection[str]) -> dict[int, list[Step]]:
    """Return the steps of an event without waiting for what is gone."""
    left: dict[int, list[Step]] = {}
    for rank, steps in event.steps.items():
        kept = []
        for step in steps:
            if step["op"] != "complete":
                kept.append(step)
                continue
            requests = [name for name in step["requests"] if unit_of(name) not in gone]
            if requests:
                kept.append({**step, "requests": requests})
        if kept:
            left[rank] = kept
    return left
