"""Why ranks wait: combines what each one reports of its calls. Pure.

`blocked` finds the ranks that are stuck, `findings` explains them in sentences. What ranks report
is in `runtime.machine.rank_states`.
"""

from __future__ import annotations

from runtime.waits.findings import HEADINGS, WaitFinding, described, explain, left_behind, stuck_in
from runtime.waits.replicated import RankStates, of_ranks
from runtime.waits.steady import steady

__all__ = [
    "HEADINGS",
    "RankStates",
    "WaitFinding",
    "described",
    "explain",
    "left_behind",
    "of_ranks",
    "steady",
    "stuck_in",
]
