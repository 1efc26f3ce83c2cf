"""Accesses to one memory that conflict: MPI does not say what is there after them.

That is so where two accesses have bytes in common, one of them puts, or one reduces and the other
only reads, and nothing lies between them: no fence, no end of an epoch, no flush. Reductions fit
each other. A request that is answered is over once its origin has waited for it, which the target
does not see; so reads are kept in the epochs of fences and groups alone, where nobody can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gcm.records import dataclass
from runtime.windows.requests import RequestHeader, RequestKind
from runtime.windows.runs import Run, bounds_of

MOST_KEPT = 4096
"""So many accesses of an epoch are compared with what comes later: each costs a step."""

_VERBS = {
    RequestKind.PUT: "puts",
    RequestKind.GET: "gets",
    RequestKind.ACCUMULATE: "reduces",
    RequestKind.GET_ACCUMULATE: "gets and reduces",
    RequestKind.COMPARE_AND_SWAP: "compares and swaps",
}


@dataclass(frozen=True, slots=True)
class NotedAccess:
    """An access that has come, with its bytes as runs of the memory."""

    source: int
    kind: RequestKind
    epoch: int
    runs: Sequence[Run]

    @property
    def verb(self) -> str:
        """What it does, as one says of a rank."""
        return _VERBS[self.kind]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that conflict, and the first and the last byte that they have in common."""

    first: NotedAccess
    second: NotedAccess
    low: int
    high: int


class AccessLedger:
    """The accesses to a memory that are not over, and the conflicts that were found."""

    def __init__(self) -> None:
        self._kept: list[NotedAccess] = []
        self._found: list[Conflict] = []
        self._told: set[tuple[int, int, int, int]] = set()

    def note(self, source: int, header: RequestHeader, runs: Sequence[Run]) -> None:
        """Compare an access with those that are not over, and keep it until it is."""
        placed = tuple(one.moved(header.start) for one in runs)
        made = NotedAccess(source, RequestKind(header.kind), header.epoch, placed)
        for one in self._kept:
            if one.epoch == made.epoch and _may_conflict(one, made):
                common = _common(one.runs, made.runs)
                if common is not None:
                    self._keep(Conflict(one, made, *common))
        is_read = made.kind is RequestKind.GET
        is_kept = made.kind in (RequestKind.PUT, RequestKind.ACCUMULATE)
        if (is_kept or (is_read and header.operation)) and len(self._kept) < MOST_KEPT:
            self._kept.append(made)

    def _keep(self, conflict: Conflict) -> None:
        """Keep a conflict, once for two processes that do the same in one epoch."""
        first, second = conflict.first, conflict.second
        key = (min(first.source, second.source), max(first.source, second.source),
               min(first.kind, second.kind), first.epoch)  # fmt: skip
        if key not in self._told:
            self._told.add(key)
            self._found.append(conflict)

    def over(self, sources: Iterable[int]) -> None:
        """Know that all accesses of some processes are over: flushed, or their epoch has ended."""
        gone = frozenset(sources)
        self._kept = [one for one in self._kept if one.source not in gone]

    def fenced(self, epoch: int) -> None:
        """Know that the epoch between two fences is over."""
        self._kept = [one for one in self._kept if one.epoch > epoch]

    def take(self, epoch: int) -> list[Conflict]:
        """Return the conflicts that were found in an epoch, or before it, since the last time.

        Others may be in the next one already.
        """
        found = [one for one in self._found if one.first.epoch <= epoch]
        self._found = [one for one in self._found if one.first.epoch > epoch]
        return found


def _may_conflict(one: NotedAccess, other: NotedAccess) -> bool:
    kinds = {one.kind, other.kind}
    if RequestKind.PUT in kinds:
        return True
    return RequestKind.GET in kinds and len(kinds) > 1 and one.source != other.source


def _common(some: Sequence[Run], others: Sequence[Run]) -> tuple[int, int] | None:
    """Return the first and the last byte that two places share; None if there is none."""
    low, high = max(bounds_of(some)[0], bounds_of(others)[0]), 0
    high = min(bounds_of(some)[1], bounds_of(others)[1])
    if low >= high:
        return None
    mine, theirs = _blocks(some, low, high), _blocks(others, low, high)
    shared = []
    at = to = 0
    while at < len(mine) and to < len(theirs):
        begin, end = max(mine[at][0], theirs[to][0]), min(mine[at][1], theirs[to][1])
        if begin < end:
            shared += [begin, end - 1]
        if mine[at][1] < theirs[to][1]:
            at += 1
        else:
            to += 1
    return (min(shared), max(shared)) if shared else None


def _blocks(runs: Sequence[Run], low: int, high: int) -> list[tuple[int, int]]:
    """Return the blocks of runs that lie between two places, in their order in memory."""
    found = []
    for start, length, stride, times in runs:
        for place in range(times):
            begin = start + stride * place
            if begin < high and begin + length > low:
                found.append((begin, begin + length))
    return sorted(found)
