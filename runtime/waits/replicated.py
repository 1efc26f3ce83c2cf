"""What ranks do that are several processes, made of what these processes do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from runtime.machine.rank_states import RankState


@dataclass(frozen=True)
class RankStates:
    """The states of ranks, how others have ended, and what the last reports of these were."""

    states: dict[str, RankState]
    ended: dict[str, str]
    last: dict[str, RankState]


def of_ranks(
    states: Mapping[str, RankState],
    ended: Mapping[str, str],
    last: Mapping[str, RankState],
    ranks: Mapping[str, int],
) -> RankStates:
    """Put together the replicas of each rank, under the name of the first one.

    `ranks` has the rank of each process. One waits if all its living replicas do, and does what the
    first of them does; if one of them does not answer, it may do anything. It has ended when all
    have.

    >>> from runtime.machine.rank_states import Part, Wait
    >>> waits = (Wait("Recv", (Part("receive", "0:0:1", 7),)),)
    >>> states = {"0:0:0": RankState("0:0:0", waits), "0:1:0": RankState("0:1:0", at="ring.py:7")}
    >>> of_ranks(states, {}, {}, {"0:0:0": 0, "0:1:0": 0}).states["0:0:0"].at
    'ring.py:7'
    """
    found = RankStates({}, {}, {})
    replicas: dict[int, list[str]] = {}
    for process, rank in ranks.items():
        replicas.setdefault(rank, []).append(process)
    for several in replicas.values():
        first = several[0]
        living = [one for one in several if one not in ended]
        if not living:
            found.ended[first] = ended[several[-1]]
            reports = [last[one] for one in several if one in last]
            if reports:
                found.last[first] = _named(first, reports[-1])
        elif all(one in states for one in living):
            found.states[first] = _named(first, _foremost(states[one] for one in living))
    return found


def _foremost(several: Iterable[RankState]) -> RankState:
    """Return what a replica does that does not wait, or else the first one."""
    states = list(several)
    return next((one for one in states if one.may_act or not one.waits), states[0])


def _named(name: str, state: RankState) -> RankState:
    return replace(state, rank=name)
