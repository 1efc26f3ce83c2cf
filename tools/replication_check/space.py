"""All states of a small run: every interleaving, and crashes at every step."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from runtime.replicas import ReplicationError, ReplicationLimits
from tools.replication_check.process import Numbers, Process, Processes, Program

State = tuple[int, ...]
"""The states of all processes, what is on each link, and how many crashes may still happen."""
Action = tuple[int, int, int]
"""Who does it, the packet, -1 for a crash, and how many packets are lost with it."""


@dataclass(frozen=True)
class Size:
    """A small run: program and replicas of each rank, and how many processes may die."""

    name: str
    programs: tuple[Program, ...]
    replicas: tuple[int, ...]
    crashes: int
    limits: ReplicationLimits = field(default_factory=ReplicationLimits)
    is_quick: bool = True
    """Whether it takes a few seconds only."""
    newcomers: tuple[int, ...] = ()
    """How many of the last replicas of each rank join later; the programs say when."""

    @property
    def chooses(self) -> bool:
        """Whether rank 0 decides who joins."""
        return any(operation[0] == "choose" for operation in self.programs[0])

    @property
    def ranks(self) -> tuple[tuple[int, ...], ...]:
        """The processes of each rank."""
        first, ranks = 0, []
        for count in self.replicas:
            ranks.append(tuple(range(first, first + count)))
            first += count
        return tuple(ranks)

    @property
    def first_ranks(self) -> tuple[tuple[int, ...], ...]:
        """The processes of each rank at the beginning."""
        late = self.newcomers or (0,) * len(self.replicas)
        return tuple(one[: len(one) - left] for one, left in zip(self.ranks, late, strict=True))


@dataclass
class Found:
    """What an exploration has found."""

    states: int = 1
    steps: int = 0
    ends: int = 0
    """How many states have no successor that has to come."""
    process_states: int = 0
    problem: str = ""
    trace: tuple[str, ...] = ()
    is_complete: bool = True


class Space:
    """The states of one size, and the steps between them."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.ranks = size.ranks
        self.processes = Processes()
        self.rank_of = [rank for rank, several in enumerate(self.ranks) for _ in several]
        self.count = count = len(self.rank_of)
        everybody = range(count)
        self._links = [(a, b) for a in everybody for b in everybody if a != b]
        self._place = {link: count + place for place, link in enumerate(self._links)}
        self._into = [[(a, self._place[a, me]) for a in everybody if a != me] for me in everybody]
        packets = self.processes.packets
        self._lost = [packets.of(("lost", one)) for one in everybody]
        self._lines = Numbers()
        self._lines.of(())
        self._longer: dict[tuple[int, int], int] = {}
        self.begin: State = (
            *(
                self.processes.begin(
                    me,
                    size.first_ranks,
                    size.programs[rank],
                    size.limits,
                    deciders=self.ranks[0] if size.chooses else (),
                    restarts=bool(size.newcomers),
                )
                for me, rank in enumerate(self.rank_of)
            ),
            *(0 for _ in self._links),
            size.crashes,
        )

    def successors(self, state: State) -> Iterator[tuple[Action, State]]:
        """Yield what can happen in a state, and the state after it; crashes last."""
        processes = self.processes
        for me in range(self.count):
            if not state[me]:
                continue
            for event in processes.own_events(state[me]):
                yield (me, event, 0), self._after(list(state), me, event)
            for source, place in self._into[me]:
                if state[place]:
                    yield from self._incoming(state, me, source, place)
        if state[-1]:
            for me in range(self.count):
                if self._may_crash(state, me):
                    yield (me, -1, 0), self._crash(list(state), me)

    def _incoming(
        self, state: State, me: int, source: int, place: int
    ) -> Iterator[tuple[Action, State]]:
        line, lost = self._lines.values[state[place]], self._lost[source]
        if line[0] != lost:
            shorter = list(state)
            shorter[place] = self._lines.of(line[1:])
            yield (me, line[0], 0), self._after(shorter, me, line[0])
        if line[-1] == lost:
            # What was on its way may be lost: the news of a crash comes at any moment from now on.
            emptied = list(state)
            emptied[place] = 0
            yield (me, lost, len(line) - 1), self._after(emptied, me, lost)

    def _after(self, state: list[int], me: int, packet: int) -> State:
        state[me], emitted = self.processes.react(state[me], packet)
        for to, one in emitted:
            if state[to]:
                self._append(state, self._place[me, to], one)
        return tuple(state)

    def _append(self, state: list[int], place: int, packet: int) -> None:
        key = state[place], packet
        longer = self._longer.get(key)
        if longer is None:
            longer = self._longer[key] = self._lines.of((*self._lines.values[key[0]], packet))
        state[place] = longer

    def _may_crash(self, state: State, me: int) -> bool:
        """Tell whether a process may die: not the last one that has what its rank has done."""
        several = self.ranks[self.rank_of[me]]
        return bool(state[me]) and any(
            self.processes.get(state[one]) is not None for one in several if one != me
        )

    def _crash(self, state: list[int], me: int) -> State:
        state[me] = 0
        for other, place in self._into[me]:
            state[place] = 0
            if state[other]:
                self._append(state, self._place[me, other], self._lost[me])
        state[-1] -= 1
        return tuple(state)

    def may_never_happen(self, action: Action) -> bool:
        """Tell whether nobody may wait for it: a crash, or that one can join who is slow."""
        return action[1] < 0 or action[1] == self.processes.come

    def is_quiet(self, state: State) -> bool:
        """Tell whether nothing is on any link."""
        return not any(state[self.count : -1])

    def living(self, state: State, rank: int) -> list[Process]:
        """Return the processes of a rank that live in a state."""
        several = [self.processes.get(state[one]) for one in self.ranks[rank]]
        return [process for process in several if process is not None]

    def say(self, action: Action) -> str:
        """Say what happens."""
        me, packet, left = action
        if packet < 0:
            return f"{me} crashes"
        name, *facts = self.processes.packets.values[packet]
        if name == "lost":
            return f"{me} is told that {facts[0]} is dead, and {left} packets are lost"
        return f"{me}: {name} {facts or ''}"


