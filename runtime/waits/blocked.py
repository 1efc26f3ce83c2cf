"""Finds the ranks that are stuck whatever the others do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from runtime import calls
from runtime.machine.rank_states import (
    COLLECTIVE,
    RECEIVE,
    SEND,
    UNKNOWN,
    KnownCommunicator,
    Part,
    RankState,
    Wait,
)
from runtime.rank_name import RankName

_OPPOSITE = {RECEIVE: SEND, SEND: RECEIVE}

_SYNCHRONISING = {
    name
    for name, call in calls.of_kind("collective", "copy", "make", how=(calls.BLOCKING,)).items()
    if call.has("meets")
}
"""Collectives that no member can leave before all have entered them."""


class Picture:
    """The state of all ranks at one moment: the reports of those that run, and how others ended.

    `ended` says in words how; `last` are the last reports of those that ended, where there are any.
    A rank without a report is assumed to be able to do anything.
    """

    def __init__(
        self,
        states: Mapping[str, RankState],
        ended: Mapping[str, str],
        last: Mapping[str, RankState] | None = None,
    ) -> None:
        self.states = states
        self.ended = ended
        self._last = last or {}
        self._absent: dict[tuple[KnownCommunicator, int | None], list[str]] = {}
        self._collectives: dict[KnownCommunicator, list[tuple[str, Wait]]] = {}
        self.blocked: set[str] = set()
        """The ranks that are stuck."""
        self._find_blocked()

    def _find_blocked(self) -> None:
        """Assume that all waiting ranks are stuck, and release those that others may release."""
        self.blocked = {
            rank for rank, one in self.states.items() if one.waits and not one.may_act
        } - set(self.ended)
        is_changing = True
        while is_changing:
            released = {
                rank
                for rank in self.blocked
                if any(self.can_end(rank, one) for one in self.states[rank].waits)
            }
            self.blocked -= released
            is_changing = bool(released)

    def can_end(self, rank: str, wait: Wait) -> bool:
        """Return whether a call of a rank may complete."""
        ends = (self.can_be_done(rank, wait, part) for part in wait.parts)
        return all(ends) if wait.needs_all else any(ends)

    def can_be_done(self, rank: str, wait: Wait, part: Part) -> bool:
        """Return whether one part of a call may complete."""
        if part.kind == COLLECTIVE:
            return not _is_counted(wait) or (
                self.mismatch(rank, wait) is None
                and all(map(self._can_act, self.absent(rank, wait)))
            )
        return any(
            self._can_act(other) or self._is_meeting(other, rank, wait, part)
            for other in self.partners(rank, wait, part)
        )

    def partners(self, rank: str, wait: Wait, part: Part) -> Iterator[str]:
        """Yield the ranks that may be the other end of a message, including ended ones."""
        if part.peer:
            yield part.peer
            return
        known: Iterable[str] = wait.comm.ranks
        if part.kind == UNKNOWN or not known:  # native MPI handles it, and knows this cluster only
            cluster = RankName.parse(rank).cluster
            everybody = {*self.states, *self.ended}
            known = [one for one in everybody if RankName.parse(one).cluster == cluster]
        yield from (one for one in known if one != rank)

    def absent(self, rank: str, wait: Wait) -> list[str]:
        """Return the members that a collective needs and that are not in it."""
        key = wait.comm, wait.turn
        if key not in self._absent:
            self._absent[key] = [one for one in wait.comm.ranks if not self._has_entered(one, wait)]
        return [one for one in self._absent[key] if one != rank]

    def mismatch(self, rank: str, wait: Wait) -> tuple[str, Wait] | None:
        """Return a member that is in a different collective of the same communicator."""
        for other, theirs in self._calls_on(wait.comm) if _is_counted(wait) else ():
            is_other = (made_by(theirs), theirs.root) != (made_by(wait), wait.root)
            if other != rank and is_other and _is_counted(theirs) and _is_same_turn(wait, theirs):
                return other, theirs
        return None

    def _calls_on(self, comm: KnownCommunicator) -> list[tuple[str, Wait]]:
        """Return the different collectives that members are in, with one member for each."""
        if comm not in self._collectives:
            found: dict[tuple[str, str, int | None, str], tuple[str, Wait]] = {}
            for other in comm.ranks:
                for one in self._waits_of(other):
                    if one.is_collective:
                        call = made_by(one), one.root, one.turn, one.comm.id
                        found.setdefault(call, (other, one))
            self._collectives[comm] = list(found.values())
        return self._collectives[comm]

    def _has_entered(self, rank: str, wait: Wait) -> bool:
        state = self.states.get(rank) or self._last.get(rank)
        if wait.turn is not None:
            if state is None:  # it cannot be asked any more, and may have done its part
                return rank in self.ended
            return state.turn(wait.comm.id) >= wait.turn
        return any(
            theirs.is_collective and theirs.comm.is_like(wait.comm)
            for theirs in self._waits_of(rank)
        )

    def _waits_of(self, rank: str) -> tuple[Wait, ...]:
        state = self.states.get(rank)
        return () if state is None or rank in self.ended else state.waits

    def _can_act(self, rank: str) -> bool:
        return rank not in self.ended and rank not in self.blocked

    def _is_meeting(self, other: str, rank: str, wait: Wait, part: Part) -> bool:
        """Return whether the other end waits for this one: the message is under way."""
        return any(
            theirs.kind == _OPPOSITE.get(part.kind)
            and theirs.peer in ("", rank)
            and one.comm.is_like(wait.comm)
            and theirs.is_tag_known
            and part.fits(theirs.tag)
            for one in self._waits_of(other)
            for theirs in one.parts
        )


def _is_counted(wait: Wait) -> bool:
    """Return whether members outside a collective cannot have done their part already.

    Native MPI does not tell how many collectives a member has begun, so for those in which members
    do not wait for each other nothing is known, unless there are only two members.
    """
    if wait.turn is not None:
        return True
    return len(wait.comm.ranks) == 2 or (bool(wait.comm.ranks) and wait.call in _SYNCHRONISING)


def made_by(wait: Wait) -> str:
    """Return the name of a collective; but for barriers those of objects are others."""
    return "Barrier" if wait.call == "barrier" else wait.call


def _is_same_turn(wait: Wait, other: Wait) -> bool:
    if not wait.comm.id or wait.comm.id != other.comm.id:
        return False
    return wait.turn is None or other.turn is None or wait.turn == other.turn
