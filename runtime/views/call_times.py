"""Where ranks spent their time in MPI, and which of them let others wait. A fold.

Sums do not depend on the order in which ranks were counted: a report is that of its record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import fsum

from gcm.cli.output import counted
from gcm.records import dataclass
from runtime.topology import RankNames
from runtime.views.facts import CallsCounted, Fact, RankSeen

UNEVEN = 0.1
"""From this imbalance on it is told: by how much of the longest computation others have less."""

LEAST_SECONDS = 0.3
"""If it is less on average, it is nothing: the starts of Python differ by that."""


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call, over all ranks: how often, how long, and by whom least and most of all."""

    call: str
    ranks: int
    calls: int
    seconds: float
    least: float
    least_rank: str
    most: float
    most_rank: str


@dataclass(frozen=True, slots=True)
class RankTimes:
    """Where the seconds of a rank went: what is no time in MPI is computing.

    Of the time in MPI it was `waiting` for other ranks as long as it was in a call longer than the
    rank that was quickest in it and made it as often; None if that is not known yet.
    """

    rank: str
    seconds: float
    in_mpi: float
    waiting: float | None = None

    @property
    def computing(self) -> float:
        """How long it was not in MPI."""
        return max(0.0, self.seconds - self.in_mpi)


def load_balance(times: Sequence[RankTimes]) -> float | None:
    """Return how long ranks computed on average, as a part of the longest; None of fewer than two.

    It is 1 where all of them compute equally long.
    """
    computing = [one.computing for one in times]
    if len(computing) < 2 or not max(computing):
        return None
    return fsum(computing) / len(computing) / max(computing)


def where_time_went(times: Sequence[RankTimes]) -> str:
    """Return where the time of ranks went, in a sentence; "" if nothing is known."""
    whole = fsum(one.seconds for one in times)
    if not whole:
        return ""
    waited = [one.waiting for one in times if one.waiting is not None]
    in_mpi, waiting = fsum(one.in_mpi for one in times), fsum(waited)
    parts = [f"{max(0.0, whole - in_mpi) / whole:.0%} was computing"]
    if waited:
        parts.append(f"{waiting / whole:.0%} waiting for other ranks")
    parts.append(f"{(in_mpi - waiting) / whole:.0%} {'other MPI' if waited else 'in MPI'}")
    balance = load_balance(times)
    ends = "" if balance is None else f"; load balance {balance:.0%}"
    return f"Of the time of {counted(len(times), 'rank')} {', '.join(parts)}{ends}."


class CallTimes:
    """Adds up the calls that ranks have counted."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, tuple[int, float]]] = {}
        self._samples: dict[str, tuple[float, float]] = {}

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        match fact.record:
            case CallsCounted(call, calls, seconds):
                ranks = self._calls.setdefault(call, {})
                before = ranks.get(fact.name, (0, 0.0))
                ranks[fact.name] = before[0] + calls, before[1] + seconds
            case RankSeen(in_mpi=in_mpi) if in_mpi:
                self._samples[fact.name] = fact.time, in_mpi

    @property
    def ranks(self) -> set[str]:
        """The ranks that have told of calls; one that was killed has not."""
        return {rank for ranks in self._calls.values() for rank in ranks}

    def times(
        self, seconds: Callable[[str], float | None], running_since: float | None
    ) -> dict[str, RankTimes]:
        """Return where the time of each rank went, by its name.

        `seconds` returns how long a rank has run, None while it runs: then it is as of the last
        look at it.
        """
        found = {}
        waiting = self._waiting()
        told = self.ranks
        for rank in told | self._samples.keys():
            whole = seconds(rank)
            if rank in told:
                in_mpi = fsum(ranks[rank][1] for ranks in self._calls.values() if rank in ranks)
            elif running_since is not None:
                at, in_mpi = self._samples[rank]
                whole = at - running_since
            if whole is not None and whole > 0:
                whole = round(whole, 3)
                in_mpi = round(min(whole, in_mpi), 3)
                waited = round(min(in_mpi, waiting[rank]), 3) if rank in told else None
                found[rank] = RankTimes(rank, whole, in_mpi, waited)
        return found

    def _waiting(self) -> dict[str, float]:
        """Return how much longer each rank was in calls than the quickest that made as many."""
        found = dict.fromkeys(self.ranks, 0.0)
        for ranks in self._calls.values():
            least: dict[int, float] = {}
            for calls, seconds in ranks.values():
                least[calls] = min(seconds, least.get(calls, seconds))
            for rank, (calls, seconds) in ranks.items():
                found[rank] += seconds - least[calls]
        return found

    def rows(self) -> list[CallRow]:
        """Return a row for each call, that which took longest first."""
        found = []
        for call, ranks in self._calls.items():
            times = {rank: seconds for rank, (_, seconds) in ranks.items()}
            least, most = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
            found.append(
                CallRow(
                    call,
                    len(ranks),
                    sum(calls for calls, _ in ranks.values()),
                    fsum(times.values()),
                    times[least],
                    least,
                    times[most],
                    most,
                )
            )
        return sorted(found, key=lambda one: -one.seconds)

    def imbalance(self, seconds: Callable[[str], float | None], names: RankNames) -> list[str]:
        """Return a sentence if one rank computed longer than the others, which waited for it.

        `seconds` returns how long a rank has run. What is no time in MPI counts as computation. If
        the others were hardly longer in MPI for it, nobody waited: they just ended earlier.
        """
        waited: dict[str, float] = {}
        for ranks in self._calls.values():
            for rank, (_, time) in ranks.items():
                waited[rank] = waited.get(rank, 0.0) + time
        whole = {rank: seconds(rank) for rank in waited}
        computed = {
            rank: max(0.0, ran - waited[rank]) for rank, ran in whole.items() if ran is not None
        }
        if len(computed) < 2:
            return []
        longest = max(computed, key=computed.__getitem__)
        most, mean = computed[longest], fsum(computed.values()) / len(computed)
        others = fsum(waited[rank] for rank in computed if rank != longest) / (len(computed) - 1)
        less = most - mean
        if less < max(LEAST_SECONDS, UNEVEN * most) or others - waited[longest] < less / 2:
            return []
        calls = self._waits_of_others(longest)
        where = f", most of all in {calls[0]}" if calls else ""
        return [
            f"The load is uneven by {less / most:.0%}: {names.name(longest)} computed for"
            f" {most:.1f} s, a rank on average for {mean:.1f} s. The others waited{where}."
        ]

    def _waits_of_others(self, longest: str) -> list[str]:
        """Return the calls by how much longer the others were in them."""
        more = {
            call: fsum(time for _, time in ranks.values()) / len(ranks) - _time(ranks, longest)
            for call, ranks in self._calls.items()
        }
        return sorted((one for one in more if more[one] > 0), key=lambda one: -more[one])


def _time(ranks: Mapping[str, tuple[int, float]], rank: str) -> float:
    return ranks.get(rank, (0, 0.0))[1]