class Properties(Protocol):
    """What has to hold."""

    def __init__(self, space: Space) -> None:
        """Check the states of a space."""

    def problem_of(self, state: State, *, is_end: bool) -> str:
        """Return what does not hold; `is_end` if nothing has to happen in the state."""


def explore(size: Size, properties: type[Properties], *, most: int = 10**7) -> Found:
    """Visit all states, the nearest first; stop at the first problem, with the way to it."""
    space = Space(size)
    problem_of = properties(space).problem_of
    found = Found()
    way = _Way()
    queue = deque([(0, space.begin)])
    way.is_new(space.begin, 0, (0, 0, 0))
    while queue and found.is_complete:
        place, state = queue.popleft()
        is_end = True
        try:
            for action, after in space.successors(state):
                found.steps += 1
                is_end = is_end and space.may_never_happen(action)
                if way.is_new(after, place, action):
                    queue.append((len(way) - 1, after))
            found.problem = problem_of(state, is_end=is_end)
        except ReplicationError as error:
            found.problem = f"an error of the core: {error}"
        found.ends += is_end
        found.is_complete = not found.problem and len(way) <= most
        if found.problem:
            found.trace = tuple(space.say(action) for action in way.to(place))
    found.states, found.process_states = len(way), len(space.processes)
    return found


class _Way:
    """The states that were visited, and how each was reached, in little memory."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._before = array("I")
        self._actions = array("i")

    def is_new(self, state: State, before: int, action: Action) -> bool:
        """Record a state that follows another one; False if it was visited."""
        key = array("I", state).tobytes()
        if key in self._places:
            return False
        self._places[key] = len(self._places)
        self._before.append(before)
        self._actions.extend(action)
        return True

    def to(self, place: int) -> list[Action]:
        """Return what has happened before a state."""
        way = []
        while place:
            me, packet, left = self._actions[3 * place : 3 * place + 3]
            way.append((me, packet, left))
            place = self._before[place]
        return way[::-1]

    def __len__(self) -> int:
        """Return how many states were visited."""
        return len(self._places)
