"""Where ranks spent their time in MPI, and which of them let others wait. A fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gcm.records import dataclass
from runtime.topology import RankNames
from runtime.views.facts import CallsCounted, Fact

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


class CallTimes:
    """Adds up the calls that ranks have counted."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, tuple[int, float]]] = {}

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        match fact.record:
            case CallsCounted(call, calls, seconds):
                ranks = self._calls.setdefault(call, {})
                before = ranks.get(fact.name, (0, 0.0))
                ranks[fact.name] = before[0] + calls, before[1] + seconds

    @property
    def ranks(self) -> set[str]:
        """The ranks that have told of calls; one that was killed has not."""
        return {rank for ranks in self._calls.values() for rank in ranks}

    def rows(self, names: RankNames) -> list[CallRow]:
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
                    sum(times.values()),
                    times[least],
                    names.rank(least),
                    times[most],
                    names.rank(most),
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
        most, mean = computed[longest], sum(computed.values()) / len(computed)
        others = sum(waited[rank] for rank in computed if rank != longest) / (len(computed) - 1)
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
            call: sum(time for _, time in ranks.values()) / len(ranks) - _time(ranks, longest)
            for call, ranks in self._calls.items()
        }
        return sorted((one for one in more if more[one] > 0), key=lambda one: -more[one])


def _time(ranks: Mapping[str, tuple[int, float]], rank: str) -> float:
    return ranks.get(rank, (0, 0.0))[1]
