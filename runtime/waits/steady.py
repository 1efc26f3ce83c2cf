"""What is the same at two looks at all ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from runtime.machine.rank_states import RankState


def steady(before: Iterable[RankState], after: Iterable[RankState]) -> dict[str, RankState]:
    """Return the later states, with only those calls that the ranks were in both times.

    Ranks are asked one after the other, and messages are under way meanwhile: a wait that is gone a
    moment later needs no explanation.
    """
    known = {one.rank: {wait.serial for wait in one.waits} for one in before}
    found = {}
    for one in after:
        kept = tuple(wait for wait in one.waits if wait.serial in known.get(one.rank, ()))
        moved = len(kept) < len(one.waits)
        found[one.rank] = replace(one, waits=kept, may_act=one.may_act or moved)
    return found
