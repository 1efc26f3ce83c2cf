"""What failed in a run, and what of it came first: decided by facts, in whatever order they come.

A rank of which a neighbour is gone fails as well, and its end may be known earlier than that of
the neighbour. So nothing is decided before the end of the run, and then nobody is blamed who only
missed another one that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from gcm.records import dataclass
from runtime.exit_codes import OUTPUT_FAILED
from runtime.machine.deaths import BY_REQUEST, FROM_OUTSIDE, RankDeath, Witness
from runtime.rank_name import RankName

THE_ASSEMBLY = "the assembly"
"""What messages call the user's components as a whole."""


@dataclass(frozen=True, slots=True)
class PartFailure:
    """Something failed that is no rank, such as the `mpiexec` of a cluster."""

    who: str
    code: int
    why: str = ""


Failure = RankDeath | PartFailure
"""What may be the first cause of all others."""

Failed = RankName | str
"""What fails: a rank, or else a cluster, a step, or the assembly, by its name."""


@dataclass(slots=True)
class Failures:
    """All that is known of failures in a run."""

    _known: dict[Failed, Failure] = field(default_factory=dict)
    stopped: str = ""
    """What did not end by itself after that, and was stopped."""
    survived: dict[Failed, Failure] = field(default_factory=dict)
    """What was lost while the program goes on without it."""
    _aborted: dict[RankName, RankDeath] | None = None
    """The ranks that a rank has ended with all others, None if none has done so."""
    _missed: frozenset[RankName] = frozenset()
    """The ranks that others had lost which failed before that."""
    _common: str = ""
    """What has ended all that was ended from outside."""

    def rank_died(self, death: RankDeath, *, goes_on: bool = False) -> None:
        """Take note of how a rank died; a later death of the same rank replaces the earlier one.

        Where the program `goes_on` without it that is no failure of the run.
        """
        if death.code and death.after != BY_REQUEST:
            (self.survived if goes_on else self._known)[death.rank] = death

    def aborted(self) -> None:
        """Take note that a rank ends all others: from now on they end because of what failed."""
        self._aborted = {}
        losses = (one.observed.lost for one in self._deaths() if one.observed.is_loss)
        self._missed = frozenset(rank.place for lost in losses for rank in lost)

    def seen_late(self, death: RankDeath) -> RankDeath:
        """Return a death as one of its own if a rank had missed this one before it ended the run.

        Its parent may see it only after the request to end, which came because of it.
        """
        is_own = death.after == BY_REQUEST and death.observed.by is Witness.PARENT
        return replace(death, after="") if is_own and death.rank in self._missed else death

    def late_rank_died(self, death: RankDeath) -> None:
        """Take note of a rank that ended when the run was stopped for a known reason."""
        if death.code and self._aborted is not None:
            self._aborted[death.rank] = death

    def other(self, who: str, code: int, why: str, *, goes_on: bool = False) -> None:
        """Take note that something else failed: an `mpiexec`, a front-end, the assembly."""
        if code:
            (self.survived if goes_on else self._known).setdefault(who, PartFailure(who, code, why))

    def place_lost(self, cluster: str, code: int, why: str) -> None:
        """Take note that a front-end is lost, which explains how its job ended just before.

        That was told by the front-end in its last moment, and is the code of what went with it.
        Ranks that were ended from outside, or whose ends nobody has seen, went with it, too.
        """
        known = self._known.get(cluster)
        if known is None or (isinstance(known, PartFailure) and not known.why):
            self._known[cluster] = PartFailure(cluster, code, why)
        for one in [*self._taken_along(cluster)]:
            self._known[one.rank] = replace(one, after=one.after or cluster)

    def common_cause(self, who: str, code: int, why: str, *, goes_on: bool = False) -> None:
        """Take note of what has ended all that did not fail by itself: ranks by signals, jobs."""
        self.other(who, code, why, goes_on=goes_on)
        self._common = who

    @property
    def was_not_survived(self) -> bool:
        """Whether a rank has failed because of what was lost.

        Whoever fails for a reason of its own has survived that, and those that miss it follow it.
        """
        if not self.survived:
            return False
        first = self.first
        has_own_reason = isinstance(first, RankDeath) and not first.observed.is_loss
        return any(
            self._missed_what_was_lost(one) or not has_own_reason
            for one in self._deaths()
            if one.observed.is_loss
        )

    def blame_what_was_lost(self, last: RankName | None = None) -> None:
        """Take what was lost for failures after all: nobody has brought the program to its end.

        The `last` replica of a rank comes first: what had ended before was survived.
        """
        lost, self.survived = self.survived, {}
        decisive: dict[Failed, Failure] = {last: lost[last]} if last in lost else {}
        self._known = {**self._known, **decisive, **lost, **self._known}

    def has_failed(self, part: str) -> bool:
        """Tell whether something that is no rank is known to have failed."""
        return part in self._known

    def has_rank_failed(self, rank: RankName) -> bool:
        """Tell whether a rank is known to have failed."""
        return rank in self._known

    @property
    def first(self) -> Failure | None:
        """Return what failed first, None if nothing did.

        That is the first one known that is not the consequence of another. Where all of them are,
        it is the one with the best reason of its own.
        """
        return min(self._known.values(), key=self._order_of, default=None)

    def has_rank_taken_along(self, cluster: str) -> bool:
        """Tell whether a rank of a cluster was ended from outside, or its end was not seen."""
        return any(self._taken_along(cluster))

    def has_failed_rank_of(self, cluster: str) -> bool:
        """Tell whether a rank of a cluster is known to have failed."""
        return any(
            isinstance(one, RankDeath) and one.rank.cluster == cluster
            for one in (*self._known.values(), *self.survived.values())
        )

    @property
    def has_failed_rank(self) -> bool:
        """Whether a rank has failed, beside those that are survived."""
        return any(self._deaths())

    @property
    def is_explained(self) -> bool:
        """Whether something failed that is not the consequence of something unknown."""
        first = self.first
        return first is not None and not any(self._doubt(first))

    @property
    def code(self) -> int:
        """Return the exit code of what failed first, 0 if nothing did."""
        first = self.first
        return 0 if first is None else first.code

    @property
    def consequences(self) -> tuple[Failure, ...]:
        """Return what failed or was ended because of what failed first."""
        ended = (one for one in (self._aborted or {}).values() if one.rank not in self._known)
        return (*(one for one, follows in self._but_first() if follows), *ended)

    @property
    def independent(self) -> tuple[Failure, ...]:
        """Return what failed for another reason than what failed first."""
        return tuple(one for one, follows in self._but_first() if not follows)

    @property
    def exceptions(self) -> dict[str, str]:
        """Return what ranks ended with that failed by themselves: exceptions with tracebacks."""
        first = self.first
        return {
            one.who: f"{one.observed.exception}\n{one.observed.traceback}"
            for one in (*(() if first is None else (first,)), *self.independent)
            if isinstance(one, RankDeath) and one.observed.exception
        }

    def _taken_along(self, cluster: str) -> Iterator[RankDeath]:
        return (
            one for one in self._deaths() if one.rank.cluster == cluster and one.is_from_outside
        )

    def _deaths(self) -> Iterator[RankDeath]:
        return (one for one in self._known.values() if isinstance(one, RankDeath))

    def _but_first(self) -> Iterator[tuple[Failure, bool]]:
        """Yield all but the first failure, with whether each is a consequence of another."""
        first = self.first
        for one in self._known.values():
            if one is not first:
                yield one, any(self._doubt(one)) and not self._is_same_fault(one, first)

    def _order_of(self, one: Failure) -> tuple[bool, ...]:
        """Return what the first one has the least of; results come home after all else."""
        is_late = one.code == OUTPUT_FAILED and isinstance(one, PartFailure)
        return (is_late, *self._doubt(one))

    def _doubt(self, one: Failure) -> tuple[bool, ...]:
        """Return how little speaks for a failure as the first one."""
        taken_along = self._has_common_cause(one)
        if isinstance(one, PartFailure):
            return False, taken_along, False, False
        return bool(one.after), taken_along, one.observed.is_loss, self._missed_a_failure(one)

    def _has_common_cause(self, one: Failure) -> bool:
        if self._common in ("", one.who):
            return False
        if isinstance(one, PartFailure):
            return True
        # An mpiexec gives a code of its own to ranks that it takes down when it is ended itself.
        return one.observed.by == Witness.MPIEXEC or one.observed.signal in FROM_OUTSIDE

    def _is_same_fault(self, one: Failure, first: Failure | None) -> bool:
        """Tell whether a rank failed in the same way as the first one, though it had missed it."""
        if not (isinstance(one, RankDeath) and isinstance(first, RankDeath)):
            return False
        is_own = one.is_stated and not one.after and not one.observed.is_loss
        same = (one.code, one.observed.exception) == (first.code, first.observed.exception)
        return is_own and same and not self._has_common_cause(one)

    def _missed_what_was_lost(self, one: RankDeath) -> bool:
        """Tell whether a rank had lost one that nobody knows to have failed since in its turn."""
        return any(
            name in self.survived and name not in self._known
            for lost in one.observed.lost
            for name in (lost.place, lost.cluster)
        )

    def _missed_a_failure(self, one: RankDeath) -> bool:
        """Tell whether a rank had lost one that failed, or whose cluster did."""
        return any(
            lost.place in self._known or lost.cluster in self._known for lost in one.observed.lost
        )
