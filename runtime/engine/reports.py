"""What the words of a front-end mean for the run."""

from __future__ import annotations

from typing import Any

from runtime.engine.events import (
    Aborted,
    Event,
    JobEnded,
    RankEnded,
    RankHere,
    RankReady,
    StepFailed,
    StepUp,
)
from runtime.engine.rank_exit import RankExit


def event_of(cluster: str, operation: str, args: tuple[Any, ...]) -> Event | None:
    """Return what happens to the run when the front-end of a cluster says something, if anything.

    >>> event_of("0:1", "gathered", ("",))
    StepUp(step='handshake:grid')
    """
    match operation:
        case "up":
            return StepUp(f"front-end:{cluster}")
        case "gathered":
            return StepUp(f"handshake:{args[0] or 'grid'}")
        case "rank_here":
            return RankHere(args[0])
        case "rank_ready":
            return RankReady(args[0])
        case "ranks_up":
            return StepUp(f"ranks:{cluster}")
        case "rank_ended":
            rank, code, why, *facts = args
            return RankEnded(rank, code, why, RankExit(*facts))
        case "aborted":
            return Aborted(*args)
        case "job_ended":
            return JobEnded(cluster, *args)
        case "failed":
            return StepFailed(*args)
        case _:
            return None
