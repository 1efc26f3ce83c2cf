"""Why ranks wait: combines what each one reports of its calls. Pure.

`states` holds the reports, `blocked` finds the ranks that are stuck, `findings` explains them in
sentences.
"""

from __future__ import annotations

from runtime.waits.findings import HEADINGS, WaitFinding, described, explain, left_behind, stuck_in
from runtime.waits.replicated import RankStates, of_ranks
from runtime.waits.states import (
    KnownCommunicator,
    Part,
    RankState,
    UnreceivedMessage,
    UnsentMessage,
    Wait,
    state_from,
    steady,
)

__all__ = [
    "HEADINGS",
    "KnownCommunicator",
    "Part",
    "RankState",
    "RankStates",
    "UnreceivedMessage",
    "UnsentMessage",
    "Wait",
    "WaitFinding",
    "described",
    "explain",
    "left_behind",
    "of_ranks",
    "state_from",
    "steady",
    "stuck_in",
]
