"""What the master decides for all replicas of its rank, each decision known to all or to none.

Decisions have two numbers: one in their sequence, which is where the program asks for them, and
their place in the one line in which masters make them. All replicas know a first part of that line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from runtime.replicas.effects import Decided, DecisionsSettled, Tell
from runtime.replicas.limits import ReplicationError

if TYPE_CHECKING:
    from runtime.replicas.effects import Effect
    from runtime.replicas.limits import ReplicationLimits
    from runtime.replicas.roster import Roster

    Key: TypeAlias = tuple[Hashable, int]
    Made: TypeAlias = tuple[Hashable, int, Any]
    """A sequence, a number in it, and the value."""


class _Unknown(Enum):
    """The one value of `UNKNOWN`, which stays the same in copies."""

    UNKNOWN = "unknown"


UNKNOWN = _Unknown.UNKNOWN
"""The value of a decision that is not known yet."""


class Decisions:
    """The decisions of one rank, as one of its replicas knows them."""

    def __init__(self, roster: Roster, limits: ReplicationLimits) -> None:
        self._roster = roster
        self._limits = limits
        self._asked: dict[Hashable, int] = {}
        self._values: dict[Key, Any] = {}
        self._open: set[Key] = set()
        self._recent: deque[Made] = deque()
        self.made = 0
        """How many decisions are known here; the last of them are in `_recent`."""
        self.settled = 0
        """How many decisions all living replicas know; asked of a master."""
        self._used = 0
        self._known_by: dict[int, int] = dict.fromkeys(roster.twins, 0)
        self._used_by: dict[int, int] = dict.fromkeys(roster.twins, 0)
        self._waiting: deque[Made] = deque()
        self._said = (0, 0)

    # ----------------------------------------------------------------------------- the program

    def ask(self, sequence: Hashable) -> tuple[int, Any]:
        """Come to the next decision of a sequence; return its number, and its value or UNKNOWN."""
        number = self._asked.get(sequence, 0)
        self._asked[sequence] = number + 1
        value = self._values.pop((sequence, number), UNKNOWN)
        if value is UNKNOWN:
            self._open.add((sequence, number))
        else:
            self._used += 1
        return number, value

    def is_open(self, sequence: Hashable, number: int) -> bool:
        """Tell whether a decision was asked for and is not made, nor waiting to be made."""
        return (sequence, number) in self._open

    # ------------------------------------------------------------------------------ the master

    def decide(self, made: Made, *, at_once: bool) -> list[Effect]:
        """Make an open decision, or let it wait while the slowest replica is too far behind."""
        self._open.discard(made[:2])
        if at_once:
            return self._make(made)
        self._waiting.append(made)
        return self._make_those_waiting()

    def _make_those_waiting(self) -> list[Effect]:
        effects: list[Effect] = []
        while self._waiting and not self._is_too_far():
            effects += self._make(self._waiting.popleft())
        return effects

    def _make(self, made: Made) -> list[Effect]:
        word = ("decision", self.made, self.settled, *made)
        effects: list[Effect] = [Tell(twin, word) for twin in self._roster.twins]
        self._add(made)
        self._used += 1
        return [*effects, Decided(*made)]

    def _is_too_far(self) -> bool:
        slowest = min((self._used_by[twin] for twin in self._roster.twins), default=self.made)
        return self.made - slowest >= self._limits.decisions

    def _add(self, made: Made) -> None:
        self.made += 1
        if self._roster.twins:
            self._recent.append(made)
        else:
            self.settled = self.made

    def known(self, twin: int, made: int, used: int) -> list[Effect]:
        """Record how many decisions another replica knows, and how many it has used; as master."""
        self._known_by[twin], self._used_by[twin] = made, used
        return self._settle(self.settled)

    def _known_by_all(self) -> int:
        return min((self._known_by[twin] for twin in self._roster.twins), default=self.made)

    def _settle(self, before: int) -> list[Effect]:
        self.settled = self._known_by_all()
        self._forget(self.settled)
        effects: list[Effect] = [] if self.settled == before else [DecisionsSettled(self.settled)]
        return effects + self._make_those_waiting()

    def _forget(self, settled: int) -> None:
        while self._recent and self.made - len(self._recent) < settled:
            self._recent.popleft()

    # ------------------------------------------------------------------------ other processes join

    def join(self, twins: Iterable[int]) -> None:
        """Count others among the replicas; the program has asked for no decision that is open."""
        for twin in twins:
            self._known_by[twin] = self._used_by[twin] = self._used
        self.settled = self._known_by_all()

    def hand_over(self) -> tuple[tuple[Hashable, int], ...]:
        """Return how many decisions of each sequence the program has asked for."""
        return tuple(self._asked.items())

    def take_over(self, asked: Iterable[tuple[Hashable, int]]) -> None:
        """Be where another replica is, whose program has all that it has asked for."""
        self._asked = dict(asked)
        self.made = self.settled = self._used = sum(self._asked.values())
        self._said = (self.made, self._used)

    def lost(self, twin: int, *, leads: bool) -> list[Effect]:
        """Wait for no word of a replica that is dead; the roster has lost it."""
        del self._known_by[twin], self._used_by[twin]
        return self._settle(self.settled) if leads else []

    # ------------------------------------------------------------------------- other replicas

    def heard(self, place: int, settled: int, made: Made) -> list[Effect]:
        """Record a decision of the master, which has its place in the line of all."""
        self._forget(settled)
        if place < self.made:
            return []
        if place > self.made:
            raise ReplicationError(f"decision {place} has come before decision {self.made}")
        self._add(made)
        key = made[:2]
        if key not in self._open:
            self._values[key] = made[2]
            return []
        self._open.remove(key)
        self._used += 1
        return [Decided(*made)]

    def tell(self, master: int) -> list[Effect]:
        """Tell the master what is known and used here, if that is worth a word."""
        made, used = self._said
        if self.made == made and used + self._limits.decisions // 4 >= self._used:
            return []
        self._said = (self.made, self._used)
        return [Tell(master, ("known", self.made, self._used))]

    # ------------------------------------------------------------------------ change of master

    def facts(self, since: int) -> tuple[int, int, tuple[Made, ...]]:
        """Return what a new master has to know: how many are known, used, and those it lacks."""
        self._said = (self.made, self._used)
        return self.made, self._used, tuple(self._since(since))

    def _since(self, place: int) -> Iterable[Made]:
        first = self.made - len(self._recent)
        if place < first:
            raise ReplicationError(f"decision {place} is forgotten here: all should know it")
        return list(self._recent)[place - first :]

    def learn(self, twin: int, made: int, used: int, lacking: tuple[Made, ...]) -> list[Effect]:
        """Record what another replica knows, as the next master."""
        effects: list[Effect] = []
        first = made - len(lacking)
        for place, one in enumerate(lacking, first):
            effects += self.heard(place, 0, one)
        self._known_by[twin], self._used_by[twin] = made, used
        return effects

    def teach(self) -> list[Effect]:
        """Tell every other replica what it lacks, as the new master."""
        effects: list[Effect] = []
        for twin in self._roster.twins:
            first = self._known_by[twin]
            effects += [
                Tell(twin, ("decision", place, 0, *made))
                for place, made in enumerate(self._since(first), first)
            ]
        return effects + self._settle(-1)
